//! Errors: what went wrong, where, and what the caller can do.

use crate::printable::{Lines, OneLine};
use crate::remedy::Remedy;
use std::fmt;

/// The result of every fallible call in Headpond.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller should do about an error.
///
/// Kinds are few on purpose: each stands for one reaction, not for one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A store or peer did not answer. Retrying may help.
    Unavailable,
    /// A call, an option, a query or a row is wrong. Fix it.
    Invalid,
    /// The request is understood and not supported.
    Unsupported,
    /// State and job do not match (another key type, a newer format, a changed query).
    Incompatible,
    /// Stored bytes are not what was written. Restore from elsewhere.
    Corrupt,
    /// A limit was reached: memory, disk, files.
    ResourceExhausted,
    /// A newer attempt owns the job. Stop.
    Fenced,
    /// The object was closed or cancelled.
    Closed,
    /// Nobody reads the output any more. End quietly.
    BrokenPipe,
    /// A bug in Headpond. Report it.
    Internal,
}

impl ErrorKind {
    /// The exit code of the `headpond` binary for this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Invalid => 2,
            ErrorKind::Unsupported => 3,
            ErrorKind::Incompatible => 4,
            ErrorKind::Corrupt => 5,
            ErrorKind::ResourceExhausted => 6,
            ErrorKind::Unavailable => 7,
            ErrorKind::Fenced => 8,
            ErrorKind::Closed => 9,
            // What a shell reports of a program that SIGPIPE ended, which is what happened in all but name.
            ErrorKind::BrokenPipe => 141,
            ErrorKind::Internal => 70,
        }
    }

    /// The kind with this exit code.
    pub fn of_exit_code(code: u8) -> Option<ErrorKind> {
        let all = [
            ErrorKind::Invalid,
            ErrorKind::Unsupported,
            ErrorKind::Incompatible,
            ErrorKind::Corrupt,
            ErrorKind::ResourceExhausted,
            ErrorKind::Unavailable,
            ErrorKind::Fenced,
            ErrorKind::Closed,
            ErrorKind::BrokenPipe,
            ErrorKind::Internal,
        ];
        all.into_iter().find(|kind| kind.exit_code() == code)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Unavailable => "unavailable",
            ErrorKind::Invalid => "invalid",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Incompatible => "incompatible",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::ResourceExhausted => "resource exhausted",
            ErrorKind::Fenced => "fenced",
            ErrorKind::Closed => "closed",
            ErrorKind::BrokenPipe => "broken pipe",
            ErrorKind::Internal => "internal error",
        })
    }
}

/// The kind of place an error names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Context {
    /// The statement of a SQL file, by what it begins with.
    Statement,
    /// An operator's id.
    Operator,
    /// A state's name.
    State,
    /// A key group's number.
    KeyGroup,
    /// A checkpoint's id.
    Checkpoint,
    /// A file or directory.
    Path,
    /// A line, counted from 1.
    Line,
    /// A column of a line (counted from 1) or of a table.
    Column,
    /// An option's key.
    Option,
    /// The offending text itself.
    Text,
}

impl Context {
    fn label(self) -> &'static str {
        match self {
            Context::Statement => "statement",
            Context::Operator => "operator",
            Context::State => "state",
            Context::KeyGroup => "key group",
            Context::Checkpoint => "checkpoint",
            Context::Path => "path",
            Context::Line => "line",
            Context::Column => "column",
            Context::Option => "option",
            Context::Text => "text",
        }
    }
}

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// An error: a kind, a message for the person who must act, the places where it happened, and its cause.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    context: Vec<(Context, String)>,
    hint: Option<String>,
    remedies: Vec<Remedy>,
    source: Option<Source>,
    further: Vec<Error>,
}

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Error(Box::new(Inner {
            kind,
            message,
            context: Vec::new(),
            hint: None,
            remedies: Vec::new(),
            source: None,
            further: Vec::new(),
        }))
    }

    /// Adds a place, unless it is named already. Places are added from the inside out and printed in that order.
    #[must_use]
    pub fn with(mut self, context: Context, value: impl fmt::Display) -> Self {
        let place = (context, value.to_string());
        if !self.0.context.contains(&place) {
            self.0.context.push(place);
        }
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Adds errors that were found with this one and are none of its causes: other faults of the same script, say.
    #[must_use]
    pub fn and(mut self, further: impl IntoIterator<Item = Error>) -> Self {
        self.0.further.extend(further);
        self
    }

    /// Adds the way out: what the reader can do now.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a way out that is asked for where the job is started again, beside that of the [`hint`](Self::hint).
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        if !self.0.remedies.contains(&remedy) {
            self.0.remedies.push(remedy);
        }
        self
    }

    /// The error with each of its texts rewritten: the message, the places, the way out and the causes, which become
    /// one. For who must keep something out of messages.
    #[must_use]
    pub fn rewritten(self, with: impl Fn(&str) -> String) -> Self {
        self.rewritten_with(&with)
    }

    fn rewritten_with(self, with: &dyn Fn(&str) -> String) -> Self {
        let Inner { kind, message, context, hint, remedies, source, further } = *self.0;
        let source = source.map(|source| {
            let text = source.to_string();
            let rewritten = with(&text);
            // The cause itself stays where nothing is to be kept out: who asks for its type finds it.
            if rewritten == text { source } else { rewritten.into() }
        });
        let context = context.into_iter().map(|(context, value)| (context, with(&value))).collect();
        let hint = hint.as_deref().map(with);
        let further = further.into_iter().map(|error| error.rewritten_with(with)).collect();
        Error(Box::new(Inner { kind, message: with(&message), context, hint, remedies, source, further }))
    }

    /// The error as text, without a word of those that were found with it.
    pub fn alone(&self) -> impl fmt::Display {
        Alone(self)
    }

    /// The errors that were found with this one.
    pub fn further(&self) -> &[Error] {
        &self.0.further
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without its context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The way out, if there is one to name beside the [remedies](Self::remedies).
    pub fn way_out(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The ways out that are asked for where the job is started again, the best first.
    pub fn remedies(&self) -> &[Remedy] {
        &self.0.remedies
    }

    /// All ways out in one sentence, the remedies in these words; `None` if there are none.
    pub fn ways_out<W: fmt::Display>(&self, word: impl Fn(Remedy) -> W) -> Option<String> {
        let remedies = self.0.remedies.iter().map(|remedy| word(*remedy).to_string());
        let all: Vec<String> = self.0.hint.iter().cloned().chain(remedies).collect();
        (!all.is_empty()).then(|| all.join("; or "))
    }

    /// The places, innermost first.
    pub fn context(&self) -> impl Iterator<Item = (Context, &str)> {
        self.0.context.iter().map(|(context, value)| (*context, value.as_str()))
    }

    /// The value of the innermost place of this kind.
    pub fn place(&self, wanted: Context) -> Option<&str> {
        self.context().find(|(context, _)| *context == wanted).map(|(_, value)| value)
    }

    /// An error about a file or directory: the kind follows from the cause (a full disk is
    /// [`ErrorKind::ResourceExhausted`], a missing file, a denied access or something that is no file
    /// [`ErrorKind::Invalid`], anything else
    /// [`ErrorKind::Unavailable`]).
    pub fn io(message: impl Into<String>, path: impl AsRef<std::path::Path>, cause: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match cause.kind() {
            Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge | Io::OutOfMemory => ErrorKind::ResourceExhausted,
            Io::NotFound
            | Io::PermissionDenied
            | Io::IsADirectory
            | Io::NotADirectory
            | Io::ReadOnlyFilesystem
            | Io::InvalidInput
            | Io::InvalidFilename => ErrorKind::Invalid,
            Io::InvalidData | Io::UnexpectedEof => ErrorKind::Corrupt,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, message).with(Context::Path, path.as_ref().display()).because(cause)
    }
}

/// Shorthand constructors, one per kind.
macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {
        impl Error {
            $(
                #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
                pub fn $name(message: impl Into<String>) -> Self {
                    Error::new(ErrorKind::$kind, message)
                }
            )*
        }
    };
}
constructors! {
    unavailable => Unavailable, invalid => Invalid, unsupported => Unsupported, incompatible => Incompatible,
    corrupt => Corrupt, exhausted => ResourceExhausted, fenced => Fenced, closed => Closed, broken_pipe => BrokenPipe, internal => Internal,
}

/// The message, the places and the causes, and how many [further](Error::further) errors there are; whatever they
/// name is [printable](crate::printable).
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Alone(self))?;
        match self.0.further.len() {
            0 => Ok(()),
            1 => f.write_str("; and 1 further error"),
            count => write!(f, "; and {count} further errors"),
        }
    }
}

/// An error without those that were found with it.
struct Alone<'e>(&'e Error);

impl fmt::Display for Alone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Alone(error) = self;
        write!(f, "{}", Lines(&error.0.message))?;
        if !error.0.context.is_empty() {
            f.write_str(" (")?;
            for (i, (context, value)) in error.0.context.iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{} {}", context.label(), OneLine(value))?;
            }
            f.write_str(")")?;
        }
        if let Some(source) = &error.0.source {
            write!(f, ": {}", Lines(&source.to_string()))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        if let Some(ways_out) = self.ways_out(|remedy| remedy) {
            write!(f, " [{}]", Lines(&ways_out))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source.as_ref() as _)
    }
}
