//! The connection between the leader and a process: messages, and nothing else.
//!
//! A [`Link`] takes the messages of one direction, an [`Inbox`] gets them at the other end, in their order. Whoever
//! sends never waits for whoever gets. What is sent to an end that is gone is dropped. Here both ends are in one
//! program: a message is handed over as it is, or, as between programs, as bytes.

use headpond_state::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Sends messages to the other end.
pub trait Link<T>: fmt::Debug + Send + Sync {
    /// Sends a message.
    fn send(&self, message: T);
}

/// Gets the messages of a link.
pub trait Inbox<T>: fmt::Debug + Send + Sync {
    /// Takes a message. Does not block.
    fn receive(&self, message: T);

    /// What came is no message: the other end is another version, or the connection is broken.
    fn broken(&self, error: Error);
}

/// A link that hands messages over as they are.
pub fn direct<T: 'static>(inbox: Arc<dyn Inbox<T>>) -> Arc<dyn Link<T>> {
    Arc::new(Direct(inbox))
}

/// A link that hands messages over as bytes, as between programs.
pub fn serialized<T: Serialize + DeserializeOwned + Send + Sync + 'static>(
    inbox: Arc<dyn Inbox<T>>,
) -> Arc<dyn Link<T>> {
    Arc::new(Serialized { inbox, messages: PhantomData })
}

struct Direct<T>(Arc<dyn Inbox<T>>);

impl<T> fmt::Debug for Direct<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

impl<T> Link<T> for Direct<T> {
    fn send(&self, message: T) {
        self.0.receive(message);
    }
}

struct Serialized<T> {
    inbox: Arc<dyn Inbox<T>>,
    messages: PhantomData<fn(T)>,
}

impl<T> fmt::Debug for Serialized<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serialized")
    }
}

impl<T: Serialize + DeserializeOwned> Link<T> for Serialized<T> {
    fn send(&self, message: T) {
        let read = serde_json::to_vec(&message).and_then(|bytes| serde_json::from_slice(&bytes));
        match read {
            Ok(message) => self.inbox.receive(message),
            Err(error) => {
                self.inbox.broken(Error::internal("a message between leader and process is damaged").because(error));
            }
        }
    }
}
