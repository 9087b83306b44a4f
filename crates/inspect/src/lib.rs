//! State in a checkpoint as SQL tables.
