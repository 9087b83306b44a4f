//! An S3 server over a local directory, to try checkpoints on S3 without an account anywhere.
//!
//! ```console
//! $ cargo run --release -p headpond-object-store --example s3_server -- DIRECTORY [PORT [ACCESS_KEY SECRET_KEY]]
//! ```
//!
//! Each directory in `DIRECTORY` is a bucket; `checkpoints` is made. `docs/operations/object-stores.md` goes on from
//! there. It is for trying and testing: a file system behind it looks whether an object exists and then creates it, so
//! two jobs that commit the same checkpoint in the same moment may both succeed.

use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use std::error::Error;
use tokio::net::TcpListener;

const USAGE: &str = "usage: s3_server DIRECTORY [PORT [ACCESS_KEY SECRET_KEY]]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or(USAGE)?;
    let port: u16 = arguments.next().map_or(Ok(8014), |port| port.parse()).map_err(|_| USAGE)?;
    let (access_key, secret_key) = match (arguments.next(), arguments.next()) {
        (Some(access_key), Some(secret_key)) => (access_key, secret_key),
        (None, _) => ("headpond".to_owned(), "headpond-secret".to_owned()),
        (Some(_), None) => return Err(USAGE.into()),
    };
    std::fs::create_dir_all(std::path::Path::new(&directory).join("checkpoints"))?;
    let files = FileSystem::new(&directory).map_err(|error| format!("{directory}: {error:?}"))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(access_key.clone(), secret_key));
    let service = builder.build();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        println!("S3 at http://{}, access key {access_key}, files in {directory}", listener.local_addr()?);
        loop {
            let (socket, _) = listener.accept().await?;
            // Else each answer's body waits for its head to be acknowledged.
            socket.set_nodelay(true)?;
            let service = service.clone();
            tokio::spawn(async move {
                let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
                if let Err(error) = served.await {
                    eprintln!("a connection ended: {error}");
                }
            });
        }
    })
}
