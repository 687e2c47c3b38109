//! Fuzzes the framing of a MANIFEST and of a write-ahead log.
#![no_main]

use hyperclock_sst::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::log(data));
