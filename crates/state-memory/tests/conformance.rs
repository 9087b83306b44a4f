//! The contract of a state backend.

use headpond_state_memory::MemoryStateBackend;

headpond_state_conformance::conformance_tests!(MemoryStateBackend::new);
