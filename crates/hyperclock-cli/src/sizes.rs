//! Sizes and durations as a user writes and reads them.
//!
//! A size is a whole number with one of the units `B`, `KiB`, `MiB`, `GiB`, or without a unit in bytes. Nothing else is
//! taken: `10M` may mean two things, and a benchmark with the wrong cache is worse than an error.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];

/// Parses a size in bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let (digits, unit) =
        UNITS.iter().find_map(|&(name, unit)| trimmed.strip_suffix(name).map(|d| (d, unit))).unwrap_or((trimmed, 1));
    let digits = digits.trim_end();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("`{text}` is no size: write a whole number and B, KiB, MiB or GiB, for example 64MiB"));
    }
    digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(|| format!("`{text}` is more than 2^64 - 1 bytes"))
}

/// A size that fits the address space.
pub(crate) fn parse_memory_size(text: &str) -> Result<usize, String> {
    usize::try_from(parse_size(text)?).map_err(|_| format!("`{text}` does not fit into this machine's address space"))
}

/// A size of at least one byte that fits the address space.
pub(crate) fn parse_some_memory(text: &str) -> Result<usize, String> {
    match parse_memory_size(text)? {
        0 => Err(format!("`{text}` is nothing: write a size of at least 1 byte")),
        bytes => Ok(bytes),
    }
}

/// Parses a duration in seconds, with or without `s`.
pub(crate) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let digits = text.strip_suffix('s').unwrap_or(text);
    match digits.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("`{text}` is no duration: write seconds above 0 and up to 1000000, for example 10 or 0.5")),
    }
}

/// Parses a share in percent.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err(format!("`{text}` is no percentage from 0 to 100")),
    }
}

/// Parses a share from 0 to 1.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("`{text}` is no share from 0 to 1, for example 0.5")),
    }
}

/// Parses a share above 0 and up to 1.
pub(crate) fn parse_share_above_zero(text: &str) -> Result<f64, String> {
    match parse_share(text)? {
        share if share > 0.0 => Ok(share),
        _ => Err(format!("`{text}` is no share above 0 and up to 1, for example 0.25")),
    }
}

/// A size for a person: three or four digits and a unit.
pub(crate) fn show_size(bytes: u64) -> String {
    let (name, unit) = match bytes {
        0..0x400 => return format!("{bytes} B"),
        0x400..0x10_0000 => UNITS[0],
        0x10_0000..0x4000_0000 => UNITS[1],
        _ => UNITS[2],
    };
    format!("{:.1} {name}", bytes as f64 / unit as f64)
}

/// A count for a person, in groups of three digits.
pub(crate) fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A count and what is counted, of which there may be one.
pub(crate) fn show_number(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", show_count(count), if count == 1 { one } else { several })
}

/// A rate for a person, without its fraction.
#[expect(clippy::cast_sign_loss, reason = "rates are not negative, and would show as 0 if they were")]
pub(crate) fn show_rate(rate: f64) -> String {
    show_count(rate.round() as u64)
}

/// A latency for a person.
pub(crate) fn show_latency(nanoseconds: u64) -> String {
    let [shown] = show_latencies([nanoseconds]);
    shown
}

/// Latencies for a person who compares them: all in the unit of the longest.
pub(crate) fn show_latencies<const N: usize>(nanoseconds: [u64; N]) -> [String; N] {
    let longest = nanoseconds.iter().copied().max().unwrap_or(0);
    nanoseconds.map(|latency| match longest {
        0..10_000 => format!("{latency} ns"),
        10_000..10_000_000 => format!("{:.1} us", latency as f64 / 1e3),
        _ => format!("{:.1} ms", latency as f64 / 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units_or_none() {
        assert_eq!(parse_size("0"), Ok(0));
        assert_eq!(parse_size("4097"), Ok(4097));
        assert_eq!(parse_size("12B"), Ok(12));
        assert_eq!(parse_size("64 KiB"), Ok(64 << 10));
        assert_eq!(parse_size("32MiB"), Ok(32 << 20));
        assert_eq!(parse_size("3GiB"), Ok(3 << 30));
        assert_eq!(parse_size("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn other_sizes_are_refused_with_an_example() {
        for wrong in ["", "MiB", "10M", "10MB", "10mib", "-1", "1.5GiB", "1e6", "0x10", "ten", "1 2", "+5"] {
            let message = parse_size(wrong).unwrap_err();
            assert!(message.contains("64MiB"), "{wrong}: {message}");
        }
        assert!(parse_size("18446744073709551616").unwrap_err().contains("2^64"));
        assert!(parse_size("99999999999GiB").unwrap_err().contains("2^64"));
    }

    #[test]
    fn durations_and_shares_have_bounds() {
        assert_eq!(parse_seconds("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_seconds("0.5s"), Ok(Duration::from_millis(500)));
        for wrong in ["0", "-1", "nan", "inf", "1e9", "", "s", "1m"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_percent("12.5"), Ok(12.5));
        assert_eq!(parse_percent("100%"), Ok(100.0));
        assert!(parse_percent("101").is_err());
        assert_eq!(parse_share("0.5"), Ok(0.5));
        assert!(parse_share("1.1").is_err());
        assert!(parse_share("nan").is_err());
        assert_eq!(parse_share_above_zero("1"), Ok(1.0));
        assert!(parse_share_above_zero("0").is_err());
        assert!(parse_share_above_zero("2").is_err());
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(show_size(1023), "1023 B");
        assert_eq!(show_size(1 << 20), "1.0 MiB");
        assert_eq!(show_size(1536), "1.5 KiB");
        assert_eq!(show_size(5 << 30), "5.0 GiB");
        assert_eq!(show_count(0), "0");
        assert_eq!(show_count(999), "999");
        assert_eq!(show_count(1_234_567), "1,234,567");
        assert_eq!(show_latency(950), "950 ns");
        assert_eq!(show_latency(12_300), "12.3 us");
        assert_eq!(show_latency(12_300_000), "12.3 ms");
        assert_eq!(show_latencies([950, 12_300]), ["0.9 us", "12.3 us"]);
        assert_eq!([show_number(1, "row", "rows"), show_number(1200, "row", "rows")], ["1 row", "1,200 rows"]);
    }
}
