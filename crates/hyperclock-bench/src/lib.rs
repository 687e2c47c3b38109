//! Benchmark loops for block caches, generic over the cache under test.
//!
//! # The problem
//!
//! Two caches can be compared only if the same loop ran on both: the same keys in the same order, drawn at the same cost, the
//! same values, the same threads, the same clock. So every loop is here once, over the small traits [`ReadCache`] and
//! [`Cache`], and whatever is measured, by the `hyperclock` command or beside other caches, is measured by it.
//!
//! # The idea
//!
//! A [`Workload`](runner::Workload) makes one operation; the [`runner`] repeats it on several threads, once without looking at a
//! clock for the rate, and once timing one operation in 64 for the latencies. The modules [`hits`], [`hot`], [`churn`],
//! [`mixed`], [`kudu`] and [`instances`] are the workloads, each with its settings and its report. All of it compiles to one
//! loop per cache: no trait object, no branch on the kind of cache.
//!
//! What keeps a value alive is taken and dropped on every hit, as an engine does that reads a block: a handle where the cache
//! has them, a clone of an `Arc` where it has not.
//!
//! # Where things are
//!
//! [`cache`] has the traits and what a cache is built from, [`block`] the values, [`clock`] hyperclock itself behind the traits;
//! [`random`], [`zipf`] and [`draws`] choose keys; [`latency`], [`memory`], [`report`] and [`table`] are about the figures; [`start`] starts threads, all or none.

#![forbid(unsafe_code)]

pub mod block;
pub mod cache;
pub mod churn;
pub mod clock;
pub mod draws;
pub mod hits;
pub mod hot;
pub mod instances;
pub mod kudu;
pub mod latency;
pub mod memory;
pub mod mixed;
pub mod random;
pub mod report;
pub mod runner;
pub mod start;
pub mod table;
pub mod zipf;

pub use block::{Block, Buffer, Inline};
pub use cache::{Cache, CacheSettings, ReadCache};
pub use clock::HyperClock;
