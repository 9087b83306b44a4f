//! Avro data of types serde knows.

use apache_avro::Schema;
use apache_avro::rabin::Rabin;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use headpond_state::CodecId;
use headpond_state::bytes::ByteReader;
use headpond_state::codec::{Codec, trailing, unknown_version};
use headpond_state::{Context, Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::marker::PhantomData;

const VERSION: u8 = 1;

/// An Avro datum, after the version byte and the fingerprint of the schema that wrote it (CRC-64-AVRO, 8 bytes, as
/// Avro's single-object encoding has it).
///
/// A value is resolved from the schema that wrote it to the codec's own, so a state survives a change of schema that
/// Avro allows. The schemas that wrote values are in the state's descriptor: its value schema is a JSON array of them,
/// the current first.
pub struct AvroCodec<T> {
    /// The current schema, then those that older values may have.
    schemas: Vec<KnownSchema>,
    values: PhantomData<fn() -> T>,
}

#[derive(Debug)]
struct KnownSchema {
    json: serde_json::Value,
    schema: Schema,
    fingerprint: [u8; 8],
}

impl KnownSchema {
    fn new(json: serde_json::Value) -> Result<Self> {
        let invalid = |cause| {
            Error::invalid("an Avro schema cannot be read").with(Context::Text, format_args!("`{json}`")).because(cause)
        };
        let schema = Schema::parse(&json).map_err(invalid)?;
        let fingerprint = schema.fingerprint::<Rabin>().bytes;
        let fingerprint = fingerprint.try_into().map_err(|_| Error::internal("a CRC-64 has 8 bytes"))?;
        Ok(KnownSchema { json, schema, fingerprint })
    }
}

impl<T> AvroCodec<T> {
    /// A codec that writes values under `schema` and reads such values only.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when `schema` is no Avro schema in JSON.
    pub fn new(schema: &str) -> Result<Self> {
        Ok(AvroCodec { schemas: vec![KnownSchema::new(parse_json(schema)?)?], values: PhantomData })
    }

    /// A codec that writes values under `schema` and also reads those of the schemas in `written`, the value schema of
    /// the descriptor that the state was restored with.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when a text is not what it should be.
    pub fn evolved(schema: &str, written: &str) -> Result<Self> {
        let mut codec = Self::new(schema)?;
        let serde_json::Value::Array(older) = parse_json(written)? else {
            return Err(Error::invalid("the value schema of an Avro state is a JSON array")
                .with(Context::Text, format_args!("`{written}`")));
        };
        for json in older {
            let known = KnownSchema::new(json)?;
            if codec.schemas.iter().all(|other| other.fingerprint != known.fingerprint) {
                codec.schemas.push(known);
            }
        }
        Ok(codec)
    }

    fn current(&self) -> &KnownSchema {
        &self.schemas[0]
    }
}

fn parse_json(text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text).map_err(|cause| {
        Error::invalid("an Avro schema is not JSON").with(Context::Text, format_args!("`{text}`")).because(cause)
    })
}

impl<T> fmt::Debug for AvroCodec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AvroCodec").field("schemas", &self.schemas).finish()
    }
}

impl<T: Serialize + DeserializeOwned> Codec<T> for AvroCodec<T> {
    fn id(&self) -> CodecId {
        CodecId::new("avro-datum", VERSION)
    }

    fn schema(&self) -> String {
        serde_json::Value::Array(self.schemas.iter().map(|known| known.json.clone()).collect()).to_string()
    }

    fn encode(&self, value: &T, out: &mut Vec<u8>) -> Result<()> {
        let known = self.current();
        out.push(VERSION);
        out.extend_from_slice(&known.fingerprint);
        GenericDatumWriter::builder(&known.schema)
            .build()
            .and_then(|writer| writer.write_ser(out, value))
            .map(drop)
            .map_err(|cause| Error::invalid("a value does not fit its Avro schema").because(cause))
    }

    fn decode(&self, bytes: &[u8]) -> Result<T> {
        let mut input = ByteReader(bytes);
        match input.byte()? {
            VERSION => {}
            other => return Err(unknown_version("avro-datum", other, VERSION)),
        }
        let fingerprint = input.array::<8>()?;
        let written = self.schemas.iter().find(|known| known.fingerprint == fingerprint).ok_or_else(|| {
            Error::incompatible(format!("a value was written with an unknown Avro schema, {fingerprint:02x?}"))
                .hint("open the state with the value schema of its descriptor")
        })?;
        let corrupt = |cause| Error::corrupt("a value is no Avro datum of its schema").because(cause);
        let mut datum = input.0;
        let value = if std::ptr::eq(written, self.current()) {
            let reader = GenericDatumReader::builder(&written.schema).build().map_err(corrupt)?;
            reader.read_deser(&mut datum).map_err(corrupt)?
        } else {
            self.resolve(&written.schema, &mut datum)?
        };
        if datum.is_empty() { Ok(value) } else { Err(trailing(datum.len())) }
    }
}

impl<T: DeserializeOwned> AvroCodec<T> {
    fn resolve(&self, written: &Schema, datum: &mut &[u8]) -> Result<T> {
        let differ = |cause| Error::incompatible("a value cannot be read under the current Avro schema").because(cause);
        let corrupt = |cause| Error::corrupt("a value is no Avro datum of its schema").because(cause);
        let reader = GenericDatumReader::builder(written).build().map_err(corrupt)?;
        let value = reader.read_value(datum).map_err(corrupt)?;
        let value = value.resolve(&self.current().schema).map_err(differ)?;
        apache_avro::from_value(&value).map_err(differ)
    }
}
