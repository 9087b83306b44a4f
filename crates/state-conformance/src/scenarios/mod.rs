//! The scenarios, one module per part of the contract. Each takes the backend's fixture and panics where the backend
//! differs from the contract.

pub mod canonical;
pub mod carried;
pub mod cursors;
pub mod damage;
pub mod expiry;
pub mod expiry_model;
pub mod incremental;
pub mod merges;
pub mod model;
pub mod readers;
pub mod reads;
pub mod registrations;
pub mod rescales;
pub mod restores;
pub mod scans;
pub mod snapshots;
pub mod writes;
