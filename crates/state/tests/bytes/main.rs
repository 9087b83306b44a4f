//! What keys and values look like as bytes.

mod avro_rows;
mod codecs;
mod data;
mod fixture;
mod key_fixture;
mod key_order;
mod protobuf_rows;
mod row_fixture;
mod rows;
mod schemas;
