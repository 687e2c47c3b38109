//! Fuzzes filter blocks of every kind, asked for keys.
#![no_main]

use hyperclock_sst::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::filter(data));
