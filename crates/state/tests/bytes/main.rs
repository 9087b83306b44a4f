//! What keys and values look like as bytes.

mod codecs;
mod data;
mod fixture;
mod key_fixture;
mod key_order;
mod schemas;
