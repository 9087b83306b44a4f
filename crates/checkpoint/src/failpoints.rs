//! Named places at which a crash test stops the process.
//!
//! A crash test must stop *between* two effects on the store. The code passes named points in that order and calls the
//! hook it was constructed with; the hook of a test aborts the process. Without a hook, and that is every run outside
//! tests, a point is one comparison. Nothing else hangs on this module.

use std::fmt;
use std::sync::Arc;

type Hook = Arc<dyn Fn(&'static str) + Send + Sync>;

/// A hook that is called at each named point. The default has none.
#[derive(Clone, Default)]
pub struct Failpoints(Option<Hook>);

/// Before a state file is taken in.
pub const BEFORE_UPLOAD: &str = "before-upload";
/// A state file is staged and has no name yet.
pub const AFTER_UPLOAD: &str = "after-upload";
/// All uploads are done; none of the files has its name.
pub const BEFORE_PUBLISH: &str = "before-publish";
/// All files of the checkpoint are durable under their names; the manifest does not exist.
pub const BEFORE_MANIFEST: &str = "before-manifest";
/// The checkpoint's directory exists; its manifest does not.
pub const DURING_MANIFEST: &str = "during-manifest";
/// The checkpoint is committed and nobody has been told.
pub const AFTER_MANIFEST: &str = "after-manifest";
/// The manifests beyond retention are deleted, their files are not.
pub const DURING_COLLECT: &str = "during-collect";

impl Failpoints {
    /// The names of all points of this crate, in the order a checkpoint passes them.
    pub const NAMES: [&'static str; 7] =
        [BEFORE_UPLOAD, AFTER_UPLOAD, BEFORE_PUBLISH, BEFORE_MANIFEST, DURING_MANIFEST, AFTER_MANIFEST, DURING_COLLECT];

    /// Calls `hook` with the name of every point reached, on the thread that reaches it.
    pub fn new(hook: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Failpoints(Some(Arc::new(hook)))
    }

    /// Passes the point `name`.
    pub fn reach(&self, name: &'static str) {
        if let Some(hook) = &self.0 {
            hook(name);
        }
    }
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Failpoints(hook)" } else { "Failpoints(none)" })
    }
}
