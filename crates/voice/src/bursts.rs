//! Clustering of losses: the burst ratio of G.107, and the bursts and gaps of RTCP XR (RFC 3611,
//! section 4.7.2 and appendix A.2).
//!
//! BurstR is the mean length of a run of losses, divided by the mean length 1 / (1 - p) for random
//! losses with the same loss ratio p (G.107, clause 7.5).
//!
//! RFC 3611 divides a stream into bursts, in which many packets are lost, and gaps, in which each
//! loss has at least Gmin = 16 received packets on both sides. The fields c11 to c33 are the
//! counters of appendix A.2: packets received in a gap (c11), losses that begin a burst (c13),
//! isolated losses (c14), and pairs of consecutive packets within a burst (c22: both received, c23:
//! one received and one lost, c33: both lost).

/// The parameter Gmin of RFC 3611, section 4.7.2.
pub const GMIN: u32 = 16;

/// Counters of the losses of a stream. Packets are added in the order of their sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bursts {
    received: u64,
    lost: u64,
    /// Number of runs of consecutive losses.
    runs: u64,
    /// True if the last packet was lost.
    losing: bool,
    /// Number of packets received since the last loss.
    since: u32,
    /// Number of losses in the current burst.
    burst: u32,
    c11: u64,
    c13: u64,
    c14: u64,
    c22: u64,
    c23: u64,
    c33: u64,
}

/// Bursts and gaps of a stream (RFC 3611, section 4.7.2).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Clusters {
    /// Fraction of packets lost in bursts.
    pub burst_density: f64,
    /// Fraction of packets lost in gaps.
    pub gap_density: f64,
    /// Mean number of packets in a burst.
    pub burst_packets: f64,
    /// Mean number of packets in a gap.
    pub gap_packets: f64,
}

impl Bursts {
    /// Adds the next packet; `received` is false for a lost one.
    #[inline]
    pub fn add(&mut self, received: bool) {
        if received {
            self.received += 1;
            self.losing = false;
            self.since = self.since.saturating_add(1);
            return;
        }
        self.lost += 1;
        self.runs += u64::from(!self.losing);
        self.losing = true;
        let since = std::mem::take(&mut self.since);
        if since >= GMIN {
            match self.burst {
                0 => {}
                1 => self.c14 += 1,
                _ => self.c13 += 1,
            }
            self.burst = 1;
            self.c11 += u64::from(since);
        } else {
            self.burst += 1;
            match since {
                0 => self.c33 += 1,
                _ => {
                    self.c23 += 1;
                    self.c22 += u64::from(since - 1);
                }
            }
        }
    }

    /// Returns the number of packets so far.
    pub fn packets(&self) -> u64 {
        self.received + self.lost
    }

    /// Returns the number of lost packets so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the burst ratio BurstR of G.107; 1 without losses.
    pub fn ratio(&self) -> f64 {
        if self.lost == 0 || self.received == 0 {
            return 1.0;
        }
        let mean = self.lost as f64 / self.runs as f64;
        mean * self.received as f64 / self.packets() as f64
    }

    /// Returns the bursts and gaps so far. The packets since the last loss belong to the last gap.
    pub fn clusters(&self) -> Clusters {
        let mut all = *self;
        // The packets after the last loss end the last burst, as a further loss would do.
        match all.burst {
            0 => {}
            1 => all.c14 += 1,
            _ => all.c13 += 1,
        }
        all.c11 += u64::from(all.since);
        let [c11, c13, c14, c22, c23, c33] =
            [all.c11, all.c13, all.c14, all.c22, all.c23, all.c33].map(|count| count as f64);
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let total = c11 + c14 + c13 + c22 + c23 + c13 + c23 + c33;
        let p32 = ratio(c23, c13 + c23 + c33);
        let p23 = if c22 + c23 < 1.0 { 1.0 } else { 1.0 - c22 / (c22 + c23) };
        let bursts = if self.lost > 0 { ratio(p23, p23 + p32) } else { 0.0 };
        let gap = if c13 > 0.0 { (c11 + c14 + c13) / c13 } else { c11 + c14 };
        Clusters {
            burst_density: if c23 + c33 > 0.0 { bursts } else { 0.0 },
            gap_density: ratio(c14, c11 + c14),
            burst_packets: if c13 > 0.0 { total / c13 - gap } else { 0.0 },
            gap_packets: gap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn the_burst_ratio_matches_the_reference() {
        // Markov chains with two states: the probability is p from received to lost, and q from
        // lost to received.
        for row in include_str!("../../../tests/authorities/voip/g107_burst_ratio.csv").lines().skip(1) {
            let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [p, q, loss, _, ratio] = cells[..] else { panic!("{row}") };
            let mut stream = Streams::new(3, 0).stream("losses");
            let (mut bursts, mut lost) = (Bursts::default(), false);
            for _ in 0..4_000_000 {
                lost = if lost { !stream.chance(q) } else { stream.chance(p) };
                bursts.add(!lost);
            }
            assert!((bursts.ratio() / ratio - 1.0).abs() < 0.03, "{row}: {}", bursts.ratio());
            let found = 100.0 * bursts.lost() as f64 / bursts.packets() as f64;
            assert!((found / loss - 1.0).abs() < 0.03, "{row}: {found}");
        }
    }

    #[test]
    fn bursts_and_gaps_match_rfc_3611() {
        let mut bursts = Bursts::default();
        let mut tell = |text: &str| text.bytes().for_each(|byte| bursts.add(byte == b'1'));
        // The sequence is a gap of 20 packets, an isolated loss, 20 packets, a burst "01101110",
        // and a gap of 20 packets.
        tell(&"1".repeat(20));
        tell("0");
        tell(&"1".repeat(20));
        tell("01101110");
        tell(&"1".repeat(20));
        let clusters = bursts.clusters();
        // The burst has 8 packets, 3 of them lost. All other packets belong to gaps, with one loss.
        assert_eq!((bursts.lost(), bursts.packets()), (4, 69));
        assert!((clusters.gap_density - 1.0 / 61.0).abs() < 1e-3, "{clusters:?}");
        assert!(clusters.burst_packets >= 6.0 && clusters.burst_packets <= 9.0, "{clusters:?}");
        assert!((clusters.burst_density - 3.0 / 8.0).abs() < 0.1, "{clusters:?}");
        assert_eq!(Bursts::default().ratio(), 1.0);
    }
}
