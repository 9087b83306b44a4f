//! An S3 server in this process, which can be stopped, slowed down and made to fail.

use headpond_checkpoint::{CheckpointStore, Location, Stores};
use headpond_object_store::{ObjectStoreOptions, ObjectStores, S3Options, Secret};
use headpond_state::Result;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, JoinSet};

pub(crate) const ACCESS_KEY: &str = "AKIDOFTHETEST";
pub(crate) const SECRET_KEY: &str = "hushhushhush";
pub(crate) const BUCKET: &str = "checkpoints";

/// What the server does to requests.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Answers 503 to as many requests as this.
    pub(crate) throttled: AtomicUsize,
    /// Cuts the connection in the middle of as many uploads as this.
    pub(crate) torn_uploads: AtomicUsize,
    /// Carries out as many requests that create something exclusively as this, and cuts the connection before the
    /// answer.
    pub(crate) lost_answers: AtomicUsize,
    /// Takes no notice of conditions: removes what is in this directory before it creates it exclusively.
    pub(crate) careless_in: Mutex<Option<PathBuf>>,
    /// Waits before it carries a request out, in milliseconds.
    pub(crate) delay_ms: AtomicU64,
    /// Requests that came, by method and whether they are conditional.
    pub(crate) requests: Mutex<Vec<String>>,
    /// The most requests at work at once.
    pub(crate) most_at_once: AtomicUsize,
    at_once: AtomicUsize,
    /// The file system behind the server looks and then creates; a real store does both at once.
    exclusive: tokio::sync::Mutex<()>,
}

/// The server. It keeps its files when it is stopped.
pub(crate) struct Server {
    address: SocketAddr,
    service: S3Service,
    pub(crate) faults: Arc<Faults>,
    pub(crate) directory: tempfile::TempDir,
    running: Mutex<Option<JoinHandle<()>>>,
    runtime: Runtime,
}

impl Server {
    /// A server with one bucket.
    pub(crate) fn start() -> Arc<Self> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(directory.path()).unwrap());
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let mut server = Server {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            service: service.build(),
            faults: Arc::default(),
            directory,
            running: Mutex::default(),
            runtime,
        };
        let listener = server.runtime.block_on(TcpListener::bind(server.address)).unwrap();
        server.address = listener.local_addr().unwrap();
        server.listen(listener);
        Arc::new(server)
    }

    /// Cuts all connections and accepts no more.
    pub(crate) fn stop(&self) {
        if let Some(running) = self.running.lock().unwrap().take() {
            running.abort();
            self.runtime.block_on(running).unwrap_err();
        }
    }

    /// Listens again where it did.
    pub(crate) fn start_again(&self) {
        let listener = self.runtime.block_on(TcpListener::bind(self.address)).unwrap();
        self.listen(listener);
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Options for clients of this server, which do not wait long.
    pub(crate) fn options(&self) -> ObjectStoreOptions {
        ObjectStoreOptions {
            s3: S3Options {
                endpoint: Some(self.endpoint()),
                access_key: Some(Secret::new(ACCESS_KEY)),
                secret_key: Some(Secret::new(SECRET_KEY)),
                ..S3Options::default()
            },
            part_bytes: 5 << 20,
            request_timeout: Duration::from_secs(20),
            retry_timeout: Duration::from_secs(20),
            ..ObjectStoreOptions::default()
        }
    }

    /// The store below a prefix of the bucket.
    pub(crate) fn store(&self, prefix: &str) -> Arc<dyn CheckpointStore> {
        open(self.options(), &format!("s3://{BUCKET}/{prefix}")).unwrap()
    }

    /// Requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.faults.requests.lock().unwrap())
    }

    fn listen(&self, listener: TcpListener) {
        let (service, faults) = (self.service.clone(), Arc::clone(&self.faults));
        let accept = async move {
            // Connections end with this task.
            let mut connections = JoinSet::new();
            loop {
                let Ok((socket, _)) = listener.accept().await else { continue };
                socket.set_nodelay(true).ok();
                let (service, faults) = (service.clone(), Arc::clone(&faults));
                let answer = service_fn(move |request| answer(service.clone(), Arc::clone(&faults), request));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
                while connections.try_join_next().is_some() {}
            }
        };
        *self.running.lock().unwrap() = Some(self.runtime.spawn(accept));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Opens a location with these options.
pub(crate) fn open(options: ObjectStoreOptions, location: &str) -> Result<Arc<dyn CheckpointStore>> {
    ObjectStores::new(options).open(&Location::parse(location)?)
}

/// Takes one of what is left, if there is any.
fn take(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

async fn answer(
    service: S3Service,
    faults: Arc<Faults>,
    request: Request<Incoming>,
) -> io::Result<Response<s3s::Body>> {
    let at_once = faults.at_once.fetch_add(1, Ordering::SeqCst) + 1;
    faults.most_at_once.fetch_max(at_once, Ordering::SeqCst);
    let answered = answer_at_once(&service, &faults, request).await;
    faults.at_once.fetch_sub(1, Ordering::SeqCst);
    answered
}

async fn answer_at_once(
    service: &S3Service,
    faults: &Faults,
    request: Request<Incoming>,
) -> io::Result<Response<s3s::Body>> {
    let is_exclusive = request.headers().contains_key("if-none-match");
    let condition = if is_exclusive { " if-none-match" } else { "" };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    faults.requests.lock().unwrap().push(format!("{method} {uri}{condition}"));
    tokio::time::sleep(Duration::from_millis(faults.delay_ms.load(Ordering::SeqCst))).await;
    if take(&faults.throttled) {
        let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
        return Ok(Response::builder().status(503).body(s3s::Body::from(body.to_owned())).unwrap());
    }
    if method == hyper::Method::PUT && take(&faults.torn_uploads) {
        let mut body = request.into_body();
        http_body_util::BodyExt::frame(&mut body).await;
        return Err(io::Error::other("the connection is cut"));
    }
    // The file system behind the server makes buckets as they are asked for; S3 does not.
    let bucket = uri.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    if bucket != BUCKET {
        let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>No such bucket.</Message></Error>";
        return Ok(Response::builder().status(404).body(s3s::Body::from(body.to_owned())).unwrap());
    }
    if let Some(directory) = faults.careless_in.lock().unwrap().as_ref().filter(|_| is_exclusive) {
        std::fs::remove_file(directory.join(uri.path().trim_start_matches('/'))).ok();
    }
    let _alone = if is_exclusive { Some(faults.exclusive.lock().await) } else { None };
    let answered = service.call(request.map(s3s::Body::from)).await.map_err(|e| io::Error::other(format!("{e:?}")))?;
    if is_exclusive && take(&faults.lost_answers) {
        return Err(io::Error::other("the answer is lost"));
    }
    Ok(answered)
}
