//! The open sessions of a batch's keys.

use super::value::KeyTimes;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::merge::Merged;

/// No session.
const NONE: u32 = u32::MAX;

/// Where a session was before the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nowhere.
    New,
    /// In its key's value.
    Value,
    /// Among the older ones, by this end and start.
    Older { end_ms: i64, start_ms: i64 },
}

/// A session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Session {
    /// Its first row's time.
    pub(super) start_ms: i64,
    /// The gap after its last row's time.
    pub(super) end_ms: i64,
    pub(super) key: u32,
    pub(super) origin: Origin,
    /// Whether it has got rows or other sessions.
    pub(super) is_changed: bool,
    /// The session that has taken it up, or itself.
    parent: u32,
    /// The key's next session, whose end is at most this one's.
    next: u32,
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) times: KeyTimes,
    /// Whether any of its sessions has changed.
    pub(super) is_changed: bool,
    /// Its newest session.
    newest: u32,
}

/// The sessions of the keys of a batch, numbered as their accumulators, each key's linked from the newest to the
/// oldest.
///
/// Two sessions of a key lie more than a gap apart, unless one was over for the row that began the other.
#[derive(Debug, Default)]
pub(super) struct OpenSessions {
    pub(super) keys: Vec<Key>,
    sessions: Vec<Session>,
    /// Sessions that others have taken up, in order.
    pub(super) merged: Vec<Merged>,
}

impl OpenSessions {
    /// Removes all keys and sessions and keeps the allocations.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.sessions.clear();
        self.merged.clear();
    }

    /// Adds a key without sessions.
    pub(super) fn push_key(&mut self) {
        self.keys.push(Key { times: KeyTimes::default(), is_changed: false, newest: NONE });
    }

    /// Adds a session of a key.
    pub(super) fn push(&mut self, key: u32, start_ms: i64, end_ms: i64, origin: Origin) -> u32 {
        let session = self.sessions.len() as u32;
        // Behind those that end later.
        let mut before = NONE;
        let mut next = self.keys[key as usize].newest;
        while next != NONE && self.sessions[next as usize].end_ms > end_ms {
            before = next;
            next = self.sessions[next as usize].next;
        }
        let is_changed = origin == Origin::New;
        self.sessions.push(Session { start_ms, end_ms, key, origin, is_changed, parent: session, next });
        match before {
            NONE => self.keys[key as usize].newest = session,
            before => self.sessions[before as usize].next = session,
        }
        session
    }

    /// Finds the session of a row, which joins all sessions that it touches and that are not over for it; a row that
    /// touches none begins one. `None`: its own would be over, too.
    pub(super) fn place(
        &mut self,
        key: u32,
        time_ms: i64,
        gap_ms: i64,
        watermark_ms: i64,
        accumulators: &mut Accumulators,
    ) -> Option<u32> {
        let end_ms = time_ms.saturating_add(gap_ms);
        let mut found = NONE;
        let mut before = NONE;
        let mut at = self.keys[key as usize].newest;
        while at != NONE {
            let session = self.sessions[at as usize];
            if session.end_ms < time_ms {
                break;
            }
            let touches = session.start_ms <= end_ms && session.end_ms > watermark_ms;
            if touches && found == NONE {
                found = at;
                let session = &mut self.sessions[at as usize];
                session.start_ms = session.start_ms.min(time_ms);
                session.end_ms = session.end_ms.max(end_ms);
                session.is_changed = true;
            } else if touches {
                self.merged.push((found, at));
                self.sessions[at as usize].parent = found;
                self.sessions[found as usize].start_ms = self.sessions[found as usize].start_ms.min(session.start_ms);
                self.sessions[before as usize].next = session.next;
                at = session.next;
                continue;
            }
            before = at;
            at = session.next;
        }
        if found == NONE {
            if end_ms <= watermark_ms {
                return None;
            }
            found = self.push(key, time_ms, end_ms, Origin::New);
            accumulators.push_new();
        }
        self.keys[key as usize].is_changed = true;
        Some(found)
    }

    /// The session that a session has become part of in the end.
    pub(super) fn root(&self, mut session: u32) -> u32 {
        while self.sessions[session as usize].parent != session {
            session = self.sessions[session as usize].parent;
        }
        session
    }

    /// A session.
    pub(super) fn get(&self, session: u32) -> &Session {
        &self.sessions[session as usize]
    }

    /// The sessions that have been taken up by others.
    pub(super) fn merged_away(&self) -> impl Iterator<Item = &Session> {
        self.merged.iter().map(|(_, from)| self.get(*from))
    }

    /// The sessions of a key, newest first, with their numbers.
    pub(super) fn of_key(&self, key: usize) -> impl Iterator<Item = (u32, &Session)> + Clone {
        let session = |at: u32| (at != NONE).then(|| (at, self.get(at)));
        std::iter::successors(session(self.keys[key].newest), move |(_, before)| session(before.next))
    }
}
