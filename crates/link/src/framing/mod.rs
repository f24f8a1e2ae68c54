//! Framings: the placement of packets into the units that a link transmits, byte for byte. One file
//! per framing.
//!
//! A framing turns a stream of packets into a stream of units of one size: ATM cells, MPEG
//! transport stream packets, or other carriers (a baseband frame, a burst). A packet costs the
//! units that it starts. A framing that packs first fills the unit that the previous packet left
//! open, unless that unit is already being sent. The rest of a unit is padding.
//!
//! Errors affect units. A lost unit loses every packet that has bytes in it ([`Verdicts`]).
//!
//! A [link](crate::Link) sends units one after the other. A DAMA terminal puts them into its slots.

pub mod atm;
pub mod fragments;
pub mod gse;
pub mod mpe;
pub mod none;
pub mod rle;
pub mod space;
pub mod transport_stream;
pub mod ule;

use crate::channel::{self, Errors, Fate};
use bentpipe_core::{kinds, math, Problems, Stream, Time};
use bentpipe_stage::{DropReason, Packet};

/// Drop reason: the packet is longer than the framing's length field can express.
pub const TOO_LONG: DropReason = DropReason::new("longer than the framing can carry");

kinds! {
    /// The framing: the placement of packets into the units that a link transmits. It determines
    /// the overhead, and the packets lost by an error.
    #[schemars(rename = "Framing")]
    pub enum Config: Framing {
        "none" => None(none::Config),
        "atm" => Atm(atm::Config),
        "mpe" => Mpe(mpe::Config),
        "ule" => Ule(ule::Config),
        "gse" => Gse(gse::Config),
        "rle" => Rle(rle::Config),
        "space" => Space(space::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// The factory of a framing, implemented by its `Config`.
pub trait Framing {
    /// Builds the framing of one stream of packets; `None` if packets are sent without framing.
    /// `carrier` is the size of a burst in bytes, for framings that fill bursts.
    fn build(&self, carrier: Option<u32>) -> Option<Box<dyn Framer>>;

    /// Returns the size in bytes of the longest packet that the framing can carry.
    fn longest(&self) -> u32;

    /// Adds the problems of this configuration; `carrier` as in [`Framing::build`].
    fn check(&self, carrier: Option<u32>, problems: &mut Problems);
}

/// The cost of a packet: the bytes that the framing adds, and the units in which it travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Number of units that start with the packet.
    pub units: u32,
    /// True if the packet's first bytes lie in the unit that the previous packet left open.
    pub shares: bool,
}

/// A framer of one stream of packets.
pub trait Framer: Send {
    /// Returns the size of a unit in bytes, as transmitted.
    fn unit(&self) -> u32;

    /// Adds a packet of `size` bytes. With `open`, the last unit can still be filled.
    fn add(&mut self, size: u32, open: bool) -> Added;

    /// Returns true if the last unit has room for the first bytes of another packet.
    fn has_room(&self) -> bool {
        false
    }

    /// Returns true if the loss of a packet's last unit also loses the next packet.
    fn merges(&self) -> bool {
        false
    }

    /// Returns true if empty units are sent while there is nothing to send, so that a packet waits
    /// for the end of one.
    fn idles(&self) -> bool {
        false
    }
}

/// The element that one error destroys: a cell, an MPEG packet, a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unit {
    /// Size of the unit in bytes.
    pub bytes: u32,
    /// True if the loss of a packet's last unit also loses the next packet.
    pub merges: bool,
}

impl Unit {
    /// Returns the unit of a framing.
    pub fn of(framer: &dyn Framer) -> Unit {
        Unit { bytes: framer.unit(), merges: framer.merges() }
    }
}

/// The framing of packets of one size that follow each other without a pause.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Framed {
    /// Bytes of packets per byte sent.
    pub efficiency: f64,
    /// Size of a unit in bytes, if packets are put into units.
    pub unit: Option<u32>,
    /// Mean number of units that must all arrive for a packet to arrive.
    pub units: f64,
}

impl Framed {
    /// Returns the expected fraction of packets of `bytes` that `error` corrupts, if `packets` of
    /// them are sent.
    pub fn loss(self, error: &channel::Config, bytes: u32, packets: u64) -> f64 {
        let units = (packets as f64 * self.units).round() as u64;
        let of_unit = error.expected_loss(units, f64::from(self.unit.unwrap_or(bytes)));
        1.0 - math::powf(1.0 - of_unit, self.units)
    }
}

impl Config {
    /// Returns true if empty units are sent while there is nothing to send.
    pub fn idles(&self) -> bool {
        matches!(self, Config::Space(space) if space.idle_frames)
    }

    /// Returns true if the units are baseband frames, whose size depends on the MODCOD.
    pub fn has_frames(&self) -> bool {
        matches!(self, Config::Gse(_))
    }

    /// Frames packets of `bytes`; `carrier` as in [`Framing::build`].
    pub fn framed(&self, carrier: Option<u32>, bytes: u32) -> Framed {
        const PACKETS: u32 = 1000;
        let Some(mut framer) = self.build(carrier) else {
            return Framed { efficiency: 1.0, unit: None, units: 1.0 };
        };
        let (mut begun, mut shared) = (0, 0);
        for index in 0..PACKETS {
            let added = framer.add(bytes, index > 0);
            begun += added.units;
            shared += u32::from(added.shares);
        }
        let sent = f64::from(begun) * f64::from(framer.unit());
        Framed {
            efficiency: f64::from(bytes) * f64::from(PACKETS) / sent,
            unit: Some(framer.unit()),
            units: f64::from(begun + shared) / f64::from(PACKETS) + f64::from(u8::from(framer.merges())),
        }
    }
}

/// The lost units of a stream that still affect future packets.
#[derive(Default)]
pub struct Verdicts {
    last: bool,
}

impl Verdicts {
    /// Decides the fate of the next packet of the stream, which costs `added` units and whose last
    /// bit arrives at `now`.
    pub fn meet(
        &mut self,
        unit: Unit,
        added: Added,
        errors: &mut Errors,
        now: Time,
        packet: &mut Packet,
        stream: &mut Stream,
    ) -> Fate {
        let mut lost = self.last && (added.shares || unit.merges);
        for _ in 0..added.units {
            self.last = errors.loses_unit(now, unit.bytes, stream);
            lost |= self.last;
        }
        match lost {
            true => errors.corrupt(packet, stream),
            false => Fate::Intact,
        }
    }
}

/// Adds a problem if a slot does not hold a whole number of units.
fn check_divides(unit: u32, what: &str, carrier: Option<u32>, problems: &mut Problems) {
    if let Some(bytes) = carrier.filter(|bytes| bytes % unit != 0) {
        let message = format!(
            "a slot of {bytes} bytes holds {} {what} of {unit} bytes and leaves {} bytes unused; \
             allowed: slots of whole {what}, such as {} bytes",
            bytes / unit,
            bytes % unit,
            bytes.div_ceil(unit) * unit
        );
        problems.add("", message);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the cost of packets that follow each other without a pause.
    pub fn units(config: &dyn Framing, carrier: Option<u32>, sizes: &[u32]) -> Vec<(u32, bool)> {
        let mut framer = config.build(carrier).unwrap();
        let add = |(index, size): (usize, &u32)| framer.add(*size, index > 0);
        sizes.iter().enumerate().map(add).map(|added| (added.units, added.shares)).collect()
    }

    fn all() -> Vec<(Config, Option<u32>)> {
        let parse = |text: &str| serde_json::from_str::<Config>(text).unwrap();
        vec![
            (parse(r#"{"atm": {}}"#), None),
            (parse(r#"{"atm": {"encapsulation": "vc"}}"#), None),
            (parse(r#"{"mpe": {}}"#), None),
            (parse(r#"{"mpe": {"packing": false, "llc_snap": true}}"#), None),
            (parse(r#"{"ule": {}}"#), None),
            (parse(r#"{"ule": {"packing": false, "address": false}}"#), None),
            (parse(r#"{"gse": {"frame": 100}}"#), None),
            (parse(r#"{"gse": {"label": 6}}"#), Some(38)),
            (parse(r#"{"space": {}}"#), None),
            (parse(r#"{"rle": {}}"#), Some(38)),
            (parse(r#"{"rle": {"trailer": "crc", "protocol": "full"}}"#), Some(599)),
        ]
    }

    proptest! {
        #[test]
        fn units_contain_all_packets_with_limited_padding(
            sizes in prop::collection::vec((20u32..2000, any::<bool>()), 1..60),
        ) {
            for (config, carrier) in all() {
                let mut framer = config.build(carrier).unwrap();
                let (mut total, mut units) = (0u64, 0u64);
                for (index, (size, open)) in sizes.iter().enumerate() {
                    let open = *open && index > 0;
                    let added = framer.add(*size, open);
                    prop_assert!(added.units > 0 || added.shares, "{config:?} loses a packet");
                    prop_assert!(open || !added.shares);
                    // Alone, a packet takes at least the time of its bytes.
                    prop_assert!(added.shares || added.units * framer.unit() >= *size);
                    total += u64::from(*size);
                    units += u64::from(added.units);
                }
                prop_assert!(units * u64::from(framer.unit()) >= total, "{config:?}");
            }
        }
    }

    #[test]
    fn a_lost_unit_loses_every_packet_with_bytes_in_it() {
        // Three packets of 100 bytes by ULE: 108 + pointer in the first unit, the second in the
        // rest of it and in the next.
        let config: Config = serde_json::from_str(r#"{"ule": {}}"#).unwrap();
        let mut framer = config.build(None).unwrap();
        let added: Vec<Added> = (0..3).map(|index| framer.add(100, index > 0)).collect();
        assert_eq!(
            added.iter().map(|added| (added.units, added.shares)).collect::<Vec<_>>(),
            [(1, false), (1, true), (0, true)]
        );
        let channel: crate::channel::Config =
            serde_json::from_str(r#"{"packet": {"probability": 0.5}}"#).unwrap();
        let mut stream = bentpipe_core::Streams::new(1, 0).stream("units");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let (mut errors, mut verdicts) = (channel.errors().unwrap(), Verdicts::default());
            let fates: Vec<bool> = added
                .iter()
                .map(|added| {
                    let mut packet = Packet::default();
                    verdicts.meet(
                        Unit::of(&*framer),
                        *added,
                        &mut errors,
                        Time::ZERO,
                        &mut packet,
                        &mut stream,
                    ) == Fate::Lost
                })
                .collect();
            seen.insert(fates);
        }
        // First unit lost or not, second unit lost or not.
        let expected = [[false, false, false], [false, true, true], [true, true, false], [true, true, true]];
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    }
}
