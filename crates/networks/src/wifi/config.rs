//! The configuration of a Wi-Fi network.

use super::adaptation::{self, Speed};
use super::air::Access;
use super::cell::Rules;
use super::phy::{self, Phy};
use super::{HEADER, LLC_SNAP, QOS};
use bentpipe_core::text_or_table;
use bentpipe_core::{Count, Problems, Sample, Size, Span};
use bentpipe_link::channel::{self, Effect};
use bentpipe_link::queue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A Wi-Fi network (IEEE 802.11b, a, g or n): stations that share a radio channel, with an access
/// point or ad hoc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The standard of all stations: `"802.11b"`, `"802.11a"`, `"802.11g"` or `"802.11n"`.
    pub standard: Standard,
    /// Length of the preambles of 802.11b: `"long"` (192 us with the header, the default) or
    /// `"short"` (96 us). Frames at 1 Mbit/s always have the long preamble.
    #[serde(default)]
    pub preamble: Length,
    /// True if 802.11b stations are near a network of 802.11g; false by default. Slots are then
    /// long (20 us), and before every data frame, the sender sends a CTS to itself at 11 Mbit/s.
    #[serde(default)]
    pub protection: bool,
    /// The band of 802.11n: `"5 GHz"` (the default) or `"2.4 GHz"`, where SIFS is 10 us and frames
    /// end with an extension of 6 us.
    #[serde(default)]
    pub band: Band,
    /// Width of the channel of 802.11n: `"20 MHz"` (the default) or `"40 MHz"`.
    #[serde(default)]
    pub width: Width,
    /// Length of the guard interval of 802.11n: `"long"` (800 ns, the default) or `"short"` (400
    /// ns).
    #[serde(default)]
    pub guard: Length,
    /// Number of spatial streams of 802.11n, 1 to 4; 1 by default.
    #[serde(default = "default_streams")]
    pub streams: Count<1, 4>,
    /// Node name of the access point, through which all packets pass. If unset, the network is ad
    /// hoc: each station sends to any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_point: Option<String>,
    /// The stations: node names, or tables with node names and with values that differ from those
    /// of the network.
    pub stations: Vec<Stations>,
    /// Rate adaptation: the algorithm that chooses the rates of data frames; `"minstrel"` by
    /// default.
    #[serde(default)]
    pub adaptation: adaptation::Config,
    /// Errors of frames on the air; none by default. Each direction between two stations has an
    /// independent error process. Corrupted frames are retransmitted.
    #[serde(default)]
    pub error: channel::Config,
    /// True if errors also affect acknowledgments, RTS and CTS; false by default. Control frames
    /// are shorter and slower than data frames, so set this key only with an error process that
    /// depends on size and rate, such as bit errors.
    #[serde(default)]
    pub control_errors: bool,
    /// Stations that each station hears, by node name. A station that is not listed hears all
    /// stations. Stations that do not hear each other are *hidden* from each other: they cannot
    /// exchange frames, and their transmissions collide at other stations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hears: BTreeMap<String, Vec<String>>,
    /// Queue discipline of each station and category; drop-tail with 1000 packets by default. A
    /// discipline that decides at departure chooses a packet when its first transmission begins.
    #[serde(default)]
    pub queue: queue::Config,
    /// True if stations use EDCA: the DSCP (RFC 8325) assigns packets to the categories voice,
    /// video, best effort and background. Each category has its own queue and contention
    /// parameters. With false, stations use DCF with one queue. True by default with 802.11n, which
    /// requires EDCA, and false otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edca: Option<bool>,
    /// Maximum size of a frame, including its MAC header, that is sent without RTS and CTS. If
    /// unset, RTS and CTS are used only if the rate adaptation requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Size>,
    /// Number of failed transmissions after which a frame of at most `rts_threshold` is given up
    /// (dot11ShortRetryLimit); 7 by default.
    #[serde(default = "default_short_retry_limit")]
    pub short_retry_limit: Count<1, 255>,
    /// Number of failed transmissions after which a frame longer than `rts_threshold` is given up
    /// (dot11LongRetryLimit); 4 by default.
    #[serde(default = "default_long_retry_limit")]
    pub long_retry_limit: Count<1, 255>,
    /// Maximum size of an aggregate (A-MPDU) of 802.11n, 65535 B by default. With 0 B, each frame
    /// is sent on its own.
    #[serde(default = "default_aggregate")]
    pub aggregate: Size,
    /// Maximum number of frames in an aggregate, 64 by default: the size of the window of a block
    /// acknowledgment.
    #[serde(default = "default_aggregate_frames")]
    pub aggregate_frames: Count<1, 64>,
    /// Implementation of Wi-Fi in an emulation: `"model"` (the default) or `"linux"`. A simulation
    /// always uses the model. With `"linux"`, the stations run the Wi-Fi of the Linux kernel over
    /// bentpipe's medium, with the kernel's access point, association, rate control and retry
    /// limits. The kernel supports 802.11a, b and g. On the clock `kernel`, it also supports
    /// 802.11n at 5 GHz with an access point, 20 MHz, the long guard interval and one or two
    /// streams. The rate adaptation must be `minstrel-ht` or `fixed`. Packets wait in `queue`;
    /// packets of 802.11n also wait in the kernel's queues. On the clock `kernel`, the kernel is
    /// that of the guest. On the real clock, the kernel of this machine is used, which needs the
    /// module mac80211_hwsim.
    #[serde(default)]
    pub stack: Stack,
    /// Propagation delay between any two stations, 0 s by default: a distance of 300 m is 1 us.
    #[serde(default)]
    pub delay: Span,
    /// True if stations wait for EIFS instead of DIFS after a frame that they could not read; true
    /// by default, as in the standard.
    #[serde(default = "default_eifs")]
    pub eifs: bool,
}

/// An amendment of IEEE 802.11, which determines the rates and the timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WifiStandard")]
pub enum Standard {
    /// DSSS and CCK at 2.4 GHz, up to 11 Mbit/s.
    #[serde(rename = "802.11b")]
    B,
    /// OFDM at 5 GHz, up to 54 Mbit/s.
    #[serde(rename = "802.11a")]
    A,
    /// OFDM at 2.4 GHz, up to 54 Mbit/s.
    #[serde(rename = "802.11g")]
    G,
    /// HT with aggregation, up to 600 Mbit/s.
    #[serde(rename = "802.11n")]
    N,
}

/// The implementation of Wi-Fi that the stations run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WifiStack")]
pub enum Stack {
    /// The stations run bentpipe's model, as in a simulation.
    #[default]
    Model,
    /// The stations are radios of the Linux kernel (mac80211). A simulation uses the model instead.
    Linux,
}

/// A length of preambles or guard intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WifiLength")]
pub enum Length {
    /// The long form, which every station supports.
    #[default]
    Long,
    /// The short form, which takes less time. Every station of the network must support it.
    Short,
}

/// The frequency band in which a network transmits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WifiBand")]
#[allow(missing_docs, reason = "the names in a scenario are self-explanatory")]
pub enum Band {
    #[default]
    #[serde(rename = "5 GHz")]
    High,
    #[serde(rename = "2.4 GHz")]
    Low,
}

/// Width of the channel of 802.11n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WifiWidth")]
#[allow(missing_docs, reason = "the names in a scenario are self-explanatory")]
pub enum Width {
    #[default]
    #[serde(rename = "20 MHz")]
    Narrow,
    #[serde(rename = "40 MHz")]
    Wide,
}

/// One station, or a group of stations with the same values.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WifiStations")]
pub enum Stations {
    /// The node name of a station that has the network's values.
    Name(String),
    /// One or more stations with values that differ from those of the network.
    Group(Group),
}

/// One or more stations with values that differ from those of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "WifiStationGroup")]
pub struct Group {
    /// Node name of a single station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Prefix of the node names of several stations, which are numbered from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Number of stations with this prefix, up to 250.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count<1, 250>>,
    /// Rate adaptation of these stations. If unset, the network's rate adaptation is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<adaptation::Config>,
    /// Errors of frames from and to these stations. Each direction has an independent error
    /// process. If unset, the network's errors are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<channel::Config>,
}

text_or_table!(
    Stations,
    "a node name, or a table with name, or with prefix and count",
    |text| Ok(Stations::Name(text.to_owned())),
    Stations::Group
);

/// A single station with its values.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Number of the station among those with its prefix, from 1; `None` for a single station.
    number: Option<u64>,
    name: &'a str,
    /// The station's rate adaptation.
    pub adaptation: &'a adaptation::Config,
    /// Errors of frames from and to the station, if they differ from those of the network.
    pub error: Option<&'a channel::Config>,
}

impl Member<'_> {
    /// Returns the node name of the station.
    pub fn name(&self) -> String {
        self.number.map_or_else(|| self.name.to_owned(), |number| format!("{}{number}", self.name))
    }
}

fn default_streams() -> Count<1, 4> {
    Count::new(1)
}

fn default_short_retry_limit() -> Count<1, 255> {
    Count::new(7)
}

fn default_long_retry_limit() -> Count<1, 255> {
    Count::new(4)
}

fn default_aggregate() -> Size {
    Size::from_bytes(LONGEST_AGGREGATE)
}

fn default_aggregate_frames() -> Count<1, 64> {
    Count::new(64)
}

fn default_eifs() -> bool {
    true
}

/// Maximum size of an aggregate of HT, in bytes.
const LONGEST_AGGREGATE: u64 = 65_535;

/// Maximum number of stations in a network. Port numbers have 16 bits, and each pair of stations
/// has a port.
pub(super) const MAX_STATIONS: usize = 250;

impl Sample for Config {
    const SAMPLE: &'static str = r#"standard = "802.11n", streams = 2, access_point = "a", stations = [{ name = "b", adaptation = "arf" }, "c"], error = { kind = "packet", probability = 0.05 }, hears = { c = ["a"] }, control_errors = true, rts_threshold = "2000 B", aggregate_frames = 16"#;
}

impl Config {
    /// Returns all stations, the access point first.
    pub fn members(&self) -> Vec<Member<'_>> {
        let of_network = |name| Member { number: None, name, adaptation: &self.adaptation, error: None };
        let mut members: Vec<Member<'_>> = self.access_point.iter().map(|name| of_network(name)).collect();
        for stations in &self.stations {
            match stations {
                Stations::Name(name) => members.push(of_network(name)),
                Stations::Group(group) => {
                    let adaptation = group.adaptation.as_ref().unwrap_or(&self.adaptation);
                    let error = group.error.as_ref();
                    let member = |number, name| Member { number, name, adaptation, error };
                    match (&group.name, &group.prefix) {
                        (Some(name), _) => members.push(member(None, name)),
                        (None, Some(prefix)) => {
                            let count = group.count.map_or(0, Count::value);
                            members.extend((1..=count).map(|number| member(Some(number), prefix)));
                        }
                        (None, None) => {}
                    }
                }
            }
        }
        members
    }

    /// Returns the error process of frames between two stations.
    pub fn error_between(&self, one: &Member<'_>, other: &Member<'_>) -> channel::Config {
        one.error.or(other.error).unwrap_or(&self.error).clone()
    }

    /// Returns the physical layer of the stations.
    pub fn phy(&self) -> Phy {
        let short = self.guard == Length::Short;
        Phy::new(match self.standard {
            Standard::B => phy::Standard::B { short: self.preamble == Length::Short },
            Standard::A => phy::Standard::A,
            Standard::G => phy::Standard::G { protection: self.protection },
            Standard::N => phy::Standard::N {
                low: self.band == Band::Low,
                wide: self.width == Width::Wide,
                short,
                streams: self.streams.value() as u8,
            },
        })
    }

    /// Returns true if the network is in the 2.4 GHz band.
    pub fn is_low_band(&self) -> bool {
        match self.standard {
            Standard::B | Standard::G => true,
            Standard::A => false,
            Standard::N => self.band == Band::Low,
        }
    }

    /// Returns the position of the rate that the network's rate adaptation always uses; `None` if
    /// the rate adapts.
    pub fn constant_rate(&self, speeds: &[Speed]) -> Option<usize> {
        self.adaptation.constant(speeds)
    }

    /// Returns true if stations have the four access categories of EDCA.
    pub fn has_categories(&self) -> bool {
        self.edca.unwrap_or(self.standard == Standard::N)
    }

    /// Returns the bytes that the MAC adds to each packet.
    pub fn overhead(&self) -> u32 {
        LLC_SNAP + HEADER + if self.has_categories() { QOS } else { 0 }
    }

    /// Returns the parameters of frame exchanges.
    pub fn rules(&self) -> Rules {
        let phy = self.phy();
        let edca = self.has_categories();
        let bytes = |size: Size| u32::try_from(size.bytes()).unwrap_or(u32::MAX);
        Rules {
            access: if edca { categories(&phy).to_vec() } else { vec![dcf(&phy)] },
            rts_threshold: self.rts_threshold.map_or(u32::MAX, bytes),
            short_limit: self.short_retry_limit.value() as u32,
            long_limit: self.long_retry_limit.value() as u32,
            aggregate: if self.standard == Standard::N { bytes(self.aggregate) } else { 0 },
            window: self.aggregate_frames.value() as usize,
            delay: self.delay,
            eifs: self.eifs,
            edca,
            phy,
        }
    }

    /// Checks the keys that do not refer to nodes and adds their problems to `problems`.
    pub(super) fn check_keys(&self, problems: &mut Problems) {
        let of = |standard: Standard| self.standard == standard;
        let mut only = |key: &str, wrong: bool, standard: &str| {
            if wrong {
                problems.add(key, format!("is only for {standard}; allowed: leave it out"));
            }
        };
        only("preamble", self.preamble != Length::Long && !of(Standard::B), "802.11b");
        only("protection", self.protection && !of(Standard::G), "802.11g");
        only("band", self.band != Band::High && !of(Standard::N), "802.11n");
        only("width", self.width != Width::Narrow && !of(Standard::N), "802.11n");
        only("guard", self.guard != Length::Long && !of(Standard::N), "802.11n");
        only("streams", self.streams.value() != 1 && !of(Standard::N), "802.11n");
        if of(Standard::N) && self.edca == Some(false) {
            problems.add("edca", "802.11n has EDCA; allowed: true, or leave it out");
        }
        if self.aggregate.bytes() > LONGEST_AGGREGATE {
            let text = format!("{} is more than an aggregate holds; allowed: 0 B to 65535 B", self.aggregate);
            problems.add("aggregate", text);
        }
        problems.within("queue", |problems| self.queue.check(problems));
        problems.within("error", |problems| check_error(&self.error, problems));
        let speeds = speeds(&self.phy());
        problems.within("adaptation", |problems| self.adaptation.check(&speeds, problems));
        for (place, stations) in self.stations.iter().enumerate() {
            let Stations::Group(group) = stations else { continue };
            let check = |problems: &mut Problems| {
                match (&group.name, &group.prefix, group.count) {
                    (Some(_), None, None) | (None, Some(_), Some(_)) => {}
                    _ => problems.add("", "allowed: `name`, or `prefix` with `count`"),
                }
                if let Some(error) = &group.error {
                    problems.within("error", |problems| check_error(error, problems));
                }
                if let Some(adaptation) = &group.adaptation {
                    problems.within("adaptation", |problems| adaptation.check(&speeds, problems));
                }
            };
            problems.within("stations", |problems| problems.within(place.to_string(), check));
        }
    }
}

/// Checks an error process of frames and adds its problems to `problems`. The check sequence of a
/// frame detects every error.
fn check_error(error: &channel::Config, problems: &mut Problems) {
    error.check(problems);
    if error.effect() != Effect::Drop {
        problems
            .add("effect", "receivers ignore corrupted frames by their check sequence; allowed: \"drop\"");
    }
}

/// Returns the rates of a physical layer for adapters, the slowest first.
pub fn speeds(phy: &Phy) -> Vec<Speed> {
    let answer = phy.sifs + phy.lowest_ack();
    let of = |index: usize| {
        let airtime = phy.data(index, 1200);
        Speed {
            rate: phy.mode(index).rate(),
            index,
            airtime,
            further: phy.data(index, 2400) - airtime,
            answer,
        }
    };
    phy.by_speed().into_iter().map(of).collect()
}

/// Returns the access parameters of DCF, which has one category.
fn dcf(phy: &Phy) -> Access {
    Access { aifs: 2, cw_min: u32::from(phy.cw_min), cw_max: u32::from(phy.cw_max), txop: Span::ZERO }
}

/// Returns the categories of EDCA: voice, video, best effort and background (IEEE 802.11-2016,
/// table 9-137).
fn categories(phy: &Phy) -> [Access; 4] {
    let (least, most) = (u32::from(phy.cw_min), u32::from(phy.cw_max));
    let slow = phy.mode(0).kbit_s == 1000;
    let micros = |ofdm, dsss| Span::from_micros(if slow { dsss } else { ofdm });
    let access = |aifs, cw_min, cw_max, txop| Access { aifs, cw_min, cw_max, txop };
    [
        access(2, least.div_ceil(4) - 1, least.div_ceil(2) - 1, micros(1504, 3264)),
        access(2, least.div_ceil(2) - 1, least, micros(3008, 6016)),
        access(3, least, most, Span::ZERO),
        access(7, least, most, Span::ZERO),
    ]
}

/// Returns the category of a DSCP by RFC 8325, figure 1: 0 for voice, 1 for video, 2 for best
/// effort, 3 for background.
pub fn category(dscp: u8) -> usize {
    match dscp {
        // Network control (CS6, CS7), EF and VA: user priorities 7 and 6.
        44 | 46 | 48 | 56 => 0,
        // Signalling CS5, AF4x, CS4, AF3x, CS3: user priorities 5 and 4.
        24 | 26 | 28 | 30 | 32 | 34 | 36 | 38 | 40 => 1,
        // CS1: user priority 1.
        8 => 3,
        _ => 2,
    }
}
