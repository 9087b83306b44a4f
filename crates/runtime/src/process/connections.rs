//! How the workers of a job reach each other.

use headpond_state::{Error, Result};
use std::any::Any;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use timely::CommunicationConfig;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Hooks, allocator};

/// The way from the workers of a process to the others.
#[derive(Debug)]
pub enum Connections {
    /// There is one process. What its workers send each other is handed over as it is.
    Threads,
    /// There is one process. What its workers send each other is serialized, as between processes.
    SerializedThreads,
    /// There are several processes: one connected socket to each other, in their order, with none at this process's
    /// place.
    Sockets {
        /// The number of this process.
        process: usize,
        /// The sockets.
        sockets: Vec<Option<TcpStream>>,
    },
}

impl Connections {
    /// The connections of `processes` processes in this program, over sockets of this machine.
    ///
    /// # Errors
    /// [`Unavailable`](headpond_state::ErrorKind::Unavailable) when there are no sockets.
    #[allow(clippy::needless_range_loop)]
    pub fn on_loopback(processes: usize) -> Result<Vec<Connections>> {
        let failed = |error| Error::unavailable("processes cannot be connected").because(error);
        let mut sockets: Vec<Vec<Option<TcpStream>>> =
            (0..processes).map(|_| (0..processes).map(|_| None).collect()).collect();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        for from in 0..processes {
            for to in from + 1..processes {
                let there = TcpStream::connect(address).map_err(failed)?;
                let (here, _) = listener.accept().map_err(failed)?;
                for socket in [&there, &here] {
                    socket.set_nodelay(true).map_err(failed)?;
                }
                sockets[from][to] = Some(here);
                sockets[to][from] = Some(there);
            }
        }
        let all = sockets.into_iter().enumerate();
        Ok(all.map(|(process, sockets)| Connections::Sockets { process, sockets }).collect())
    }

    /// What Timely builds its workers from, with what must live as long as they do.
    pub(super) fn build(self, workers: usize) -> Result<(Vec<AllocatorBuilder>, Box<dyn Any + Send>)> {
        let in_process = match (self, workers) {
            (Connections::Threads, 1) => CommunicationConfig::Thread,
            (Connections::Threads, workers) => CommunicationConfig::Process(workers),
            (Connections::SerializedThreads, workers) => CommunicationConfig::ProcessBinary(workers),
            (Connections::Sockets { process, sockets }, workers) => {
                let Hooks { refill, spill, .. } = Hooks::default();
                let local = ProcessBuilder::new_bytes_vector(workers, refill, spill);
                let (builders, guard) =
                    initialize_networking_from_sockets(local, sockets, process, workers, Hooks::default())
                        .map_err(|error| Error::unavailable("processes cannot be connected").because(error))?;
                let builders = builders.into_iter().map(allocator::AllocatorBuilder::Tcp).collect();
                return Ok((builders, Box::new(guard)));
            }
        };
        in_process.try_build().map_err(|error| Error::internal(format!("the workers cannot be started: {error}")))
    }
}
