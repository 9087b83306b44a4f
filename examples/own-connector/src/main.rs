//! `headpond` with one more connector.
//!
//! ```console
//! $ cargo run --release -p headpond-example-own-connector -- run totals.sql
//! ```

use headpond_cli::Connectors;
use headpond_example_own_connector::Ledger;
use std::process::ExitCode;

fn main() -> ExitCode {
    headpond_cli::main(&Connectors::built_in().with(Ledger))
}
