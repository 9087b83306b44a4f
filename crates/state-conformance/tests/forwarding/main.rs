//! The backend of `docs/write-a-backend.md` is one: it passes.

mod backend;

use backend::ForwardingStateBackend;
use headpond_state_memory::MemoryStateBackend;

headpond_state_conformance::conformance_tests!(|| ForwardingStateBackend::new(MemoryStateBackend::new()));

/// The page shows the backend as it is tested here.
#[test]
fn the_page_has_the_backend() {
    let page = include_str!("../../../../docs/write-a-backend.md");
    assert!(page.contains(include_str!("backend.rs")), "docs/write-a-backend.md does not show backend.rs as it is");
}
