//! Checkpoints on object stores: S3 and what speaks its protocol, Google Cloud Storage, Azure.
//!
//! An object store is no file system. It cannot rename, it has no directories and no locks, and every call is a request
//! that takes its time, costs money and may fail. What a checkpoint needs of it is little, though: an object appears
//! whole or not at all, and a *conditional put* creates one only if it is not there. With that [`BucketStore`] keeps
//! the contract of a [`CheckpointStore`](headpond_checkpoint::CheckpointStore):
//!
//! - **Uploads** (`upload`). A file's key is the hash of its bytes, so the bytes are read before the first request.
//!   Small files are put in the background, several at a time, and the commit waits for them; large ones are uploaded
//!   in parts. No byte is copied on the store, and an object costs one request, or two more than it has parts.
//! - **The commit** (`exclusive`) is one conditional put. When its answer is lost, what is there says whether it was
//!   ours.
//! - **Downloads** (`download`) are ranges, read ahead.
//! - **One attempt at a time** (`owner`). An object names the newest attempt; an older one finds that out before it
//!   commits or deletes anything.
//! - **Failures** (`failure`). Each request has a time-out and is repeated, with pauses that grow, until a time-out for
//!   all; then the call fails and says what to look at. Nothing that is secret is shown.
//!
//! Callers are ordinary threads: they block, and a small tokio runtime of the store's own does the work.
//!
//! ```no_run
//! use headpond_checkpoint::{CheckpointStorage, Location, StorageOptions, Stores};
//! use headpond_object_store::{ObjectStoreOptions, ObjectStores, S3Options};
//!
//! # fn main() -> headpond_state::Result<()> {
//! let s3 = S3Options { endpoint: Some("http://localhost:8014".into()), ..S3Options::default() };
//! let stores = ObjectStores::new(ObjectStoreOptions { s3, ..ObjectStoreOptions::default() });
//! let store = stores.open(&Location::parse("s3://checkpoints/production")?)?;
//! let storage = CheckpointStorage::over(store, "totals", StorageOptions::default())?;
//! # drop(storage);
//! # Ok(())
//! # }
//! ```

mod connect;
mod download;
mod exclusive;
mod failure;
mod objects;
mod options;
mod owner;
mod store;
mod stores;
mod upload;

pub use options::{ObjectStoreOptions, S3Options, Secret};
pub use store::BucketStore;
pub use stores::ObjectStores;
