//! The command line.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use headpond_inspect::FileFormat;
use std::path::PathBuf;

/// Streaming SQL with state you can trust: checkpointed, and restored exactly.
#[derive(Debug, Parser)]
#[command(name = "headpond", version, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Show more of what happens inside; twice or three times for more still. HEADPOND_LOG chooses in detail.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a SQL file, from its last checkpoint if it has one.
    #[command(after_help = SIGNALS)]
    Run(RunArguments),
    /// Show what a SQL file would run: its operators, and what state they keep for how long.
    Explain(ExplainArguments),
    /// Tell what of a checkpoint a SQL file would restore, before it is deployed. Exit code 4 if it cannot be restored.
    Check(CheckArguments),
    /// Look into checkpoints.
    #[command(subcommand)]
    Checkpoint(CheckpointCommand),
    /// Make savepoints: copies of checkpoints that stand by themselves, which any backend restores at any parallelism.
    #[command(subcommand)]
    Savepoint(SavepointCommand),
    /// List the jobs that run on this machine.
    Jobs(JobsArguments),
    /// Look at the state in a checkpoint as SQL tables; the job may run on.
    #[command(subcommand)]
    State(StateCommand),
    /// Print a script that lets a shell complete commands and flags.
    Completions(CompletionsArguments),
    /// Write the manual pages, `headpond.1` and one for each command.
    #[command(hide = true)]
    ManPages(ManPagesArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell that is to read the script.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManPagesArguments {
    /// The directory to write them to, such as `/usr/local/share/man/man1`.
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    /// The SQL file; `-` reads standard input.
    #[arg(required_unless_present = "execute")]
    pub(crate) file: Option<PathBuf>,
    /// SQL instead of a file. The rows of a query by itself are printed.
    #[arg(short, long, value_name = "SQL", conflicts_with = "file")]
    pub(crate) execute: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
    /// How many workers run the job: short for -D parallelism.default=N.
    #[arg(long, value_name = "N")]
    pub(crate) parallelism: Option<String>,
    /// Where the job starts: `latest` (its last checkpoint, if there is one), `none` (anew), or the path or URL of a
    /// checkpoint.
    #[arg(long, value_name = "latest|none|PATH")]
    pub(crate) restore: Option<String>,
    /// Go back to an older checkpoint even if a sink cannot take back what it published since: rows may come twice.
    #[arg(long)]
    pub(crate) allow_duplicates: bool,
    #[command(flatten)]
    pub(crate) changes: ChangeArguments,
    /// How progress is shown on stderr.
    #[arg(long, value_enum, default_value_t = ProgressMode::Auto)]
    pub(crate) progress: ProgressMode,
}

/// What a changed query may leave behind or begin without.
#[derive(Debug, Args)]
pub(crate) struct ChangeArguments {
    /// Leave behind what the checkpoint has and the job has no place for: state of operators, positions of sources,
    /// output of sinks. An operator whose state does not fit any more starts empty.
    #[arg(long)]
    pub(crate) allow_dropped_state: bool,
    /// Let an operator that the checkpoint does not have start empty in front of operators and sinks that go on.
    #[arg(long)]
    pub(crate) allow_empty_state: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,
    /// The checkpoint: a path or URL of `chk-<n>`, or of a job's directory for its newest one.
    #[arg(long, value_name = "PATH")]
    pub(crate) against: String,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
    /// How many workers would run the job: short for -D parallelism.default=N.
    #[arg(long, value_name = "N")]
    pub(crate) parallelism: Option<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) script: ScriptArguments,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SettingArguments {
    /// Set an option; may come several times. It wins over SET in the file.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    pub(crate) define: Vec<String>,
    /// The configuration file, instead of `headpond.toml` in the current directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    /// One line, written over, on a terminal; else as `plain`.
    Auto,
    /// A line every five seconds.
    Plain,
    /// No progress and no summary.
    None,
    /// A JSON object per line every second; start and summary as well.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// List the checkpoints in a directory.
    List(CheckpointPath),
    /// Show what a checkpoint holds, by default each job's newest.
    Show(CheckpointPath),
    /// Check that every file of every checkpoint is what was written. Exit code 5 if one is not.
    Verify(CheckpointPath),
    /// Delete what no restart needs, of a job that does not run: checkpoints beyond those to keep, and files that none
    /// of the others names.
    Prune(PruneArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// A job's directory, or a checkpoint directory for all jobs in it: a path, or the URL of a store.
    #[arg(value_name = "DIR")]
    pub(crate) location: String,
    /// How many checkpoints are kept of each job: the newest ones. By default all.
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Also on a store that cannot tell whether the job runs, such as S3. If it does, it stops.
    #[arg(long)]
    pub(crate) take_over: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SavepointCommand {
    /// Let a running job take a checkpoint, and copy it to a savepoint. The job goes on meanwhile.
    Create(SavepointCreate),
    /// Copy a checkpoint to a savepoint.
    Export(SavepointExport),
}

#[derive(Debug, Args)]
pub(crate) struct SavepointCreate {
    /// The job's name, or the number of its process; `headpond jobs` lists both.
    pub(crate) job: String,
    #[command(flatten)]
    pub(crate) target: SavepointTarget,
    /// Stop the job at that checkpoint.
    #[arg(long)]
    pub(crate) stop: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SavepointExport {
    /// The checkpoint `<checkpoint dir>/<job>/chk-<n>`, or a job's directory for its newest: a path, or the URL of a
    /// store.
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: String,
    #[command(flatten)]
    pub(crate) target: SavepointTarget,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SavepointTarget {
    /// The directory of savepoints, a path or the URL of a store; without it the option
    /// 'execution.checkpointing.savepoint-dir'.
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<String>,
    /// The savepoint's name in that directory, instead of one made of job, checkpoint and a random part.
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct JobsArguments {
    /// A JSON object per job instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointPath {
    /// A checkpoint directory, a job's directory in it, or one checkpoint `chk-<n>`: a path, or the URL of a store.
    #[arg(value_name = "DIR_OR_PATH")]
    pub(crate) location: String,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// List the tables: a state of an operator each.
    Tables {
        #[command(flatten)]
        path: StatePath,
    },
    /// Show the columns of a table, by default of all.
    Schema {
        #[command(flatten)]
        path: StatePath,
        /// The table.
        table: Option<String>,
    },
    /// Run a query over the tables, and print its rows.
    Query {
        #[command(flatten)]
        path: StatePath,
        /// A SELECT, or the name of a table for all its rows.
        sql: String,
        /// How rows are printed.
        #[arg(long, value_enum, default_value_t = QueryFormat::Table)]
        format: QueryFormat,
    },
    /// Write a table, or the rows of a query, to a file.
    Export {
        #[command(flatten)]
        path: StatePath,
        /// The name of a table, or a SELECT.
        table_or_sql: String,
        /// The file. One that is there is replaced.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// What the file is, if its name does not tell: parquet, csv or json.
        #[arg(long)]
        format: Option<FileFormat>,
    },
    /// Say what has changed from one checkpoint to another, operator by operator.
    Diff {
        /// The earlier checkpoint: as PATH of the other commands.
        #[arg(value_name = "FROM")]
        from: String,
        /// The later checkpoint.
        #[arg(value_name = "TO")]
        to: String,
        /// Show up to so many entries of each state that differ.
        #[arg(long, value_name = "N", default_value_t = 0)]
        rows: usize,
        #[command(flatten)]
        settings: SettingArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct StatePath {
    /// A checkpoint `chk-<n>`, or the newest one of a job's directory: a path, or the URL of a store.
    #[arg(value_name = "PATH")]
    pub(crate) location: String,
    #[command(flatten)]
    pub(crate) settings: SettingArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// Columns as wide as they have to be.
    Table,
    /// Comma-separated values.
    Csv,
    /// A JSON object per line.
    Json,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done or stopped after a last checkpoint; 2 something is wrong with the command, an option, a query or
a row; 3 not supported; 4 state and job do not match; 5 stored bytes are damaged; 6 a limit was reached (memory, disk);
7 a store did not answer; 8 the job runs elsewhere; 9 closed; 70 a bug in Headpond; 141 nobody reads the output;
128 + n stopped at once by signal n.";

const SIGNALS: &str = "\
SIGINT (Ctrl-C) or SIGTERM takes a last checkpoint and stops: exit code 0, and the next run goes on from there. The second
one stops at once: exit code 130 or 143, and the next run goes on from the last checkpoint.";
