//! How much memory this process holds, and how much there is, as the operating system counts it.

/// Resident bytes of this process, or `None` where the system does not tell (anything but Linux).
pub fn resident_bytes() -> Option<u64> {
    field(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Bytes of the machine's memory, or `None` where the system does not tell (anything but Linux).
pub fn physical_bytes() -> Option<u64> {
    field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The value in bytes of a `Name:   N kB` line.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_found_and_converted() {
        let status = "Name:\thyperclock\nVmHWM:\t   20 kB\nVmRSS:\t   12 kB\n";
        assert_eq!(field(status, "VmRSS:"), Some(12 << 10));
        assert_eq!(field(status, "VmSwap:"), None);
        assert_eq!(field("VmRSS: many kB", "VmRSS:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_some() {
        assert!(resident_bytes().unwrap() > 100 << 10);
        assert!(physical_bytes().unwrap() > resident_bytes().unwrap());
    }
}
