//! The shape of the machine, which stands beside every figure.

use std::fmt;
use std::fs;

use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processors: usize,
    pub(crate) cpu_model: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) system: &'static str,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease");
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_model: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text)),
            kernel: release.ok().map(|text| text.trim().to_owned()),
            system: std::env::consts::OS,
        }
    }
}

/// The first `model name : ..` of /proc/cpuinfo.
fn cpu_model(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, model) = line.split_once(':')?;
        (name.trim() == "model name").then(|| model.trim().to_owned())
    })
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.cpu_model.as_deref().unwrap_or("unknown CPU");
        let kernel = self.kernel.as_deref().unwrap_or("unknown version");
        write!(f, "{} processors, {model}, {} {kernel}", self.processors, self.system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        let text = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.00GHz\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Some CPU @ 2.00GHz"));
        assert_eq!(cpu_model("model : 85"), None);
    }
}
