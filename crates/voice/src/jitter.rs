//! Interarrival jitter (RFC 3550, section 6.4.1): the mean deviation of the differences in transit
//! time.
//!
//! Packets are numbered in the order of arrival. Packet i has the RTP time stamp S_i and the
//! arrival time R_i in units of the time stamp. The jitter is J_i = J_{i-1} + (|D(i-1,i)| -
//! J_{i-1}) / 16 with D(i,j) = (R_j - S_j) - (R_i - S_i). [`Jitter::integer`] is the form of
//! appendix A.8, which RTCP reports.
//!
//! Arrival times are rounded to whole units only in the form of appendix A.8. In telephony, a unit
//! is 125 us. With rounding, small variations of the delay would count as zero or as whole units,
//! depending on the phase of the arrivals.

/// The interarrival jitter of a stream (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    /// Time stamp and arrival time of the last packet, in units of the time stamp.
    last: Option<(u32, f64)>,
    real: f64,
    /// 16 times the jitter, computed in integers as in appendix A.8.
    scaled: u32,
}

impl Jitter {
    /// Adds a packet with time stamp `timestamp` that arrived at `arrival`, both in units of the
    /// time stamp.
    #[inline]
    pub fn add(&mut self, timestamp: u32, arrival: f64) {
        if let Some((sent, received)) = self.last.replace((timestamp, arrival)) {
            let step = timestamp.wrapping_sub(sent).cast_signed();
            self.real += ((arrival - received - f64::from(step)).abs() - self.real) / 16.0;
            let whole = arrival.round() as i64 - received.round() as i64 - i64::from(step);
            self.scaled = self
                .scaled
                .wrapping_add(whole.unsigned_abs() as u32)
                .wrapping_sub((self.scaled.wrapping_add(8)) >> 4);
        }
    }

    /// Returns the jitter in units of the time stamp.
    #[inline]
    pub fn real(&self) -> f64 {
        self.real
    }

    /// Returns the jitter in whole units, as RTCP reports it (appendix A.8).
    #[inline]
    pub fn integer(&self) -> u32 {
        self.scaled >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_match_the_reference() {
        let (mut case, mut jitter, mut compared) = (String::new(), Jitter::default(), 0);
        for row in include_str!("../../../tests/authorities/voip/rfc3550_jitter.csv").lines().skip(1) {
            let cells: Vec<&str> = row.rsplitn(6, ',').collect();
            let [integer, real, arrival, timestamp, _, name] = cells[..] else { panic!("{row}") };
            if name != case {
                (case, jitter) = (name.to_owned(), Jitter::default());
            }
            let whole = |text: &str| text.parse::<i64>().unwrap() as u32;
            jitter.add(whole(timestamp), arrival.parse().unwrap());
            assert!(
                (jitter.real() - real.parse::<f64>().unwrap()).abs() < 5.1e-7,
                "{row}: {}",
                jitter.real()
            );
            assert_eq!(jitter.integer(), whole(integer), "{row}");
            compared += 1;
        }
        assert_eq!(compared, 72);
    }

    /// Delays that vary by 40 us give the same jitter for any phase of the arrivals within a unit
    /// of 125 us.
    #[test]
    fn jitter_does_not_depend_on_the_phase_of_arrivals() {
        for offset in 0..25 {
            let mut jitter = Jitter::default();
            for packet in 0..400u32 {
                let late = if packet % 2 == 0 { 0.0 } else { 0.32 };
                jitter.add(160 * packet, 160.0 * f64::from(packet) + f64::from(offset) / 25.0 + late);
            }
            assert!((jitter.real() - 0.32).abs() < 1e-9, "{offset}: {}", jitter.real());
        }
    }
}
