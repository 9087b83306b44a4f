//! What a state is: its name, kind, codec, expiry and how it will be read.

use crate::columns::StateColumns;
use crate::error::{Context, Error, Result};
use crate::ttl::{TimeDomain, TtlConfig};
use serde::{Deserialize, Serialize};

/// The declaration of a state. It is stored in every checkpoint and compared at restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateDescriptor {
    /// The state's name, unique within its operator.
    pub name: String,
    /// What shape of state it is.
    pub kind: StateKind,
    /// How a key (without key group) is encoded, for readers of a checkpoint: a list of component types.
    pub key_schema: String,
    /// How values are encoded.
    pub codec: CodecId,
    /// A description of the value for readers of a checkpoint and for comparison at restore; the codec defines its
    /// form (SQL rows: a list of field names and types).
    pub value_schema: String,
    /// When entries expire. `None`: never.
    pub ttl: Option<TtlConfig>,
    /// The operator that folds blind writes into the stored value. Never together with a TTL.
    pub merge: Option<MergeOperator>,
    /// A hint to the backend; not compared at restore.
    pub access: AccessPattern,
    /// What an entry's key begins with behind the key group.
    #[serde(default, skip_serializing_if = "EntryOrder::is_key_first")]
    pub order: EntryOrder,
    /// What people see of it; not compared at restore.
    #[serde(default, skip_serializing_if = "StateColumns::is_empty")]
    pub columns: StateColumns,
    /// What decides which entries there are, where types do not tell it: the expressions of the key, the order of rows.
    /// Compared at restore where both have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub basis: String,
}

impl StateDescriptor {
    /// A state without expiry, merge or hint.
    pub fn new(name: impl Into<String>, kind: StateKind, codec: CodecId) -> Self {
        StateDescriptor {
            name: name.into(),
            kind,
            key_schema: String::new(),
            codec,
            value_schema: String::new(),
            ttl: None,
            merge: None,
            access: AccessPattern::default_of(kind),
            order: if kind == StateKind::Timer { EntryOrder::TimeFirst } else { EntryOrder::KeyFirst },
            columns: StateColumns::default(),
            basis: String::new(),
        }
    }

    /// Sets the description of the key.
    #[must_use]
    pub fn with_key_schema(mut self, schema: impl Into<String>) -> Self {
        self.key_schema = schema.into();
        self
    }

    /// Sets the description of the value.
    #[must_use]
    pub fn with_value_schema(mut self, schema: impl Into<String>) -> Self {
        self.value_schema = schema.into();
        self
    }

    /// Sets the expiry.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Option<TtlConfig>) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the merge operator.
    #[must_use]
    pub fn with_merge(mut self, merge: MergeOperator) -> Self {
        self.merge = Some(merge);
        self
    }

    /// Sets the access hint.
    #[must_use]
    pub fn with_access(mut self, access: AccessPattern) -> Self {
        self.access = access;
        self
    }

    /// Sets the order of entries.
    #[must_use]
    pub fn with_order(mut self, order: EntryOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets what people see of it.
    #[must_use]
    pub fn with_columns(mut self, columns: StateColumns) -> Self {
        self.columns = columns;
        self
    }

    /// Whether both declare the same state, whatever people see of it.
    pub fn is_same(&self, other: &StateDescriptor) -> bool {
        *self == StateDescriptor { columns: self.columns.clone(), ..other.clone() }
    }

    /// Sets what decides which entries there are.
    #[must_use]
    pub fn with_basis(mut self, basis: impl Into<String>) -> Self {
        self.basis = basis.into();
        self
    }

    /// Checks that this declaration is right in itself.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a name that is empty or has a NUL character, a TTL with a merge
    /// operator, or a TTL that is not positive.
    pub fn validate(&self) -> Result<()> {
        let reason = match (self.ttl, self.merge) {
            _ if self.name.is_empty() => "a state must have a name",
            _ if self.name.contains('\0') => "a state's name must not contain a NUL character",
            (Some(_), Some(_)) => "a state with a TTL cannot have a merge operator",
            (Some(ttl), None) if ttl.ttl_ms <= 0 => "a TTL must be greater than zero",
            _ => return Ok(()),
        };
        Err(Error::invalid(reason).with(Context::State, &self.name))
    }

    /// Checks that entries written under `restored` can be read and written under this declaration. The access hint and
    /// the duration of a TTL may differ; an older version of the codec may be restored, and an older schema of the
    /// value where the codec bears the change.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible), naming all that differs.
    pub fn check_restored(&self, restored: &StateDescriptor) -> Result<()> {
        let mut differences = self.differences_of_keys(restored);
        // What an accumulator gains it would have from the restored cut on only: a sum of a part, taken for the whole.
        let folds = matches!(self.kind, StateKind::Reducing | StateKind::Aggregating);
        let same = restored.value_schema == self.value_schema;
        differences.compare(
            "codec",
            self.codec.name == restored.codec.name && self.codec.version >= restored.codec.version,
            format!("`{}` version {}", restored.codec.name, restored.codec.version),
            format!("`{}` version {}", self.codec.name, self.codec.version),
        );
        differences.compare(
            "value",
            same || !folds && crate::codec::reads(&self.codec.name, &restored.value_schema, &self.value_schema),
            format!("`{}`", restored.value_schema),
            format!("`{}`", self.value_schema),
        );
        differences.into_result(&self.name)
    }

    /// As [`check_restored`](Self::check_restored), for entries whose values a [`Migration`](crate::Migration)
    /// converts: their codec and their schema may differ.
    ///
    /// # Errors
    /// As there.
    pub fn check_restored_key(&self, restored: &StateDescriptor) -> Result<()> {
        self.differences_of_keys(restored).into_result(&self.name)
    }

    /// What differs beside codec and schema of the value.
    fn differences_of_keys(&self, restored: &StateDescriptor) -> Differences {
        let mut differences = Differences::default();
        // Values of a state with a TTL begin with a timestamp of its time; how long it is may change.
        let domain = |ttl: Option<TtlConfig>| ttl.map(|ttl| ttl.domain);
        let clock = |ttl| match domain(ttl) {
            None => "none".to_owned(),
            Some(TimeDomain::EventTime) => "in event time".to_owned(),
            Some(TimeDomain::ProcessingTime) => "in processing time".to_owned(),
        };
        // Descriptors of timers were written without an order once.
        let order = |descriptor: &StateDescriptor| match descriptor.kind {
            StateKind::Timer => EntryOrder::TimeFirst,
            _ => descriptor.order,
        };
        let same = self.kind == restored.kind;
        differences.compare("kind", same, format!("{:?}", restored.kind), format!("{:?}", self.kind));
        let (was, is) = (order(restored), order(self));
        differences.compare("order", was == is, format!("{was:?}"), format!("{is:?}"));
        let (was, is) = (&restored.key_schema, &self.key_schema);
        differences.compare("key", was == is, format!("`{was}`"), format!("`{is}`"));
        let (was, is) = (&restored.basis, &self.basis);
        // Descriptors were written without one once.
        let same = was.is_empty() || is.is_empty() || was == is;
        differences.compare("basis", same, format!("`{was}`"), format!("`{is}`"));
        let same = self.merge == restored.merge;
        differences.compare("merge operator", same, format!("{:?}", restored.merge), format!("{:?}", self.merge));
        let same = domain(self.ttl) == domain(restored.ttl);
        differences.compare("TTL", same, clock(restored.ttl), clock(self.ttl));
        differences
    }
}

/// What differs between two declarations of a state.
#[derive(Debug, Default)]
struct Differences(Vec<String>);

impl Differences {
    fn compare(&mut self, what: &str, matches: bool, restored: String, declared: String) {
        if !matches {
            self.0.push(format!("{what} was {restored} and is now {declared}"));
        }
    }

    fn into_result(self, state: &str) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error::incompatible(format!("the restored state does not match the job's: {}", self.0.join("; ")))
            .with(Context::State, state)
            .hint("run the query that wrote it")
            .remedy(crate::Remedy::StartAnew))
    }
}

/// The shape of a state. Each has one key layout (see [`crate::encoding`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateKind {
    /// One value per key and namespace.
    Value,
    /// A sequence: one entry per element, in the order of appending.
    List,
    /// A map from user keys to values, in the order of the encoded user keys.
    Map,
    /// One value, folded with a function of two values.
    Reducing,
    /// One accumulator, folded with inputs of another type.
    Aggregating,
    /// Timers, ordered by time within a key group.
    Timer,
}

/// How a state is mostly read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// By whole key.
    Point,
    /// By prefix, in order.
    Scan,
}

impl AccessPattern {
    /// What a state of this kind is read by, unless its owner knows better.
    pub fn default_of(kind: StateKind) -> Self {
        match kind {
            StateKind::Value | StateKind::Reducing | StateKind::Aggregating => AccessPattern::Point,
            StateKind::List | StateKind::Map | StateKind::Timer => AccessPattern::Scan,
        }
    }
}

/// What an entry's key begins with behind the key group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryOrder {
    /// The key: what belongs to a key lies together.
    #[default]
    KeyFirst,
    /// A time, then the key (see [`EntryKeys::timed`](crate::encoding::EntryKeys::timed)): what belongs to a time lies
    /// together, and goes together.
    TimeFirst,
}

impl EntryOrder {
    fn is_key_first(&self) -> bool {
        *self == EntryOrder::KeyFirst
    }
}

/// The name and version of a codec. Every stored value begins with the version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodecId {
    /// The codec's name, such as `row`, `protobuf`, `avro`, `i64`.
    pub name: String,
    /// The version values are written with.
    pub version: u8,
}

impl CodecId {
    /// A codec id.
    pub fn new(name: impl Into<String>, version: u8) -> Self {
        CodecId { name: name.into(), version }
    }
}

/// How blind writes fold into a stored value: a closed, named set, so that a file can be read without the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeOperator {
    /// The operand's bytes are appended to the value's.
    Append,
    /// Both are little-endian `i64`; the sum wraps.
    AddI64,
}

impl MergeOperator {
    /// Folds `operand` into `value` (absent: the operator's identity). Operands of a wrong length are taken as they
    /// are: a merge runs inside an engine's callback, where it can neither fail nor panic.
    pub fn fold(self, value: &mut Vec<u8>, operand: &[u8]) {
        match self {
            MergeOperator::Append => value.extend_from_slice(operand),
            MergeOperator::AddI64 => match (<[u8; 8]>::try_from(value.as_slice()), <[u8; 8]>::try_from(operand)) {
                (Ok(a), Ok(b)) => {
                    let sum = i64::from_le_bytes(a).wrapping_add(i64::from_le_bytes(b));
                    value.clear();
                    value.extend_from_slice(&sum.to_le_bytes());
                }
                _ => {
                    value.clear();
                    value.extend_from_slice(operand);
                }
            },
        }
    }
}
