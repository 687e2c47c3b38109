//! Runs many damages of one file, watched: a case that panics, hangs or answers wrongly is named.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::damage::Damage;
use crate::probe::Outcome;

/// A single case takes about a millisecond.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the cases of a campaign ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) right: usize,
    pub(crate) refused: usize,
}

/// Runs `case` on every damage.
///
/// # Panics
///
/// With the damage and what it did, at the first case that panics, gives a wrong answer or does not end.
pub(crate) fn run(
    name: &str,
    damages: Vec<Damage>,
    case: impl Fn(Damage) -> Result<Outcome, String> + Send + 'static,
) -> Tally {
    let current = Arc::new(AtomicUsize::new(0));
    let damages = Arc::new(damages);
    let (done, result) = channel();
    let tally = Arc::new(Mutex::new(Tally::default()));
    let worker = {
        let (current, damages, tally) = (Arc::clone(&current), Arc::clone(&damages), Arc::clone(&tally));
        move || {
            for (index, &damage) in damages.iter().enumerate() {
                current.store(index, Ordering::Relaxed);
                let outcome = catch_unwind(AssertUnwindSafe(|| case(damage)));
                let problem = match outcome {
                    Ok(Ok(Outcome::Right)) => {
                        tally.lock().unwrap().right += 1;
                        continue;
                    }
                    Ok(Ok(Outcome::Refused(_))) => {
                        tally.lock().unwrap().refused += 1;
                        continue;
                    }
                    Ok(Err(wrong)) => wrong,
                    Err(_) => "panic".to_owned(),
                };
                let _ = done.send(Some(format!("{damage}: {problem}")));
                return;
            }
            let _ = done.send(None);
        }
    };
    std::thread::spawn(worker);

    let mut last = (usize::MAX, Instant::now());
    loop {
        match result.recv_timeout(Duration::from_millis(200)) {
            Ok(None) => return *tally.lock().unwrap(),
            Ok(Some(problem)) => panic!("{name}: {problem}"),
            Err(RecvTimeoutError::Disconnected) => panic!("{name}: the worker died"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let index = current.load(Ordering::Relaxed);
        if index != last.0 {
            last = (index, Instant::now());
        }
        assert!(last.1.elapsed() < PATIENCE, "{name}: {} does not end", damages[index]);
    }
}
