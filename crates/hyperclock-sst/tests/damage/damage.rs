//! Ways to damage a file, and which of them a run tries.

use std::fmt;

/// One damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Byte `offset` becomes `byte`.
    Set { offset: usize, byte: u8 },
    /// The file ends after `length` bytes.
    Truncate { length: usize },
}

impl Damage {
    pub(crate) fn apply(self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        match self {
            Self::Set { offset, byte } => bytes[offset] = byte,
            Self::Truncate { length } => bytes.truncate(length),
        }
        bytes
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { offset, byte } => write!(f, "byte {offset} set to {byte:#04x}"),
            Self::Truncate { length } => write!(f, "cut to {length} bytes"),
        }
    }
}

/// All damages of `bytes`: at every offset each of 8 bit flips, 0x00 and 0xFF, as far as they change it, and every
/// shorter length. With a `stride` above 1, only every stride-th of them.
pub(crate) fn all(bytes: &[u8], stride: usize) -> Vec<Damage> {
    let mut damages = Vec::new();
    for (offset, &old) in bytes.iter().enumerate() {
        let flips = (0..8).map(|bit| old ^ (1 << bit));
        let mut values: Vec<u8> = flips.chain([0x00, 0xff]).filter(|&byte| byte != old).collect();
        values.sort_unstable();
        values.dedup();
        damages.extend(values.into_iter().map(|byte| Damage::Set { offset, byte }));
        damages.push(Damage::Truncate { length: offset });
    }
    // An odd stride meets every bit, as there are about ten damages an offset.
    damages.into_iter().step_by(stride).collect()
}
