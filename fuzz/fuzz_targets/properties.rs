//! Fuzzes a properties block.
#![no_main]

use hyperclock_sst::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::properties(data));
