//! Management frames of an access point: its beacon, and its answers to stations that probe and
//! join it. Source: IEEE 802.11-2016, 9.3.3 (frames), 9.4.1 (fields) and 9.4.2 (elements).

use bentpipe_networks::wifi::config::{Config, Standard};
use bentpipe_networks::wifi::phy::{self, Phy};

/// First bytes of management frames: type and subtype (9.2.4.1.3).
pub const ASSOCIATION_REQUEST: u8 = 0x00;
pub const ASSOCIATION_RESPONSE: u8 = 0x10;
pub const REASSOCIATION_REQUEST: u8 = 0x20;
pub const REASSOCIATION_RESPONSE: u8 = 0x30;
pub const PROBE_REQUEST: u8 = 0x40;
pub const PROBE_RESPONSE: u8 = 0x50;
pub const BEACON: u8 = 0x80;
pub const DISASSOCIATION: u8 = 0xa0;
pub const AUTHENTICATION: u8 = 0xb0;
pub const DEAUTHENTICATION: u8 = 0xc0;

/// Time between two beacons, in time units of 1024 us.
pub const BEACON_INTERVAL: u16 = 100;
/// Bytes of the header, and the sender's address in it.
const HEADER: usize = 24;
const SENDER: std::ops::Range<usize> = 10..16;
const BROADCAST: [u8; 6] = [0xff; 6];
/// Capabilities: this is an infrastructure network (9.4.1.4, ESS).
const CAPABILITIES: u16 = 1;
/// Numbers of elements (table 9-77).
const SSID: u8 = 0;
const SUPPORTED_RATES: u8 = 1;
const DSSS_PARAMETERS: u8 = 3;
const ERP: u8 = 42;
const HT_CAPABILITIES: u8 = 45;
const HT_OPERATION: u8 = 61;
/// Spatial streams are never switched off to save power (SM power save, 9.4.2.56.2).
const SM_POWER_SAVE_DISABLED: u16 = 3 << 2;
/// Receivers accept aggregates of up to 65535 bytes, whose frames may follow each other without a
/// gap (9.4.2.56.3).
const AGGREGATES: u8 = 3;
/// Number of the channel at 5.18 GHz with a width of 20 MHz.
const CHANNEL: u8 = 36;
/// Mark of a rate that every station of the network must support (9.4.2.3).
const BASIC: u8 = 0x80;
/// The element with the parameters of the four categories in the format of the Wi-Fi Alliance's
/// WMM, from which Linux knows that stations have QoS. The values are those of IEEE 802.11-2016,
/// table 9-137. The medium has separate parameters.
const WMM: [u8; 26] = [
    221, 24, 0x00, 0x50, 0xf2, 2, 1, 1, 0, 0, 0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e, 0, 0x62,
    0x32, 0x2f, 0,
];

/// The frames of an access point.
#[derive(Clone, Debug)]
pub struct Frames {
    address: [u8; 6],
    ssid: &'static [u8],
    /// Rates in units of 500 kbit/s, with the mark of basic rates; at most eight, the element's
    /// limit.
    rates: Vec<u8>,
    standard: Standard,
    /// Number of spatial streams of 802.11n.
    streams: usize,
}

impl Frames {
    /// Creates the frames of the network's access point, which has this address.
    pub fn new(config: &Config, address: [u8; 6], ssid: &'static [u8]) -> Frames {
        let basic: &[u8] = match config.standard {
            // The rates that every station of the standard must receive: 1 and 2 Mbit/s; with OFDM
            // 6, 12 and 24 Mbit/s.
            Standard::B => &[2, 4],
            Standard::A | Standard::G | Standard::N => &[12, 24, 48],
        };
        // Rates from before HT, which stations of 802.11n also support.
        let phy = match config.standard {
            Standard::N => Phy::new(phy::Standard::A),
            _ => config.phy(),
        };
        let units = phy.by_speed().into_iter().map(|index| (phy.mode(index).kbit_s / 500) as u8);
        let rates = units.map(|rate| rate | if basic.contains(&rate) { BASIC } else { 0 }).collect();
        let streams = config.streams.value() as usize;
        Frames { address, ssid, rates, standard: config.standard, streams }
    }

    /// Returns the network's rates in units of 500 kbit/s.
    pub fn rates(&self) -> Vec<u8> {
        self.rates.iter().map(|rate| rate & !BASIC).collect()
    }

    /// Returns the parts of the beacon before and after the element that the kernel inserts (the
    /// traffic indication map).
    pub fn beacon(&self) -> (Vec<u8>, Vec<u8>) {
        let mut head = self.header(BEACON, BROADCAST);
        self.about(&mut head);
        (head, self.tail())
    }

    /// Returns the sender of a frame.
    pub fn sender(frame: &[u8]) -> Option<[u8; 6]> {
        frame.get(SENDER)?.try_into().ok()
    }

    /// Returns the answer to a frame, if the frame is a request. `number` is the station's
    /// association identifier.
    pub fn answer(&self, request: &[u8], number: u16) -> Option<Vec<u8>> {
        let to = Frames::sender(request)?;
        let body = request.get(HEADER..)?;
        Some(match request[0] {
            PROBE_REQUEST => {
                let mut frame = self.header(PROBE_RESPONSE, to);
                self.about(&mut frame);
                frame.extend(self.tail());
                frame
            }
            // The first of two frames of open system authentication (0).
            AUTHENTICATION if body.get(..4)? == [0, 0, 1, 0] => {
                let mut frame = self.header(AUTHENTICATION, to);
                for field in [0_u16, 2, 0] {
                    frame.extend(field.to_le_bytes());
                }
                frame
            }
            subtype @ (ASSOCIATION_REQUEST | REASSOCIATION_REQUEST) => {
                let answer = if subtype == ASSOCIATION_REQUEST {
                    ASSOCIATION_RESPONSE
                } else {
                    REASSOCIATION_RESPONSE
                };
                let mut frame = self.header(answer, to);
                // The two highest bits of an identifier are set (9.4.1.8); status 0 is success.
                for field in [CAPABILITIES, 0, number | 0xc000] {
                    frame.extend(field.to_le_bytes());
                }
                self.put_rates(&mut frame);
                frame.extend(self.tail());
                frame
            }
            _ => return None,
        })
    }

    /// Returns a header to a station of this network. The kernel fills in duration and sequence
    /// number.
    fn header(&self, first: u8, to: [u8; 6]) -> Vec<u8> {
        [&[first, 0, 0, 0][..], &to, &self.address, &self.address, &[0, 0]].concat()
    }

    /// Appends the start of beacons and probe responses: timestamp (filled in by the kernel),
    /// interval, capabilities, name, rates.
    fn about(&self, frame: &mut Vec<u8>) {
        frame.extend([0; 8]);
        frame.extend(BEACON_INTERVAL.to_le_bytes());
        frame.extend(CAPABILITIES.to_le_bytes());
        element(frame, SSID, self.ssid);
        self.put_rates(frame);
        if matches!(self.standard, Standard::B | Standard::G) {
            // Channel 1.
            element(frame, DSSS_PARAMETERS, &[1]);
        }
    }

    fn put_rates(&self, frame: &mut Vec<u8>) {
        element(frame, SUPPORTED_RATES, &self.rates);
    }

    fn tail(&self) -> Vec<u8> {
        let mut tail = Vec::new();
        if self.standard == Standard::G {
            element(&mut tail, ERP, &[0]);
        }
        if let Some(capabilities) = self.ht_capabilities() {
            element(&mut tail, HT_CAPABILITIES, &capabilities);
            let mut operation = [0; 22];
            operation[0] = CHANNEL;
            element(&mut tail, HT_OPERATION, &operation);
        }
        tail.extend(WMM);
        tail
    }

    /// Returns the capabilities of a station of 802.11n (9.4.2.56): channels of 20 MHz, long guard
    /// intervals, the schemes of its streams, aggregates.
    pub fn ht_capabilities(&self) -> Option<[u8; 26]> {
        if self.standard != Standard::N {
            return None;
        }
        let mut value = [0; 26];
        value[..2].copy_from_slice(&SM_POWER_SAVE_DISABLED.to_le_bytes());
        value[2] = AGGREGATES;
        value[3..3 + self.streams].fill(0xff);
        Some(value)
    }
}

/// Appends an element: its number, the value's length, and the value.
fn element(frame: &mut Vec<u8>, number: u8, value: &[u8]) {
    frame.extend([number, value.len() as u8]);
    frame.extend(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: [u8; 6] = [2, 0, 0, 0, 0, 0];
    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn frames(standard: &str) -> Frames {
        let config = serde_json::json!({ "standard": standard, "access_point": "a", "stations": ["b"] });
        Frames::new(&serde_json::from_value(config).unwrap(), AP, b"net")
    }

    /// Returns a frame of a station to the access point.
    fn request(first: u8, body: &[u8]) -> Vec<u8> {
        [&[first, 0, 0, 0][..], &AP, &STATION, &AP, &[0, 0], body].concat()
    }

    /// Returns the elements of a frame by number.
    fn elements(mut rest: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let mut found = Vec::new();
        while let [number, length, ..] = *rest {
            let end = 2 + usize::from(length);
            found.push((number, rest[2..end].to_vec()));
            rest = &rest[end..];
        }
        found
    }

    #[test]
    fn a_beacon_contains_name_and_rates() {
        let (head, tail) = frames("802.11a").beacon();
        assert_eq!(head[0], 0x80);
        assert_eq!((&head[4..10], &head[10..16], &head[16..22]), (&[0xff; 6][..], &AP[..], &AP[..]));
        // Interval of 100 time units and the capability ESS, after the time stamp.
        assert_eq!(&head[32..36], &[100, 0, 1, 0]);
        let rates = vec![0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
        assert_eq!(elements(&head[36..]), [(0, b"net".to_vec()), (1, rates)]);
        assert_eq!(elements(&tail).last().unwrap().0, 221);
    }

    #[test]
    fn a_beacon_at_2_4_ghz_contains_its_channel() {
        let (head, tail) = frames("802.11g").beacon();
        let rates = vec![0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];
        assert_eq!(elements(&head[36..]), [(0, b"net".to_vec()), (1, rates), (3, vec![1])]);
        assert_eq!(elements(&tail)[0], (42, vec![0]));
        let (head, _) = frames("802.11b").beacon();
        assert_eq!(elements(&head[36..])[1..], [(1, vec![0x82, 0x84, 11, 22]), (3, vec![1])]);
    }

    #[test]
    fn a_beacon_of_802_11n_contains_the_capabilities_of_stations() {
        let (head, tail) = frames("802.11n").beacon();
        assert_eq!(elements(&head[36..])[1].1, [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108]);
        let (found, mut capabilities) = (elements(&tail), vec![0; 26]);
        // Spatial multiplexing without power save, aggregates of 64 kB, MCS 0 to 7.
        (capabilities[0], capabilities[2], capabilities[3]) = (0x0c, 3, 0xff);
        assert_eq!(found[0], (45, capabilities));
        assert_eq!((found[1].0, found[1].1.len(), found[1].1[0]), (61, 22, 36));
        assert_eq!(frames("802.11a").ht_capabilities(), None);
    }

    #[test]
    fn a_station_is_answered_step_by_step() {
        let frames = frames("802.11b");
        let probe = frames.answer(&request(PROBE_REQUEST, &[0, 0]), 1).unwrap();
        assert_eq!((probe[0], &probe[4..10]), (0x50, &STATION[..]));
        let authentication = frames.answer(&request(AUTHENTICATION, &[0, 0, 1, 0, 0, 0]), 1).unwrap();
        assert_eq!(&authentication[24..], &[0, 0, 2, 0, 0, 0]);
        let association = frames.answer(&request(ASSOCIATION_REQUEST, &[1, 0, 10, 0]), 7).unwrap();
        assert_eq!((association[0], &association[24..30]), (0x10, &[1, 0, 0, 0, 7, 0xc0][..]));
        let again = frames.answer(&request(REASSOCIATION_REQUEST, &[1, 0, 10, 0]), 7).unwrap();
        assert_eq!(again[0], 0x30);
    }

    #[test]
    fn truncated_frames_and_frames_without_a_request_get_no_answer() {
        let frames = frames("802.11b");
        // An authentication with a shared key (algorithm 1), the second frame of an authentication,
        // and a disassociation.
        for (first, body) in [
            (AUTHENTICATION, &[1, 0, 1, 0, 0, 0][..]),
            (AUTHENTICATION, &[0, 0, 2, 0, 0, 0]),
            (AUTHENTICATION, &[0]),
            (DISASSOCIATION, &[8, 0]),
        ] {
            assert_eq!(frames.answer(&request(first, body), 1), None);
        }
        for length in 0..24 {
            assert_eq!(frames.answer(&request(PROBE_REQUEST, &[])[..length], 1), None);
        }
    }
}
