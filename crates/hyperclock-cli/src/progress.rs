//! Progress of long work, on standard error and only on a terminal.
//!
//! A bar appears when the work has run for a second, so that short commands stay quiet, and vanishes at the end. Callers
//! report as often as they like, from any thread; drawing is limited to ten times a second.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
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

/// Progress of one call that reports nothing: a spinner, by a thread of its own, once the call has run for a second.
pub(crate) struct Waiting {
    /// Its end ends the thread. Both are absent where standard error is no terminal.
    call: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Waiting {
    pub(crate) fn new(doing: &'static str) -> Self {
        let call = io::stderr().is_terminal().then(|| {
            let (call, ended) = channel();
            let watcher = thread::Builder::new().spawn(move || {
                if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    let bar = ProgressBar::new_spinner().with_message(doing);
                    bar.enable_steady_tick(Duration::from_secs(1) / u32::from(DRAWS_PER_SECOND));
                    // An error is what the end of the call looks like.
                    let _ = ended.recv();
                    bar.finish_and_clear();
                }
            });
            // Where the system has no thread left, there is no spinner.
            Some((call, watcher.ok()?))
        });
        Self { call: call.flatten() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some((call, watcher)) = self.call.take() {
            drop(call);
            // Waits for the line to be cleared; a spinner that panicked is not worth a failure.
            let _ = watcher.join();
        }
    }
}
