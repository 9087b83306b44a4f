//! Jobs whose checkpoints are on S3, with the server that a user can start.

use crate::running::{Background, counts};
use crate::support::{Place, slow_job};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The example of an S3 server, killed when it is dropped.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts it over this directory; port 0 is any.
    fn start(directory: &Path, port: u16) -> Self {
        // Built with the tests, beside the binary.
        let binary = Path::new(env!("CARGO_BIN_EXE_headpond")).with_file_name("examples").join("s3_server");
        let mut child = Command::new(&binary)
            .args([directory.as_os_str(), port.to_string().as_ref()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; run the tests of the whole workspace", binary.display()));
        let mut said = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("it says where it listens");
        let address = said.split_once("http://").and_then(|(_, rest)| rest.split(',').next());
        let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
        Server { child, port: port.unwrap_or_else(|| panic!("no address in {said}")) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn settings(port: u16) -> String {
    format!(
        "-D s3.endpoint=http://127.0.0.1:{port} -D s3.access-key=headpond -D s3.secret-key=headpond-secret \
         -D s3.path.style.access=true"
    )
}

fn run(place: &Place, port: u16, more: &str) -> Background {
    let settings = settings(port);
    let arguments = format!(
        "run job.sql --progress json -D execution.checkpointing.dir=s3://checkpoints/jobs {settings} \
         -D object-store.retry-timeout=200ms -D object-store.request-timeout=1s -D state.backend.type=rocksdb {more}"
    );
    Background::start(place, &mut place.command(&arguments))
}

fn job(place: &Place) {
    place.write("job.sql", &slow_job("BIGINT").replace("SET 'execution.checkpointing.dir'", "-- "));
}

#[test]
fn a_job_outlives_its_store_and_goes_on_from_it_on_an_empty_machine() {
    let place = Place::new();
    job(&place);
    let server = Server::start(&place.path("s3"), 0);
    let port = server.port;
    let mut running = run(&place, port, "");
    running.wait_for_checkpoint();
    // In the middle of uploads: there is one every few milliseconds.
    drop(server);
    running.wait_for(|line| line.contains("a checkpoint failed; the job goes on"));
    std::thread::sleep(Duration::from_secs(1));
    let _server = Server::start(&place.path("s3"), port);
    let checkpoint_of = |line: &str| {
        let progress: serde_json::Value = serde_json::from_str(line).ok()?;
        progress["checkpoints"]["last"]["checkpoint"].as_u64()
    };
    let last = checkpoint_of(&running.wait_for(|line| checkpoint_of(line).is_some())).expect("it was looked for");
    running.wait_for(|line| checkpoint_of(line).is_some_and(|id| id > last));
    running.terminate();
    running.end().exits_with(0);
    // Elsewhere: nothing local is left of it but its output.
    std::fs::remove_dir_all(place.path(".headpond")).ok();
    let mut again = run(&place, port, "--parallelism 2");
    again.wait_for(|line| line.contains("\"event\":\"resumed\""));
    again.wait_for_checkpoint();
    again.terminate();
    again.end().exits_with(0);
    let counts = counts(&place);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
    let settings = settings(port);
    place.run(&format!("checkpoint verify s3://checkpoints/jobs {settings}")).exits_with(0);
    place
        .run(&format!("savepoint export s3://checkpoints/jobs/job s3://checkpoints/sp {settings} --name s"))
        .exits_with(0);
    place.run(&format!("checkpoint verify s3://checkpoints/sp/s {settings}")).exits_with(0);
    let prune = format!("checkpoint prune s3://checkpoints/jobs {settings}");
    place.run(&prune).exits_with(2).says("--take-over");
    place.run(&format!("{prune} --take-over")).exits_with(0);
}
