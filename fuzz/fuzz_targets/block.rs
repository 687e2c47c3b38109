//! Fuzzes the body of a data block, read forward, backward and by seeks.
#![no_main]

use hyperclock_sst::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzzing::block(data));
