//! Counts the words of lines by the minute, and joins each count with what kind of word it is.
//!
//! ```console
//! $ cargo run --release -- -D execution.checkpointing.dir=checkpoints INPUT OUTPUT
//! ```
//!
//! `INPUT` has `lines.csv` (`time_ms,text`) and `kinds.csv` (`word,kind`); `OUTPUT` gets files of
//! `minute_ms,word,kind,count`. Kill it at any moment and run it again: it goes on from its last checkpoint, and every
//! count is there once. A third argument is how many lines to read in a second, to have time for that.

use headpond::prelude::*;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(crate = "headpond::serde")]
struct Line {
    time_ms: i64,
    text: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(crate = "headpond::serde")]
struct Kind {
    word: String,
    kind: String,
}

/// How often a word was there in a minute.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(crate = "headpond::serde")]
struct Count {
    minute_ms: i64,
    word: String,
    count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(crate = "headpond::serde")]
struct KindCount {
    minute_ms: i64,
    word: String,
    kind: String,
    count: u64,
}

/// Joins counts with their word's kind, which may come later than they do.
struct WithKind;

impl KeyedCoProcessFunction for WithKind {
    type Key = String;
    type In1 = Count;
    type In2 = Kind;
    type Out = KindCount;
    /// The word's kind, and the counts that wait for it.
    type States = (ValueState<String>, ListState<Count>);

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        let kind = ctx.value_state(ValueStateDescriptor::new("kind", Utf8))?;
        let waiting = ctx.list_state(ListStateDescriptor::new("waiting", SerdeCodec::new("Count", 1)))?;
        Ok((kind, waiting))
    }

    fn process_element1(
        &self,
        (kind, waiting): &mut Self::States,
        count: Count,
        ctx: &mut Context<'_, String>,
        out: &mut Collector<KindCount>,
    ) -> Result<()> {
        match kind.value(ctx)? {
            Some(kind) => out.collect(count.with(kind)),
            None => waiting.add(ctx, &count)?,
        }
        Ok(())
    }

    fn process_element2(
        &self,
        (kind, waiting): &mut Self::States,
        described: Kind,
        ctx: &mut Context<'_, String>,
        out: &mut Collector<KindCount>,
    ) -> Result<()> {
        for count in waiting.get(ctx)? {
            out.collect(count.with(described.kind.clone()));
        }
        waiting.clear(ctx)?;
        kind.update(ctx, &described.kind)
    }
}

impl Count {
    fn with(self, kind: String) -> KindCount {
        let Count { minute_ms, word, count } = self;
        KindCount { minute_ms, word, kind, count }
    }
}

fn main() -> ExitCode {
    headpond::run("wordcount", |env, arguments| {
        let [input, output, rest @ ..] = arguments else {
            return Err(Error::invalid("the program needs two directories").hint("wordcount INPUT OUTPUT"));
        };
        let mut lines = FileSource::<Line>::csv(Path::new(input).join("lines.csv"));
        if let [lines_per_second, ..] = rest {
            lines = lines.with_option("scan.rows-per-second", lines_per_second);
        }
        let counts = env
            .from_files(lines)
            .uid("lines")
            .assign_timestamps_and_watermarks(
                WatermarkStrategy::bounded_out_of_orderness(Duration::from_secs(5))
                    .with_timestamps(|line: &Line| line.time_ms),
            )
            .flat_map(|line| line.text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>())
            .key_by(|word| word.clone())
            .window(TumblingWindows::of(Duration::from_secs(60)))
            .fold(0, |count: u64, _| count + 1)
            .uid("counts")
            .map(|Windowed { key, start_ms, value, .. }| Count { minute_ms: start_ms, word: key, count: value });
        let kinds = env.from_files(FileSource::<Kind>::csv(Path::new(input).join("kinds.csv"))).uid("kinds");
        counts
            .key_by(|count| count.word.clone())
            .connect(&kinds.key_by(|kind| kind.word.clone()))
            .process(WithKind)
            .uid("with-kind")
            .write_files(FileSink::csv(output));
        Ok(())
    })
}
