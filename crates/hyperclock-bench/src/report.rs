//! What every workload's report has in common.

use serde::Serialize;

use crate::runner::{Figures, Length, Plan};

/// The settings of who runs and for how long, as reports show them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanSettings {
    /// Threads.
    pub threads: u16,
    /// Operations of each thread and pass, where they were given.
    pub ops_per_thread: Option<u64>,
    /// Length of each pass, where it was given.
    pub duration_seconds: Option<f64>,
    /// Seed of everything drawn.
    pub seed: u64,
}

impl From<&Plan> for PlanSettings {
    fn from(plan: &Plan) -> Self {
        let (ops_per_thread, duration_seconds) = match plan.length {
            Length::Operations(count) => (Some(count), None),
            Length::Time(time) => (None, Some(time.as_secs_f64())),
        };
        Self { threads: plan.threads, ops_per_thread, duration_seconds, seed: plan.seed }
    }
}

/// The report of a workload with settings `S`.
#[derive(Clone, Debug, Serialize)]
pub struct Report<S> {
    /// The workload's name.
    pub workload: &'static str,
    /// Rate and latencies.
    #[serde(flatten)]
    pub figures: Figures,
    /// Entries in the cache at the end.
    pub entries: u64,
    /// Memory of the process at the end; null where the system does not tell.
    pub rss_bytes: Option<u64>,
    /// Memory of the process that each entry costs beyond its value's bytes, where the workload can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes_per_entry: Option<f64>,
    /// The workload's settings.
    pub settings: S,
}
