//! Threads that start together, or not at all.
//!
//! The system may refuse a thread when others run already: there is a limit on processes, and each stack takes address space.
//! Threads that wait for one that never comes would wait for ever. So they wait at a [`Gate`] that can be cancelled, by the
//! thread that starts them when a start fails, and by each of them when it panics.
//!
//! A thread that finds no memory at its beginning ends the process, so it must not come to that: threads are started one by one,
//! each when the one before waits at the gate, and only where there is room for its stack and for what all of them will need. None
//! does anything else before all have been started.

use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// Bytes that must be free for a thread to start. More than its stack takes: an allocator gives back what is larger than
/// 32 MiB, so that asking for it asks the system.
const ROOM: usize = 33 << 20;

/// Bytes that must be free besides, for each of the threads.
const ROOM_OF_EACH: usize = 512 << 10;

/// The system refused a thread.
#[derive(Debug)]
pub struct CannotStart {
    /// How many were to run at once.
    pub threads: usize,
    source: io::Error,
}

impl CannotStart {
    /// So many threads could not run at once, because of this.
    pub fn new(threads: usize, source: io::Error) -> Self {
        Self { threads, source }
    }
}

impl fmt::Display for CannotStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot start {} threads: lower --threads ({})", self.threads, self.source)
    }
}

impl Error for CannotStart {}

#[derive(Debug)]
struct State {
    missing: usize,
    cancelled: bool,
}

/// Opens when so many threads wait at it, and lets all go on. Used once.
#[derive(Debug)]
pub struct Gate {
    state: Mutex<State>,
    /// Told when the gate opens or is cancelled.
    opened: Condvar,
    /// Told when a thread has come.
    came: Condvar,
}

impl Gate {
    /// A gate for so many threads.
    pub fn new(threads: usize) -> Self {
        Self {
            state: Mutex::new(State { missing: threads, cancelled: false }),
            opened: Condvar::new(),
            came: Condvar::new(),
        }
    }

    /// Waits for the others; false if the gate is cancelled.
    pub fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.missing = state.missing.saturating_sub(1);
        self.came.notify_one();
        if state.missing == 0 {
            self.opened.notify_all();
        }
        let state = self
            .opened
            .wait_while(state, |state| state.missing > 0 && !state.cancelled)
            .unwrap_or_else(PoisonError::into_inner);
        !state.cancelled
    }

    /// Waits until so many others do; for one caller.
    fn wait_for(&self, threads: usize, of: usize) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State| state.missing + threads > of && !state.cancelled;
        drop(self.came.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets go whoever waits or will wait, to end.
    pub fn cancel(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).cancelled = true;
        self.opened.notify_all();
        self.came.notify_one();
    }

    /// Cancels the gate if the calling thread panics before this is dropped.
    pub fn cancel_on_panic(&self) -> impl Drop {
        CancelOnPanic(self)
    }
}

struct CancelOnPanic<'a>(&'a Gate);

impl Drop for CancelOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}

/// Runs `work` on so many threads, which get their number, once all of them have been started. The result of a thread is
/// `None` only where the gate was cancelled.
///
/// `gate` is one for `threads + 1`.
///
/// # Errors
/// When the system refuses a thread: then the ones before it end without running `work`.
pub fn start_all<'scope, T, F>(
    scope: &'scope Scope<'scope, '_>,
    gate: &'scope Gate,
    threads: u16,
    work: &'scope F,
) -> Result<Vec<ScopedJoinHandle<'scope, Option<T>>>, CannotStart>
where
    T: Send + 'scope,
    F: Fn(u16) -> T + Sync,
{
    start_with(gate, threads, |index| Builder::new().spawn_scoped(scope, move || gate.wait().then(|| work(index))))
}

fn start_with<H>(
    gate: &Gate,
    threads: u16,
    mut start: impl FnMut(u16) -> io::Result<H>,
) -> Result<Vec<H>, CannotStart> {
    let all = usize::from(threads);
    let room = ROOM + all * ROOM_OF_EACH;
    let one = |index: u16| {
        check_room(room)?;
        let handle = start(index)?;
        gate.wait_for(usize::from(index) + 1, all + 1);
        Ok(handle)
    };
    let handles = (0..threads).map(one).collect::<io::Result<Vec<_>>>();
    match handles {
        Ok(handles) => {
            gate.wait();
            Ok(handles)
        }
        Err(error) => {
            gate.cancel();
            Err(CannotStart::new(all, error))
        }
    }
}

/// Fails if there are not so many bytes; takes none.
fn check_room(bytes: usize) -> io::Result<()> {
    let mut room = Vec::<u8>::new();
    room.try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
    drop(black_box(room));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn all_run_with_their_numbers() {
        let gate = Gate::new(4);
        let work = |index| index;
        let numbers: Vec<_> = thread::scope(|scope| {
            let handles = start_all(scope, &gate, 3, &work).unwrap();
            handles.into_iter().map(|handle| handle.join().unwrap().unwrap()).collect()
        });
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn a_refused_thread_releases_the_others_without_their_work() {
        let gate = Gate::new(6);
        let worked = AtomicU32::new(0);
        let outcome = thread::scope(|scope| {
            start_with(&gate, 5, |index| {
                if index == 3 {
                    return Err(io::Error::from(io::ErrorKind::WouldBlock));
                }
                Builder::new().spawn_scoped(scope, || {
                    if gate.wait() {
                        worked.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .map(|_| ())
        });
        assert!(outcome.unwrap_err().to_string().contains("cannot start 5 threads: lower --threads"));
        assert_eq!(worked.into_inner(), 0);
    }

    #[test]
    fn a_panic_before_the_gate_releases_the_others() {
        let gate = Gate::new(2);
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _guard = gate.cancel_on_panic();
                std::panic::resume_unwind(Box::new("early"));
            });
            assert!(!gate.wait());
            assert!(panics.join().is_err());
        });
    }
}
