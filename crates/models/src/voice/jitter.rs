//! Interarrival jitter (RFC 3550, section 6.4.1): the mean deviation of the differences in transit time.
//!
//! J_i = J_{i-1} + (|D(i-1,i)| - J_{i-1}) / 16, D(i,j) = (R_j - S_j) - (R_i - S_i), in units of the RTP time stamp, in the order
//! of arrival. [`Jitter::integer`] is the form of appendix A.8, which RTCP reports.

/// The interarrival jitter of a stream (RFC 3550, section 6.4.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    transit: Option<u32>,
    real: f64,
    /// 16 times the jitter, computed in integers as in appendix A.8.
    scaled: u32,
}

impl Jitter {
    /// Adds a packet with time stamp `timestamp` that arrived at `arrival`, both in units of the time stamp.
    #[inline]
    pub fn add(&mut self, timestamp: u32, arrival: u32) {
        let transit = arrival.wrapping_sub(timestamp);
        if let Some(before) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(before).cast_signed().unsigned_abs();
            self.real += (f64::from(difference) - self.real) / 16.0;
            self.scaled =
                self.scaled.wrapping_add(difference).wrapping_sub((self.scaled.wrapping_add(8)) >> 4);
        }
    }

    /// The jitter in units of the time stamp.
    #[inline]
    pub fn real(&self) -> f64 {
        self.real
    }

    /// The jitter in whole units, as RTCP reports it (appendix A.8).
    #[inline]
    pub fn integer(&self) -> u32 {
        self.scaled >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_those_of_the_reference() {
        let (mut case, mut jitter, mut compared) = (String::new(), Jitter::default(), 0);
        for row in include_str!("../../../../authorities/voip/rfc3550_jitter.csv").lines().skip(1) {
            let cells: Vec<&str> = row.rsplitn(6, ',').collect();
            let [integer, real, arrival, timestamp, _, name] = cells[..] else { panic!("{row}") };
            if name != case {
                (case, jitter) = (name.to_owned(), Jitter::default());
            }
            let whole = |text: &str| text.parse::<i64>().unwrap() as u32;
            jitter.add(whole(timestamp), whole(arrival));
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
}
