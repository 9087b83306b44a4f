//! The binary `headpond`: the command line with the connectors that Headpond has.

use headpond_cli::Connectors;
use std::process::ExitCode;

/// One allocator for Rust and RocksDB: it gives memory back, and RocksDB fragments it less than the system's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    headpond_cli::main(&Connectors::built_in())
}
