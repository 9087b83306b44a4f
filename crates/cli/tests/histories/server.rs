//! An S3 server for the tests: the example that a user can start.

use headpond_object_store::{ObjectStoreOptions, S3Options, Secret};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server, killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    endpoint: String,
    _dir: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        // Built with the tests, beside the binary.
        let binary = Path::new(env!("CARGO_BIN_EXE_headpond")).with_file_name("examples").join("s3_server");
        let mut child = Command::new(&binary)
            .args([dir.path().as_os_str(), "0".as_ref()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; run the tests of the whole workspace", binary.display()));
        let mut said = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut said).expect("it says where it listens");
        let address = said.split_once("http://").and_then(|(_, rest)| rest.split(',').next());
        let endpoint = format!("http://{}", address.unwrap_or_else(|| panic!("no address in {said}")));
        Server { child, endpoint, _dir: dir }
    }

    pub(crate) fn options(&self) -> ObjectStoreOptions {
        let secret = |text: &str| Some(Secret::new(text));
        let s3 = S3Options {
            endpoint: Some(self.endpoint.clone()),
            access_key: secret("headpond"),
            secret_key: secret("headpond-secret"),
            path_style: Some(true),
            ..S3Options::default()
        };
        ObjectStoreOptions { s3, ..ObjectStoreOptions::default() }
    }

    /// The same for the binary.
    pub(crate) fn settings(&self) -> Vec<String> {
        vec![
            format!("s3.endpoint={}", self.endpoint),
            "s3.access-key=headpond".to_owned(),
            "s3.secret-key=headpond-secret".to_owned(),
            "s3.path.style.access=true".to_owned(),
        ]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
