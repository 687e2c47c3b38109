//! Progress of long work, on standard error and only on a terminal.
//!
//! A bar appears when the work has run for a second, so that short commands stay quiet, and vanishes at the end. Callers
//! report as often as they like, from any thread; drawing is limited to ten times a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Quiet for this long.
const PATIENCE: Duration = Duration::from_secs(1);

const DRAWS_PER_SECOND: u8 = 10;

pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// Work whose end is known: `total` of `unit`.
    pub(crate) fn of(doing: &'static str, unit: &str, total: u64) -> Self {
        let template = format!("{{msg}} {{bar:32}} {{human_pos}} of {{human_len}} {unit}, {{eta}} to go");
        Self::new(doing, &template, Some(total))
    }

    /// Work whose end is not known.
    pub(crate) fn open(doing: &'static str, unit: &str) -> Self {
        Self::new(doing, &format!("{{spinner}} {{msg}} {{human_pos}} {unit}, {{elapsed}}"), None)
    }

    fn new(doing: &'static str, template: &str, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(doing);
        Self { bar, begun: Instant::now(), shown: AtomicBool::new(false) }
    }

    pub(crate) fn set(&self, position: u64) {
        self.bar.set_position(position);
        self.show_when_due();
    }

    pub(crate) fn add(&self, more: u64) {
        self.bar.inc(more);
        self.show_when_due();
    }

    fn show_when_due(&self) {
        if !self.shown.load(Ordering::Relaxed)
            && self.begun.elapsed() >= PATIENCE
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            // Stays hidden where standard error is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
