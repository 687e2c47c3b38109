//! Keys and values as text: read from arguments, written to a terminal or a file.
//!
//! Three forms. `hex` is exact and what `ldb --hex` of RocksDB prints: `0x` and upper-case digits. `tsv` is the same without
//! `0x`, with long runs of one byte cut to `len:N:byte:HH`. `plain` is for eyes: UTF-8 as it is, everything that would break
//! a line or hide (control characters, broken UTF-8) escaped, and the backslash doubled so that escapes cannot be mistaken.

use std::borrow::Cow;
use std::io::{self, Write};

/// Values longer than this, all of one byte, are abbreviated in the tsv form.
const UNIFORM_LIMIT: usize = 4096;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Writes upper-case hexadecimal digits.
pub(crate) fn write_hex(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut buffer = [0_u8; 256];
    for chunk in bytes.chunks(buffer.len() / 2) {
        for (pair, byte) in buffer.chunks_exact_mut(2).zip(chunk) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 0xF)];
        }
        out.write_all(&buffer[..chunk.len() * 2])?;
    }
    Ok(())
}

/// Upper-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        digits.push(char::from(DIGITS[usize::from(byte >> 4)]));
        digits.push(char::from(DIGITS[usize::from(byte & 0xF)]));
    }
    digits
}

/// Writes a value in the tsv form.
pub(crate) fn write_tsv_value(out: &mut impl Write, value: &[u8]) -> io::Result<()> {
    match value.first() {
        Some(first) if value.len() > UNIFORM_LIMIT && value.iter().all(|byte| byte == first) => {
            write!(out, "len:{}:byte:{first:02X}", value.len())
        }
        _ => write_hex(out, value),
    }
}

/// Writes bytes for a person to read.
pub(crate) fn write_plain(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|c: char| c.is_control() || c == '\\') {
            let (clean, tail) = rest.split_at(at);
            out.write_all(clean.as_bytes())?;
            let mut characters = tail.chars();
            match characters.next() {
                Some('\n') => out.write_all(b"\\n")?,
                Some('\r') => out.write_all(b"\\r")?,
                Some('\t') => out.write_all(b"\\t")?,
                Some('\\') => out.write_all(b"\\\\")?,
                Some(control) => {
                    for byte in control.encode_utf8(&mut [0; 4]).bytes() {
                        write!(out, "\\x{byte:02X}")?;
                    }
                }
                None => {}
            }
            rest = characters.as_str();
        }
        out.write_all(rest.as_bytes())?;
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02X}")?;
        }
    }
    Ok(())
}

/// How a command reads and prints keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Hex,
}

impl Form {
    pub(crate) fn new(hex: bool) -> Self {
        if hex { Self::Hex } else { Self::Plain }
    }

    /// Reads a key of the command line.
    pub(crate) fn read(self, text: &str) -> Result<Cow<'_, [u8]>, String> {
        match self {
            Self::Plain => Ok(Cow::Borrowed(text.as_bytes())),
            Self::Hex => parse_hex(text).map(Cow::Owned),
        }
    }

    pub(crate) fn write(self, out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain => write_plain(out, bytes),
            Self::Hex => {
                out.write_all(b"0x")?;
                write_hex(out, bytes)
            }
        }
    }

    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let mut shown = Vec::new();
        // Writing to a vector does not fail, and both forms are UTF-8.
        let _ = self.write(&mut shown, bytes);
        String::from_utf8_lossy(&shown).into_owned()
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is no key for --hex: write 0x and two digits a byte, for example 0x6B6579");
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).ok_or_else(wrong)?;
    if digits.len() % 2 != 0 {
        return Err(wrong());
    }
    let nibble = |digit: u8| char::from(digit).to_digit(16);
    digits
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| Some((nibble(pair[0])? << 4 | nibble(pair[1])?) as u8))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> String {
        Form::Plain.show(bytes)
    }

    #[test]
    fn plain_text_stays_and_the_rest_is_escaped() {
        assert_eq!(plain(b"key000001"), "key000001");
        assert_eq!(plain("grün".as_bytes()), "grün");
        assert_eq!(plain(b""), "");
        assert_eq!(plain(b"a\nb\tc\rd\\e"), "a\\nb\\tc\\rd\\\\e");
        assert_eq!(plain(&[0, 7, b'x', 0xFF, 0xC3]), "\\x00\\x07x\\xFF\\xC3");
        assert_eq!(plain("\u{85}".as_bytes()), "\\xC2\\x85");
    }

    #[test]
    fn hex_goes_both_ways() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let shown = Form::Hex.show(&bytes);
        assert!(shown.starts_with("0x000102"));
        assert_eq!(shown[2..], hex(&bytes));
        assert_eq!(Form::Hex.read(&shown).unwrap(), bytes);
        assert_eq!(Form::Hex.read("0xaBcD").unwrap().as_ref(), [0xAB, 0xCD]);
        assert_eq!(Form::Hex.read("0x").unwrap().as_ref(), b"");
        for wrong in ["", "6B", "0x6", "0xGG", "0x+1", "0xé"] {
            assert!(Form::Hex.read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_runs_of_one_byte_are_cut_in_tsv() {
        let shown = |value: &[u8]| {
            let mut out = Vec::new();
            write_tsv_value(&mut out, value).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(shown(&vec![0x5A; 100_000]), "len:100000:byte:5A");
        assert_eq!(shown(&[0x0A; 4097]), "len:4097:byte:0A");
        assert_eq!(shown(&[0x5A; 4096]), "5A".repeat(4096));
        let mut mixed = vec![0x5A; 5000];
        mixed[4999] = 0;
        assert_eq!(shown(&mixed), format!("{}00", "5A".repeat(4999)));
        assert_eq!(shown(b""), "");
    }
}
