//! Which key a benchmark reads next: uniform, or zipf with any exponent.
//!
//! Rank k of n ranks is drawn with probability proportional to `1 / k^theta`. Tables of sums would cost memory and a cache
//! miss per draw, and the popular approximation of YCSB needs the sum over all ranks first and is wrong for theta >= 1. So:
//! rejection-inversion (W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions", ACM TOMACS 6(3), 1996). `H(x)`, the integral of `x^-theta`, has a closed inverse; a point drawn uniformly
//! under it falls into the bar of one rank, and is rejected when it lies in the sliver between curve and bar. Exact for any
//! theta >= 0 and any n, constant memory, under 1.2 draws a sample on average.
//!
//! Invariants: the area drawn from is `(H(1.5) - 1, H(n + 0.5)]`, so that rank 1's bar, the highest, is cut to its own height
//! and never rejects more than it must; results lie in `1..=n`.

use std::str::FromStr;

use crate::random::Random;

/// How ranks are drawn, as the command line names it: `uniform` or `zipf:THETA`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every rank with the same probability.
    Uniform,
    /// Rank k with a probability proportional to `1 / k^theta`.
    Zipf(f64),
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let theta = text
            .strip_prefix("zipf:")
            .ok_or_else(|| format!("`{text}` is neither `uniform` nor `zipf:THETA`, for example zipf:0.99"))?;
        match theta.parse::<f64>() {
            Ok(theta) if (0.0..=10.0).contains(&theta) => Ok(Self::Zipf(theta)),
            _ => Err(format!("`{theta}` is no zipf exponent from 0 to 10, for example zipf:0.99")),
        }
    }
}

impl std::fmt::Display for Distribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(theta) => write!(f, "zipf:{theta}"),
        }
    }
}

/// Draws ranks `0..n`, rank 0 being the most popular.
#[derive(Clone, Debug)]
pub enum RankSampler {
    /// Over `0..ranks`.
    Uniform {
        /// The number of ranks.
        ranks: u64,
    },
    /// By the power law.
    Zipf(Zipf),
}

impl RankSampler {
    /// A sampler over `0..ranks`.
    pub fn new(distribution: Distribution, ranks: u64) -> Self {
        match distribution {
            Distribution::Uniform => Self::Uniform { ranks },
            Distribution::Zipf(theta) => Self::Zipf(Zipf::new(theta, ranks)),
        }
    }

    /// The next rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform { ranks } => random.below(*ranks),
            Self::Zipf(zipf) => zipf.draw(random) - 1,
        }
    }
}

/// The zipf distribution over `1..=ranks`.
#[derive(Clone, Debug)]
pub struct Zipf {
    integral: PowerIntegral,
    ranks: f64,
    /// The ends of the area drawn from.
    low: f64,
    high: f64,
    /// A point this close below its rank lies under the bar for sure: saves the second evaluation of the integral.
    sure: f64,
}

impl Zipf {
    /// The distribution with exponent `theta` over `1..=ranks`.
    pub fn new(theta: f64, ranks: u64) -> Self {
        let integral = PowerIntegral { theta, power: 1.0 - theta };
        let ranks = ranks.max(1) as f64;
        Self {
            low: integral.at(1.5) - 1.0,
            high: integral.at(ranks + 0.5),
            sure: 2.0 - integral.inverse(integral.at(2.5) - integral.density(2.0)),
            integral,
            ranks,
        }
    }

    /// The next rank.
    #[expect(clippy::cast_sign_loss, reason = "ranks are clamped to 1 and above")]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.low + random.unit() * (self.high - self.low);
            let x = self.integral.inverse(area);
            let rank = x.round().clamp(1.0, self.ranks);
            if rank - x <= self.sure || area >= self.integral.at(rank + 0.5) - self.integral.density(rank) {
                return rank as u64;
            }
        }
    }
}

/// The density `x^-theta`, its integral from 1, and the integral's inverse, all stable near theta = 1.
#[derive(Clone, Debug)]
struct PowerIntegral {
    theta: f64,
    /// 1 - theta.
    power: f64,
}

/// Below this the limit for theta = 1 is exact to double precision.
const NEARLY_ZERO: f64 = 1e-12;

impl PowerIntegral {
    fn density(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    fn at(&self, x: f64) -> f64 {
        let log = x.ln();
        if self.power.abs() < NEARLY_ZERO { log } else { (self.power * log).exp_m1() / self.power }
    }

    fn inverse(&self, area: f64) -> f64 {
        if self.power.abs() < NEARLY_ZERO {
            area.exp()
        } else {
            // Rounding may push the argument to the pole at -1.
            ((self.power * area).max(-1.0).ln_1p() / self.power).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws often and compares each rank's share with its probability.
    fn compare(theta: f64, ranks: u64) {
        const DRAWS: u32 = 200_000;
        let zipf = Zipf::new(theta, ranks);
        let mut random = Random::new(9);
        let mut counts = vec![0_u32; ranks as usize + 1];
        for _ in 0..DRAWS {
            counts[zipf.draw(&mut random) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let total: f64 = (1..=ranks).map(|k| (k as f64).powf(-theta)).sum();
        for (rank, &count) in counts.iter().enumerate().skip(1) {
            let expected = f64::from(DRAWS) * (rank as f64).powf(-theta) / total;
            let deviation = expected.sqrt();
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * deviation + 1.0,
                "theta {theta}, {ranks} ranks: rank {rank} drawn {count} times, expected {expected:.1}"
            );
        }
    }

    #[test]
    fn shares_follow_the_power_law() {
        for theta in [0.0, 0.5, 0.99, 1.0, 1.2, 3.0] {
            for ranks in [1, 2, 3, 100] {
                compare(theta, ranks);
            }
        }
    }

    #[test]
    fn large_sets_and_exponents_stay_in_range() {
        let mut random = Random::new(3);
        for theta in [0.0, 0.99, 1.0, 1.0 + 1e-13, 10.0] {
            let zipf = Zipf::new(theta, 1 << 40);
            for _ in 0..1000 {
                assert!((1..=1 << 40).contains(&zipf.draw(&mut random)));
            }
        }
    }

    #[test]
    fn a_name_gives_a_distribution() {
        assert_eq!("uniform".parse(), Ok(Distribution::Uniform));
        assert_eq!("zipf:0.99".parse(), Ok(Distribution::Zipf(0.99)));
        for wrong in ["zipf", "zipf:", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:11", "Uniform", ""] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
        assert_eq!(Distribution::Zipf(0.99).to_string(), "zipf:0.99");
    }
}
