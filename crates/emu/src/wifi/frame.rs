//! A frame from a radio of the kernel: its rates, its membership in an aggregate, and the content
//! of its status.
//!
//! mac80211 marks the frames of a block acknowledgment session. As in a card, the medium decides
//! which of these frames form an aggregate. The status of one frame reports to rate control how
//! many frames the aggregate had, and how many were acknowledged. The driver of a kernel built for
//! bentpipe passes on both the marks and these numbers (docs/notes/linux-wifi.md).

use super::genetlink::Message;
use super::radio::{hwsim, station_of};
use bentpipe_networks::wifi::phy::Phy;

/// Maximum number of rates of a frame.
pub const RATES: usize = 4;
/// Number of tries at each of a frame's rates.
pub type Counts = [u32; RATES];

/// Rates of the bands before HT in kbit/s, by the driver's numbers. The rates of 5 GHz begin at 6
/// Mbit/s.
const LEGACY: [u32; 12] =
    [1000, 2000, 5500, 11_000, 6000, 9000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
/// Number of the first rate of 5 GHz in the list.
const OFDM: usize = 4;
/// A flag of rates: the number is a modulation and coding scheme (MAC80211_HWSIM_TX_RC_MCS).
const MCS: u16 = 1 << 3;

/// Result of a transmission of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Number of frames in the aggregate.
    pub frames: u32,
    /// Number of acknowledged frames.
    pub acknowledged: u32,
}

impl Aggregate {
    /// Returns the flag bits of a status that report the aggregate to the driver.
    pub fn bits(self) -> u32 {
        hwsim::AGGREGATE | self.frames << 8 | self.acknowledged << 16
    }
}

/// A rate at which a frame may be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// The driver's number of the rate.
    pub number: i8,
    /// Index of the rate in the model's physical layer.
    pub rate: usize,
    /// Maximum number of tries of the frame at this rate.
    pub count: u8,
    /// True if an RTS precedes the frame.
    pub rts: bool,
    /// True if the number is that of an HT scheme.
    pub ht: bool,
}

/// A frame that a radio has sent.
pub struct Sent {
    /// The frame without its check sequence.
    pub bytes: Vec<u8>,
    /// The number by which the driver identifies the frame in its status.
    pub cookie: u64,
    /// The driver's flags of the frame (HWSIM_ATTR_FLAGS).
    pub flags: u32,
    /// The frequency of its channel in MHz.
    pub frequency: Option<u32>,
    /// The rates at which the frame may be tried, in this order; at least one.
    pub tries: Vec<Try>,
}

impl Sent {
    /// Returns true if the frame is a beacon: a management frame of subtype 8 (IEEE 802.11-2016,
    /// 9.2.4.1.3).
    pub fn is_beacon(&self) -> bool {
        self.bytes[0] & 0xfc == 0x80
    }

    /// Returns true if the frame belongs to a block acknowledgment session.
    pub fn is_marked(&self) -> bool {
        self.flags & hwsim::MAY_AGGREGATE != 0
    }

    /// Returns true if `other` can be in the same aggregate. A frame that tests a rate is sent
    /// alone.
    pub fn may_aggregate(&self, other: &Sent) -> bool {
        let rate = |sent: &Sent| (sent.tries[0].rate, sent.tries[0].rts);
        self.is_marked() && other.is_marked() && rate(self) == rate(other)
    }

    /// Returns the frame's category, from voice (0) to background (3). A QoS data frame has the
    /// category of its user priority (IEEE 802.11-2016, table 10-1), management is voice, and other
    /// frames are best effort.
    pub fn category(&self) -> usize {
        // Position after the three addresses and the sequence number.
        const QOS: usize = 24;
        match (self.bytes[0] & 0x0c, self.bytes[0] & 0x80, self.bytes.get(QOS)) {
            (8, 0x80, Some(qos)) => match qos & 7 {
                6 | 7 => 0,
                4 | 5 => 1,
                1 | 2 => 3,
                _ => 2,
            },
            (0, ..) => 0,
            _ => 2,
        }
    }

    /// Returns the index in `tries` of the rate of transmission number `attempt`.
    pub fn place(&self, attempt: u32) -> usize {
        let mut left = attempt;
        for (place, one) in self.tries.iter().enumerate() {
            if left < u32::from(one.count) {
                return place;
            }
            left -= u32::from(one.count);
        }
        self.tries.len() - 1
    }

    /// Returns the number of tries at each rate for this number of transmissions.
    pub fn counts(&self, transmissions: u32) -> Counts {
        let mut counts = Counts::default();
        (0..transmissions).for_each(|attempt| counts[self.place(attempt)] += 1);
        counts
    }

    /// Returns the rates for the frame's status: the tried rates, each with its number of tries.
    pub fn info(&self, counts: &Counts) -> Vec<u8> {
        let tried = self.tries.iter().zip(counts).filter(|(_, count)| **count > 0);
        let mut info: Vec<u8> =
            tried.flat_map(|(one, count)| [one.number as u8, (*count).min(255) as u8]).collect();
        while info.len() < 2 * RATES {
            info.extend([0xff, 0]);
        }
        info
    }

    /// Returns the number of the rate that the receiver sees; the driver accepts no HT rates.
    pub fn shown_rate(&self) -> u32 {
        let first = self.tries[0];
        if first.ht {
            0
        } else {
            first.number as u32
        }
    }
}

/// Parses a frame of the driver: its sender, its receiver (`None` for all stations) and the frame.
pub fn parse(message: &Message<'_>, low: bool, phy: &Phy) -> Option<(usize, Option<usize>, Sent)> {
    let from = station_of(message.get(hwsim::ADDR_TRANSMITTER)?)?;
    let bytes = message.get(hwsim::ATTR_FRAME)?.to_vec();
    let receiver = bytes.get(4..10)?;
    let to = if receiver[0] & 1 == 1 { None } else { Some(station_of(receiver)?) };
    let cookie = u64::from_ne_bytes(message.get(hwsim::COOKIE)?.try_into().ok()?);
    let flags = message.u32(hwsim::FLAGS)?;
    let info = message.get(hwsim::TX_INFO)?;
    let marks = message.get(hwsim::TX_INFO_FLAGS).unwrap_or_default();
    let mut tries = Vec::with_capacity(RATES);
    for (place, pair) in info.chunks_exact(2).enumerate().take(RATES) {
        let (number, count) = (pair[0] as i8, pair[1]);
        if number < 0 || count == 0 {
            break;
        }
        let marks =
            marks.get(3 * place + 1..3 * place + 3).map_or(0, |two| u16::from_ne_bytes([two[0], two[1]]));
        let ht = marks & MCS != 0;
        let rate = if ht { scheme_of(number, phy) } else { rate_of(number, low, phy) };
        tries.push(Try { number, rate, count, rts: marks & hwsim::RTS != 0, ht });
    }
    if tries.is_empty() {
        tries.push(Try { number: 0, rate: 0, count: 1, rts: false, ht: false });
    }
    Some((from, to, Sent { bytes, cookie, flags, frequency: message.u32(hwsim::FREQ), tries }))
}

/// Returns the index of a driver's rate in the physical layer. The slowest rate replaces rates that
/// the physical layer lacks, such as those of management frames in 802.11n.
fn rate_of(number: i8, low: bool, phy: &Phy) -> usize {
    let kbit_s = LEGACY.get(number as usize + if low { 0 } else { OFDM }).copied().unwrap_or_default();
    (0..phy.rates()).find(|rate| phy.mode(*rate).kbit_s == kbit_s).unwrap_or(0)
}

/// Returns the index of a modulation and coding scheme, given by its number.
fn scheme_of(number: i8, phy: &Phy) -> usize {
    Some(number as usize).filter(|number| *number < phy.rates()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a QoS data frame with this user priority: MCS 7 twice, MCS 4 three times, MCS 0
    /// once.
    fn sent(priority: u8, flags: u32) -> Sent {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[24]) = (0x88, priority);
        let one = |number, count| Try { number, rate: number as usize, count, rts: false, ht: true };
        let tries = vec![one(7, 2), one(4, 3), one(0, 1)];
        Sent { bytes, cookie: 0, flags, frequency: None, tries }
    }

    #[test]
    fn frames_of_a_session_join_unless_one_tests_another_rate() {
        let (marked, single) = (|| sent(0, hwsim::MAY_AGGREGATE), sent(0, 0));
        assert!(marked().may_aggregate(&marked()));
        assert!(
            !marked().may_aggregate(&single)
                && !single.may_aggregate(&marked())
                && !single.may_aggregate(&single)
        );
        let mut testing = marked();
        testing.tries[0].rate = 6;
        assert!(!marked().may_aggregate(&testing) && !testing.may_aggregate(&marked()));
    }

    #[test]
    fn a_status_names_the_rates_in_turn_with_their_counts() {
        let frame = sent(0, 0);
        assert_eq!((frame.place(0), frame.place(1), frame.place(2), frame.place(5)), (0, 0, 1, 2));
        // With more attempts than the rates allow, the last rate is used.
        assert_eq!(frame.counts(8), [2, 3, 3, 0]);
        assert_eq!(frame.info(&frame.counts(4)), [7, 2, 4, 2, 0xff, 0, 0xff, 0]);
        // Untried rates are left out, since the kernel stops at the first untried rate.
        assert_eq!(frame.info(&[0, 1, 0, 0]), [4, 1, 0xff, 0, 0xff, 0, 0xff, 0]);
        let bits = Aggregate { frames: 64, acknowledged: 63 }.bits();
        assert_eq!((bits & 0xff, bits >> 8 & 0xff, bits >> 16 & 0xff), (hwsim::AGGREGATE, 64, 63));
    }

    #[test]
    fn a_user_priority_has_its_category() {
        let categories = [0, 1, 2, 3, 4, 5, 6, 7].map(|priority| sent(priority, 0).category());
        assert_eq!(categories, [2, 3, 3, 2, 1, 1, 0, 0]);
        let mut beacon = sent(0, 0);
        beacon.bytes[0] = 0x80;
        assert_eq!((beacon.category(), beacon.is_beacon()), (0, true));
        // Data without QoS.
        beacon.bytes[0] = 0x08;
        assert_eq!(beacon.category(), 2);
    }
}
