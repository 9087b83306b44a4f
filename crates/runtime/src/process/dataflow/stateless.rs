//! Steps without state: they pass on what they get, at the tick they got it.

use super::event_time::{CombinedWatermark, Sender};
use crate::key::{KeyEncoder, KeyedBatch, Keys};
use crate::operator::BatchFunctionFactory;
use crate::process::message::{Message, Messages, Watermark};
use crate::process::shared::Shared;
use headpond_state::encoding::{EntryKeys, NO_NAMESPACE};
use headpond_state::{Context, Error, MaxParallelism, Result};
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};

/// Applies a function to every batch.
pub(super) fn map<'scope>(
    stream: Stream<'scope, u64, Messages>,
    name: &str,
    factory: BatchFunctionFactory,
    shared: Arc<Shared>,
) -> Stream<'scope, u64, Messages> {
    let located = {
        let name = name.to_owned();
        move |error: Error| error.with(Context::Operator, &name)
    };
    let mut function = match factory() {
        Ok(function) => Some(function),
        Err(error) => {
            shared.fail(located(error));
            None
        }
    };
    each(stream, name, shared, move |message| match (message, &mut function) {
        (Message::Rows(batch), Some(function)) => Ok(function.process(batch).map_err(&located)?.map(Message::Rows)),
        (message, _) => Ok(Some(message)),
    })
}

/// Gives every row its key.
pub(super) fn with_keys<'scope>(
    stream: Stream<'scope, u64, Messages>,
    encoder: KeyEncoder,
    shared: Arc<Shared>,
) -> Stream<'scope, u64, Messages> {
    each(stream, "keys", shared, move |message| match message {
        Message::Rows(changes) => {
            let keys = encoder.encode(&changes)?;
            Ok(Some(Message::Keyed(KeyedBatch { changes, keys })))
        }
        message => Ok(Some(message)),
    })
}

/// Gives every row once for each worker, in the first key group that is the worker's.
///
/// Such rows are about no key and no time: their senders are idle from the beginning, so event time does not wait for
/// them.
pub(super) fn broadcast<'scope>(
    stream: Stream<'scope, u64, Messages>,
    max_parallelism: MaxParallelism,
    worker: usize,
    peers: usize,
    shared: Arc<Shared>,
) -> Stream<'scope, u64, Messages> {
    let entries = EntryKeys::new(max_parallelism);
    let first_keys: Vec<Vec<u8>> = (0..peers)
        .filter_map(|peer| max_parallelism.range_of(peer, peers).iter().next())
        .map(|group| {
            let mut key = Vec::new();
            entries.entry(group, &[], NO_NAMESPACE, &mut key);
            key
        })
        .collect();
    let mut builder = OperatorBuilder::new("broadcast".to_owned(), stream.scope());
    let mut input = builder.new_input(stream, Pipeline);
    let (mut output, result) = builder.new_output::<Messages>();
    builder.build(move |mut capabilities| {
        let mut first = capabilities.pop();
        move |_| {
            let mut output = output.activate();
            if let Some(capability) = first.take() {
                output.give(&capability, &mut Messages::watermark(worker, peers, i64::MIN, true));
            }
            input.for_each(|capability, messages| {
                for message in messages.drain() {
                    match message {
                        Message::Rows(changes) => {
                            for key in &first_keys {
                                let mut keys = Keys::new(max_parallelism);
                                (0..changes.num_rows()).for_each(|_| keys.push(key));
                                let batch = KeyedBatch { changes: changes.clone(), keys };
                                output.give(&capability, &mut Messages::one(Message::Keyed(batch)));
                            }
                        }
                        Message::Watermark(watermark) => {
                            let ended = watermark.time_ms == i64::MAX;
                            let time_ms = if ended { i64::MAX } else { i64::MIN };
                            let message = Message::Watermark(Watermark { time_ms, idle: !ended, ..watermark });
                            output.give(&capability, &mut Messages::one(message));
                        }
                        Message::Damaged(text) => shared.fail(Error::corrupt(text)),
                        Message::Keyed(_) => shared.fail(Error::internal("rows that have keys are sent to everyone")),
                    }
                }
            });
        }
    });
    result
}

fn each<'scope>(
    stream: Stream<'scope, u64, Messages>,
    name: &str,
    shared: Arc<Shared>,
    mut step: impl FnMut(Message) -> Result<Option<Message>> + 'static,
) -> Stream<'scope, u64, Messages> {
    let mut builder = OperatorBuilder::new(name.to_owned(), stream.scope());
    let mut input = builder.new_input(stream, Pipeline);
    let (mut output, result) = builder.new_output::<Messages>();
    builder.build(move |_| {
        move |_| {
            let mut output = output.activate();
            input.for_each(|capability, messages| {
                for message in messages.drain() {
                    if shared.has_failed() {
                        continue;
                    }
                    match step(message) {
                        Ok(Some(message)) => output.give(&capability, &mut Messages::one(message)),
                        Ok(None) => {}
                        Err(error) => shared.fail(error),
                    }
                }
            });
        }
    });
    result
}

/// All rows of all inputs; the watermark is what theirs say together.
pub(super) fn union<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    inputs: Vec<Stream<'scope, u64, Messages>>,
    worker: usize,
    peers: usize,
    shared: Arc<Shared>,
) -> Stream<'scope, u64, Messages> {
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let mut inputs: Vec<_> = inputs.into_iter().map(|stream| builder.new_input(stream, Pipeline)).collect();
    let (mut output, result) = builder.new_output::<Messages>();
    builder.build(move |_| {
        let mut senders = vec![Sender::SILENT; inputs.len()];
        let mut sent = CombinedWatermark { time_ms: i64::MIN, idle: false };
        move |_| {
            let mut output = output.activate();
            for (index, input) in inputs.iter_mut().enumerate() {
                input.for_each(|capability, messages| {
                    for message in messages.drain() {
                        let mut passed = match message {
                            // One of these comes per worker, all alike: from this worker, with one time.
                            Message::Watermark(watermark) => {
                                senders[index].observe(watermark.time_ms, watermark.idle);
                                let mut together = CombinedWatermark::of(senders.iter().copied());
                                together.time_ms = together.time_ms.max(sent.time_ms);
                                if together == sent {
                                    continue;
                                }
                                sent = together;
                                Messages::watermark(worker, peers, together.time_ms, together.idle)
                            }
                            Message::Damaged(text) => {
                                shared.fail(Error::corrupt(text));
                                continue;
                            }
                            rows => Messages::one(rows),
                        };
                        output.give(&capability, &mut passed);
                    }
                });
            }
        }
    });
    result
}
