//! Work in numbered parts over a few threads, with results in the order of the parts.
//!
//! [`map`] collects one result a part. [`stream`] is for parts whose output is large: each part writes chunks, and the caller's
//! thread consumes them in order, part by part, while later parts run ahead by a bounded number of chunks. Parts are started in
//! order, so the part that is consumed next is always running or done: nothing waits in a circle.
//!
//! With one thread, everything runs on the caller's thread, and so does a [`map`] of one part; a [`stream`] of one part is still
//! produced ahead of its consumer when there are several threads. The first failure, in the order of the parts, is
//! returned; when the consumer fails, producers stop at their next chunk.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::failure::{Failure, Result};

/// A chunk is handed over when it has grown to this many bytes.
const CHUNK: usize = 64 << 10;

/// Chunks that a part may be ahead of the consumer.
const AHEAD: usize = 4;

/// Runs `work` on the parts `0..count` and returns the results in order.
pub(crate) fn map<T, F>(count: usize, threads: u16, work: F) -> Result<Vec<T>>
where
    T: Send,
    F: Fn(usize) -> Result<T> + Sync,
{
    let threads = usize::from(threads).min(count);
    if threads <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(count));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let part = next.fetch_add(1, Ordering::Relaxed);
                    if part >= count {
                        break;
                    }
                    let result = work(part);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((part, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|&(part, _)| part);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The output of one part, handed over in chunks.
pub(crate) struct Chunks<'a> {
    buffer: Vec<u8>,
    deliver: &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
}

impl<'a> Chunks<'a> {
    fn new(deliver: &'a mut dyn FnMut(&mut Vec<u8>) -> Result<()>) -> Self {
        Self { buffer: Vec::with_capacity(CHUNK + CHUNK / 8), deliver }
    }

    /// Where the next row is written; call [`row_done`](Self::row_done) after it.
    pub(crate) fn row(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub(crate) fn row_done(&mut self) -> Result<()> {
        if self.buffer.len() < CHUNK { Ok(()) } else { (self.deliver)(&mut self.buffer) }
    }

    fn finish(mut self) -> Result<()> {
        if self.buffer.is_empty() { Ok(()) } else { (self.deliver)(&mut self.buffer) }
    }
}

/// Runs `produce` on the parts `0..count`, and `consume` on their chunks in order, on this thread.
pub(crate) fn stream<P, C>(count: usize, threads: u16, produce: P, mut consume: C) -> Result<()>
where
    P: Fn(usize, &mut Chunks<'_>) -> Result<()> + Sync,
    C: FnMut(&[u8]) -> Result<()>,
{
    // Rows that were made before a failure are delivered before it is returned.
    let run = |part: usize, deliver: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>| {
        let mut chunks = Chunks::new(deliver);
        let produced = produce(part, &mut chunks);
        let delivered = chunks.finish();
        produced.and(delivered)
    };
    if threads <= 1 {
        return (0..count).try_for_each(|part| {
            run(part, &mut |chunk| {
                consume(chunk)?;
                chunk.clear();
                Ok(())
            })
        });
    }
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| sync_channel::<Result<Vec<u8>>>(AHEAD)).unzip();
    let parts: Mutex<std::iter::Enumerate<std::vec::IntoIter<SyncSender<_>>>> =
        Mutex::new(senders.into_iter().enumerate());
    thread::scope(|scope| {
        for _ in 0..usize::from(threads).min(count) {
            scope.spawn(|| {
                loop {
                    let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((part, sender)) = next else { break };
                    let produced = run(part, &mut |chunk| {
                        // The consumer is gone: stop. Its own failure is the one that is returned.
                        sender.send(Ok(std::mem::take(chunk))).map_err(|_| Failure::BrokenPipe)
                    });
                    if let Err(failure) = produced {
                        let _ = sender.send(Err(failure));
                    }
                }
            });
        }
        // Ends early by dropping the receivers, which ends the producers.
        receivers.into_iter().flatten().try_for_each(|chunk| consume(&chunk?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for threads in [1, 2, 8] {
            let squares = map(20, threads, |part| Ok(part * part)).unwrap();
            assert_eq!(squares, (0..20).map(|n| n * n).collect::<Vec<_>>());
            assert!(map(0, threads, Ok).unwrap().is_empty());
        }
    }

    #[test]
    fn the_first_failure_in_order_is_returned() {
        let failed = map(9, 3, |part| if part % 2 == 1 { Err(Failure::usage(format!("part {part}"))) } else { Ok(()) });
        assert!(matches!(failed, Err(Failure::Said { message, .. }) if message == "part 1"));
    }

    #[test]
    fn streamed_parts_keep_their_order_whatever_their_size() {
        let rows = |part: usize| if part.is_multiple_of(2) { 3 } else { 40_000 };
        let row = |part: usize, row: usize| format!("{part} {row}\n");
        let expected: String = (0..5).flat_map(|part| (0..rows(part)).map(move |n| row(part, n))).collect();
        for threads in [1, 2, 4] {
            let mut got = Vec::new();
            stream(
                5,
                threads,
                |part, chunks| {
                    for n in 0..rows(part) {
                        chunks.row().extend_from_slice(row(part, n).as_bytes());
                        chunks.row_done()?;
                    }
                    Ok(())
                },
                |chunk| {
                    got.extend_from_slice(chunk);
                    Ok(())
                },
            )
            .unwrap();
            assert!(got == expected.as_bytes(), "{threads} threads");
        }
    }

    #[test]
    fn a_failing_consumer_ends_endless_producers() {
        for threads in [1, 2] {
            let outcome = stream(
                3,
                threads,
                |_, chunks| {
                    loop {
                        chunks.row().extend_from_slice(&[b'x'; 1000]);
                        chunks.row_done()?;
                    }
                },
                |_| Err(Failure::unavailable("full")),
            );
            assert!(matches!(outcome, Err(Failure::Said { message, .. }) if message == "full"));
        }
    }

    #[test]
    fn rows_before_a_failure_are_delivered() {
        for threads in [1, 2] {
            let mut got = Vec::new();
            let outcome = stream(
                2,
                threads,
                |part, chunks| {
                    chunks.row().extend_from_slice(b"row\n");
                    chunks.row_done()?;
                    if part == 1 { Err(Failure::usage("damaged")) } else { Ok(()) }
                },
                |chunk| {
                    got.extend_from_slice(chunk);
                    Ok(())
                },
            );
            assert!(matches!(outcome, Err(Failure::Said { message, .. }) if message == "damaged"));
            assert_eq!(got, b"row\nrow\n");
        }
    }
}
