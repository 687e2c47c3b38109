//! A tiered, low-contention **block cache for storage engines**.
mod api;
pub use api::*;
