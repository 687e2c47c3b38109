//! XXPH3: the hash behind the filters of format version 5 and later.
//!
//! It is a preview of XXH3 that RocksDB froze (xxHash 0.7.2); the released XXH3 gives other
//! results, with which a filter would deny keys that are there. Differences: how lengths up to 16
//! are mixed, the multiplier of the final avalanche, and that a long input's lanes take their own
//! word rather than their neighbour's. The secret is the same, and the seed is always 0.
//!
//! Cost: a few multiplications for keys up to 16 bytes, two per further 16 bytes up to 240.

use xxhash_rust::const_xxh3::const_custom_default_secret;

const SECRET: [u8; 192] = const_custom_default_secret(0);

const P32_1: u64 = 0x9e37_79b1;
const P32_2: u64 = 0x85eb_ca77;
const P32_3: u64 = 0xc2b2_ae3d;
const P64_1: u64 = 0x9e37_79b1_85eb_ca87;
const P64_2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P64_3: u64 = 0x1656_67b1_9e37_79f9;
const P64_4: u64 = 0x85eb_ca77_c2b2_ae63;
const P64_5: u64 = 0x27d4_eb2f_1656_67c5;

const STRIPE: usize = 64;
const STRIPES_PER_BLOCK: usize = 16;
const LAST_STRIPE_SECRET: usize = 121;
const SCRAMBLE_SECRET: usize = 128;

type Lanes = [u64; 8];

/// Reads the word at `at`. Callers keep `at` in range, given the lengths they branch on; past the
/// end it is 0.
#[inline]
fn r64(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from_le_bytes(*word),
        None => 0,
    }
}

#[inline]
fn r32(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(word) => u64::from(u32::from_le_bytes(*word)),
        None => 0,
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn avalanche(mut h: u64) -> u64 {
    h ^= h >> 37;
    h = h.wrapping_mul(P64_3);
    h ^ h >> 32
}

#[inline]
fn mix16(data: &[u8], at: usize, secret: usize) -> u64 {
    fold(r64(data, at) ^ r64(&SECRET, secret), r64(data, at + 8) ^ r64(&SECRET, secret + 8))
}

/// The 64-bit XXPH3 of `data`, seed 0.
#[inline]
pub(crate) fn xxph3_64(data: &[u8]) -> u64 {
    let n = data.len();
    let len = n as u64;
    match n {
        // RocksDB's own: the preview gave 0.
        0 => fold(r64(&SECRET, 0), P64_2),
        1..=3 => {
            let byte = |at: usize| data.get(at).copied().map_or(0, u64::from);
            let c = byte(0) | byte(n >> 1) << 8 | byte(n - 1) << 16 | len << 24;
            avalanche((c ^ r32(&SECRET, 0)).wrapping_mul(P64_1))
        }
        4..=8 => {
            let k = (r32(data, 0) | r32(data, n - 4) << 32) ^ r64(&SECRET, 0);
            let m = len.wrapping_add((k ^ k >> 51).wrapping_mul(P32_1));
            avalanche((m ^ m >> 47).wrapping_mul(P64_2))
        }
        9..=16 => {
            let low = r64(data, 0) ^ r64(&SECRET, 0);
            let high = r64(data, n - 8) ^ r64(&SECRET, 8);
            avalanche(len.wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)))
        }
        17..=128 => {
            let mut a = len.wrapping_mul(P64_1);
            for i in 0..n.div_ceil(32) {
                a = a.wrapping_add(mix16(data, 16 * i, 32 * i));
                a = a.wrapping_add(mix16(data, n - 16 * (i + 1), 32 * i + 16));
            }
            avalanche(a)
        }
        129..=240 => {
            let mut a = len.wrapping_mul(P64_1);
            for i in 0..8 {
                a = a.wrapping_add(mix16(data, 16 * i, 16 * i));
            }
            a = avalanche(a);
            for i in 8..n / 16 {
                a = a.wrapping_add(mix16(data, 16 * i, 16 * (i - 8) + 3));
            }
            avalanche(a.wrapping_add(mix16(data, n - 16, 119)))
        }
        _ => long(data),
    }
}

fn stripe(lanes: &mut Lanes, data: &[u8], secret: usize) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let value = r64(data, 8 * i);
        let keyed = value ^ r64(&SECRET, secret + 8 * i);
        let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
        *lane = lane.wrapping_add(value).wrapping_add(product);
    }
}

fn long(data: &[u8]) -> u64 {
    let mut lanes: Lanes = [P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1];
    let blocks = data.chunks_exact(STRIPE * STRIPES_PER_BLOCK);
    let rest = blocks.remainder();
    for block in blocks {
        for (r, bytes) in block.chunks_exact(STRIPE).enumerate() {
            stripe(&mut lanes, bytes, 8 * r);
        }
        for (i, lane) in lanes.iter_mut().enumerate() {
            let keyed = (*lane ^ *lane >> 47) ^ r64(&SECRET, SCRAMBLE_SECRET + 8 * i);
            *lane = keyed.wrapping_mul(P32_1);
        }
    }
    for (r, bytes) in rest.chunks_exact(STRIPE).enumerate() {
        stripe(&mut lanes, bytes, 8 * r);
    }
    if !data.len().is_multiple_of(STRIPE) {
        let last = data.len() - STRIPE;
        stripe(&mut lanes, data.get(last..).unwrap_or_default(), LAST_STRIPE_SECRET);
    }
    let mut sum = (data.len() as u64).wrapping_mul(P64_1);
    for (j, pair) in lanes.chunks_exact(2).enumerate() {
        if let [a, b] = pair {
            sum = sum.wrapping_add(fold(a ^ r64(&SECRET, 11 + 16 * j), b ^ r64(&SECRET, 19 + 16 * j)));
        }
    }
    avalanche(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors() {
        let x = [b'x'; 100];
        let y = [b'y'; 200];
        let z = [b'z'; 1000];
        let vectors: [(&[u8], u64); 10] = [
            (b"", 0x5342_c301_0fe1_dd04),
            (b"a", 0x88d8_68bf_6076_81c7),
            (b"abc", 0xd39e_eb71_bb53_42e8),
            (b"apple", 0x4775_9960_6c28_7630),
            (b"banana", 0x45f4_1cf3_da65_18b5),
            (b"key000000", 0xc42d_c166_a6dd_1c90),
            (b"0123456789abcdef0", 0x2a46_d2a5_399b_9114),
            (&x, 0x33d6_819f_258f_cb22),
            (&y, 0xfc59_373c_c629_8693),
            (&z, 0xa66d_8e07_6bba_0601),
        ];
        for (data, expected) in vectors {
            assert_eq!(xxph3_64(data), expected, "{} bytes: {:?}", data.len(), data.first());
        }
    }

    #[test]
    fn every_length_reads_all_its_bytes() {
        // A change in any byte changes the hash, at every length where the method changes.
        for n in (1..300).chain([1023, 1024, 1025, 1088, 2048, 2100]) {
            let data = vec![7u8; n];
            let plain = xxph3_64(&data);
            for at in [0, n / 3, n / 2, n - 1] {
                let mut changed = data.clone();
                changed[at] ^= 1;
                assert_ne!(xxph3_64(&changed), plain, "byte {at} of {n}");
            }
        }
    }
}
