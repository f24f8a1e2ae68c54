//! A TCP segment. A packet stores it in place, because boxing it would cost one allocation per
//! packet.

use super::quick_start::QuickStart;
use std::fmt;

/// TCP header of a segment (RFC 9293, section 3.1) without the ports, which the flow represents.
/// The payload's length follows from the packet's size; [`Segment::payload`] repeats it for speed.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Sequence number of the first payload byte (of the SYN when that flag is set).
    pub sequence: u32,
    /// Next byte expected; valid with the ACK flag.
    pub acknowledgment: u32,
    /// Receive window in bytes, after window scaling (a multiple of 2^scale except on SYN).
    pub window: u32,
    /// Length of the payload in bytes.
    pub payload: u16,
    /// Control flags: SYN, ACK, FIN and others.
    pub flags: SegmentFlags,
    /// Timestamp value and echo (RFC 7323), when that option is in use: 12 bytes of header with
    /// padding.
    pub timestamps: Option<Timestamps>,
    /// Options that few segments carry.
    pub options: Option<Box<SegmentOptions>>,
}

/// A timestamp value and its echo (RFC 7323), kept as bytes: without alignment, a [`Packet`] has no
/// padding for them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    value: [u8; 4],
    echo: [u8; 4],
}

impl Timestamps {
    /// Creates timestamps from the sender's clock and the echoed clock.
    #[inline]
    pub const fn new(value: u32, echo: u32) -> Timestamps {
        Timestamps { value: value.to_ne_bytes(), echo: echo.to_ne_bytes() }
    }

    /// Returns the value of the sender's clock (TSval).
    #[inline]
    pub const fn value(self) -> u32 {
        u32::from_ne_bytes(self.value)
    }

    /// Returns the echoed clock of the other side, as the sender last saw it (TSecr).
    #[inline]
    pub const fn echo(self) -> u32 {
        u32::from_ne_bytes(self.echo)
    }
}

impl fmt::Debug for Timestamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.value(), self.echo())
    }
}

/// TCP options other than timestamps, and other rare fields. Their bytes are part of the packet's
/// size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentOptions {
    /// Maximum segment size (RFC 9293, section 3.7.1), on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift count (RFC 7323), on SYN only.
    pub window_scale: Option<u8>,
    /// Selective acknowledgment permitted (RFC 2018), on SYN only.
    pub sack_permitted: bool,
    /// Selective acknowledgments (RFC 2018).
    pub sack: SackBlocks,
    /// Quick-Start request to the path, an option of the IP header (RFC 4782, section 3.1).
    pub quick_start: Option<QuickStart>,
    /// True if the sender understands selective negative acknowledgments: SCPS capabilities, on SYN
    /// only (CCSDS 714.0-B-2).
    pub snack_permitted: bool,
    /// Selective negative acknowledgment (CCSDS 714.0-B-2).
    pub snack: Option<Snack>,
    /// Quick-Start rate that the path has granted to the other end (RFC 4782, section 4.2), coded
    /// as [`QuickStart::rate`].
    pub granted: Option<u8>,
    /// Byte counters of accurate ECN (RFC 9768, section 3.2.3).
    pub ecn_bytes: Option<EcnBytes>,
}

/// Control flags of a segment as a bit set. The bits are those of the TCP header's flag byte,
/// except [`AE`](Self::AE): the header has it in the byte before. The set stores it in the place of
/// URG, because the model has no urgent data.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentFlags(pub u8);

impl SegmentFlags {
    /// FIN: the sender has no more data.
    pub const FIN: SegmentFlags = SegmentFlags(0x01);
    /// SYN: the segment opens a connection.
    pub const SYN: SegmentFlags = SegmentFlags(0x02);
    /// RST: the segment resets the connection.
    pub const RST: SegmentFlags = SegmentFlags(0x04);
    /// PSH: the receiver should pass the data to its application at once.
    pub const PSH: SegmentFlags = SegmentFlags(0x08);
    /// ACK: the acknowledgment field is valid.
    pub const ACK: SegmentFlags = SegmentFlags(0x10);
    /// AE: accurate ECN (RFC 9768).
    pub const AE: SegmentFlags = SegmentFlags(0x20);
    /// ECE: ECN echo (RFC 3168).
    pub const ECE: SegmentFlags = SegmentFlags(0x40);
    /// CWR: congestion window reduced (RFC 3168).
    pub const CWR: SegmentFlags = SegmentFlags(0x80);

    /// Returns true if this set contains all flags of `other`.
    #[inline]
    pub const fn contains(self, other: SegmentFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the flags AE, CWR and ECE as a number, most significant first (the field ACE of RFC
    /// 9768, section 3.2.2).
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0 & Self::AE.0) >> 3 | self.0 >> 6
    }

    /// Returns the flags AE, CWR and ECE that represent the three least significant bits of `ace`.
    #[inline]
    pub const fn of_ace(ace: u8) -> SegmentFlags {
        SegmentFlags((ace & 4) << 3 | ace << 6)
    }

    /// Returns the flags in the flag byte of a TCP header, without URG.
    #[inline]
    pub const fn of_header_byte(byte: u8) -> SegmentFlags {
        SegmentFlags(byte & !Self::AE.0)
    }

    /// Returns the flag byte of the TCP header.
    #[inline]
    pub const fn header_byte(self) -> u8 {
        self.0 & !Self::AE.0
    }

    /// Returns the union of this set and `other`.
    #[inline]
    pub const fn with(self, other: SegmentFlags) -> SegmentFlags {
        SegmentFlags(self.0 | other.0)
    }
}

impl fmt::Debug for SegmentFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::FIN, "FIN"),
            (Self::SYN, "SYN"),
            (Self::RST, "RST"),
            (Self::PSH, "PSH"),
            (Self::ACK, "ACK"),
            (Self::ECE, "ECE"),
            (Self::CWR, "CWR"),
            (Self::AE, "AE"),
        ];
        let set: Vec<_> =
            names.iter().filter(|(flag, _)| self.contains(*flag)).map(|(_, name)| *name).collect();
        f.write_str(&set.join("|"))
    }
}

/// Up to four SACK blocks (RFC 2018, section 3), each `[left, right)` in sequence numbers, newest
/// first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Appends a block. A fifth block is ignored, because the option has no room for it.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(slot) = self.blocks.get_mut(self.count as usize) {
            *slot = (left, right);
            self.count += 1;
        }
    }

    /// Removes the blocks after the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.count = self.count.min(count as u8);
    }

    /// Returns the blocks, each with its first sequence number and the one after its last.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count as usize]
    }
}

/// A selective negative acknowledgment of SCPS-TP (CCSDS 714.0-B-2): the data missing above the
/// acknowledged byte, in units of the sender's full segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snack {
    /// Distance from the acknowledged byte to the first hole (Hole1 Offset).
    pub offset: u16,
    /// Length of the first hole (Hole1 Size).
    pub size: u16,
    /// Bit vector of the units after the first hole, lowest bit first: 1 for a received unit.
    pub vector: u128,
    /// Number of valid bits in the vector.
    pub bits: u8,
}

impl Snack {
    /// Returns the size of the option in bytes.
    pub fn bytes(&self) -> u32 {
        6 + u32::from(self.bits).div_ceil(8)
    }
}

/// The AccECN option of a segment (RFC 9768, section 3.2.3): numbers of payload bytes that have
/// arrived with each ECN code point, modulo 2^24.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnBytes {
    /// The order of the fields, which the option's kind states.
    pub order: EcnOrder,
    fields: [u32; 3],
    count: u8,
}

/// The order of the fields in an AccECN option (RFC 9768, section 3.2.3, figure 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EcnOrder {
    /// Order 0: ECT(0), CE, ECT(1).
    #[default]
    Ect0First,
    /// Order 1: ECT(1), CE, ECT(0).
    Ect1First,
}

impl EcnBytes {
    /// Creates an option with the first `count` fields, at most three. The values are in the order
    /// ECT(0), CE, ECT(1).
    pub fn new(order: EcnOrder, [ect0, ce, ect1]: [u32; 3], count: usize) -> EcnBytes {
        let fields = match order {
            EcnOrder::Ect0First => [ect0, ce, ect1],
            EcnOrder::Ect1First => [ect1, ce, ect0],
        };
        EcnBytes { order, fields: fields.map(|field| field & 0x00ff_ffff), count: count.min(3) as u8 }
    }

    /// Returns the fields in their order on the wire.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..self.count.into()]
    }

    /// Returns the counters of ECT(0), CE and ECT(1); `None` for a missing field.
    pub fn counters(&self) -> [Option<u32>; 3] {
        let field = |index: usize| self.fields().get(index).copied();
        match self.order {
            EcnOrder::Ect0First => [field(0), field(1), field(2)],
            EcnOrder::Ect1First => [field(2), field(1), field(0)],
        }
    }

    /// Returns the size of the option in bytes, without padding (table 5).
    pub fn bytes(&self) -> u32 {
        2 + 3 * u32::from(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, section 3.2.2: ACE is the number of the bits AE, CWR and ECE.
    #[test]
    fn three_flags_form_the_field_ace() {
        let flags = [SegmentFlags::ECE, SegmentFlags::CWR, SegmentFlags::AE];
        assert_eq!(flags.map(SegmentFlags::ace), [0b001, 0b010, 0b100]);
        for ace in 0..8 {
            let flags = SegmentFlags::ACK.with(SegmentFlags::of_ace(ace));
            assert_eq!(flags.ace(), ace);
            assert_eq!(flags.header_byte() & 0x3f, SegmentFlags::ACK.0);
        }
    }

    /// RFC 9768, table 5: length and fields of both orders.
    #[test]
    fn an_option_has_the_first_fields_of_its_order() {
        let counters = [10, 20, 30];
        let ect0 = |count| EcnBytes::new(EcnOrder::Ect0First, counters, count);
        let ect1 = |count| EcnBytes::new(EcnOrder::Ect1First, counters, count);
        assert_eq!([0, 1, 2, 3].map(|count| ect0(count).bytes()), [2, 5, 8, 11]);
        assert_eq!((ect0(3).fields(), ect1(3).fields()), (&[10, 20, 30][..], &[30, 20, 10][..]));
        assert_eq!(ect0(2).counters(), [Some(10), Some(20), None]);
        assert_eq!(ect1(1).counters(), [None, None, Some(30)]);
        assert_eq!(EcnBytes::new(EcnOrder::Ect0First, [(1 << 24) + 5, 0, 0], 1).fields(), [5]);
    }
}
