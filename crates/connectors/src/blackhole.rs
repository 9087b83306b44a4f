//! The connector `blackhole`: takes rows and forgets them.

use headpond_runtime::sink::{Committable, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, Keys, Result};
use headpond_state::CheckpointId;
use serde_json::Value;

/// A sink that forgets what it gets.
#[derive(Debug)]
pub struct BlackholeSink;

#[derive(Debug)]
struct BlackholeWriter;

impl Sink for BlackholeSink {
    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, _job: &SinkJob) -> Result<()> {
        Ok(())
    }

    fn rewind(&self, _job: &SinkJob, _checkpoint: Option<CheckpointId>) -> Result<()> {
        Ok(())
    }

    fn open(&self, _setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(BlackholeWriter))
    }

    fn commit(&self, _job: &SinkJob, _checkpoint: CheckpointId, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }
}

impl SinkWriter for BlackholeWriter {
    fn write(&mut self, _batch: &ChangeBatch, _keys: Option<&Keys>, _cx: &mut SinkContext<'_>) -> Result<()> {
        Ok(())
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, _last: bool, _cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        Ok(None)
    }
}
