//! The primitive encodings of the RocksDB formats: little-endian fixed-width integers, LEB128
//! varints, zigzag varints and length-prefixed slices.
//!
//! Decoding is by [`Reader`], a cursor over untrusted bytes. Every method returns `None` when the
//! bytes run out or an integer does not fit, and leaves it to the caller, who knows file and
//! offset, to make an error of that. Nothing here allocates while decoding or can panic.
//!
//! A varint32 takes at most 5 bytes and a varint64 at most 10. Encodings longer than needed
//! (`80 00` for 0) are accepted, as every reader of the format does; bits that do not fit are not.

/// A cursor over bytes that came from disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Bytes left.
    pub(crate) const fn len(&self) -> usize {
        self.rest.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    #[inline]
    pub(crate) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[b]| b)
    }

    #[inline]
    pub(crate) fn fixed16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn fixed32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn fixed64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn varint32(&mut self) -> Option<u32> {
        // Lengths within a block are nearly always below 128.
        if let [first @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Some(u32::from(*first));
        }
        let value = self.varint(5)?;
        u32::try_from(value).ok()
    }

    #[inline]
    pub(crate) fn varint64(&mut self) -> Option<u64> {
        if let [first @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Some(u64::from(*first));
        }
        self.varint(10)
    }

    fn varint(&mut self, max_bytes: u32) -> Option<u64> {
        let mut value = 0u64;
        for (i, &byte) in (0..max_bytes).zip(self.rest) {
            let group = u64::from(byte & 0x7f);
            let shift = 7 * i;
            // The tenth byte has room for a single bit.
            if (group << shift) >> shift != group {
                return None;
            }
            value |= group << shift;
            if byte < 0x80 {
                self.rest = self.rest.get(i as usize + 1..)?;
                return Some(value);
            }
        }
        None
    }

    /// A zigzag-coded signed integer.
    pub(crate) fn varsigned64(&mut self) -> Option<i64> {
        let n = self.varint64()?;
        Some((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    /// A varint32 length and that many bytes.
    pub(crate) fn length_prefixed(&mut self) -> Option<&'a [u8]> {
        let before = self.rest;
        let n = self.varint32()?;
        let slice = self.take(n as usize);
        if slice.is_none() {
            self.rest = before;
        }
        slice
    }
}

/// The little-endian `u32` at `offset` of `bytes`.
#[inline]
pub(crate) fn fixed32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Reader::new(bytes.get(offset..)?).fixed32()
}

/// The little-endian `u64` at `offset` of `bytes`.
#[inline]
pub(crate) fn fixed64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Reader::new(bytes.get(offset..)?).fixed64()
}

pub(crate) fn put_fixed16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_fixed32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_fixed64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_varint32(out: &mut Vec<u8>, value: u32) {
    put_varint64(out, u64::from(value));
}

pub(crate) fn put_varint64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
pub(crate) fn put_varsigned64(out: &mut Vec<u8>, value: i64) {
    put_varint64(out, (value << 1 ^ value >> 63).cast_unsigned());
}

/// # Panics
///
/// If `slice` is 4 GiB or longer: the format has no such slices, and callers bound theirs.
pub(crate) fn put_length_prefixed(out: &mut Vec<u8>, slice: &[u8]) {
    let len = u32::try_from(slice.len()).expect("slices of the format are below 4 GiB");
    put_varint32(out, len);
    out.extend_from_slice(slice);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_round_trip(v in any::<u64>(), shift in 0u32..64) {
            let v = v >> shift;
            let mut out = Vec::new();
            put_varint64(&mut out, v);
            prop_assert!(out.len() <= 10);
            let mut r = Reader::new(&out);
            prop_assert_eq!(r.varint64(), Some(v));
            prop_assert!(r.is_empty());
            let mut r = Reader::new(&out);
            prop_assert_eq!(r.varint32(), u32::try_from(v).ok());
        }

        #[test]
        fn signed_varints_round_trip(v in any::<i64>(), shift in 0u32..64) {
            let v = v >> shift;
            let mut out = Vec::new();
            put_varsigned64(&mut out, v);
            prop_assert_eq!(Reader::new(&out).varsigned64(), Some(v));
        }

        #[test]
        fn readers_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let mut r = Reader::new(&bytes);
            while r.varint64().is_some() {}
            let mut r = Reader::new(&bytes);
            while r.length_prefixed().is_some() {}
            let mut r = Reader::new(&bytes);
            while r.varint32().is_some() {}
        }
    }

    #[test]
    fn varints_that_do_not_fit_are_refused() {
        assert_eq!(Reader::new(&[0xff; 10]).varint64(), None);
        assert_eq!(Reader::new(&[0x80; 11]).varint64(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint32(), None);
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varint32(), Some(u32::MAX));
        assert_eq!(Reader::new(&[0x80, 0x00]).varint32(), Some(0));
        assert_eq!(Reader::new(&[0x80]).varint32(), None);
    }

    #[test]
    fn zigzag_alternates() {
        for (n, v) in [(0u8, 0i64), (1, -1), (2, 1), (3, -2)] {
            assert_eq!(Reader::new(&[n]).varsigned64(), Some(v));
        }
    }

    #[test]
    fn a_slice_longer_than_the_rest_is_refused() {
        let mut r = Reader::new(b"\x03ab");
        assert_eq!(r.length_prefixed(), None);
        assert_eq!(r.rest(), b"\x03ab");
        assert_eq!(Reader::new(b"\x02ab").length_prefixed(), Some(&b"ab"[..]));
    }
}
