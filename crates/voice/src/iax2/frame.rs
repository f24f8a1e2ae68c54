//! Frames of IAX2 (RFC 5456, section 8): full frames of 12 bytes and more, mini frames of 4 bytes
//! and a payload, and trunk frames that carry the voice of several calls.
//!
//! A trunk frame begins with 8 bytes. An entry without a time stamp consists of call number, length
//! and payload. An entry with a time stamp consists of length, call number, time stamp and payload
//! (section 8.1.3.2).

/// Size of the header of a full frame, in bytes.
pub const FULL: usize = 12;
/// Size of the header of a mini frame, in bytes.
pub const MINI: usize = 4;
/// Size of the header of a trunk frame, in bytes.
pub const TRUNK: usize = 8;

/// The reason why bytes are not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes are shorter than a header or an entry of a trunk.
    Short,
    /// The frame is a meta frame other than a trunk frame.
    Meta,
    /// The frame is speech whose subclass is a power of 2 beyond the 32 bits of media formats (RFC
    /// 5456, section 8.7).
    Format,
}

/// A frame of IAX2, the content of a datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A full frame: signalling, or speech with its codec.
    Full(Full, &'a [u8]),
    /// A mini frame: speech in the codec of the last full frame.
    Mini(Voice<'a>),
    /// A trunk frame: speech of several calls.
    Trunk(Vec<Voice<'a>>),
}

/// The speech of a call in a mini frame or in the entry of a trunk frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Voice<'a> {
    /// The sender's number of the call, 1 to 32767.
    pub call: u16,
    /// The low 16 bits of the time stamp in ms. In a trunk frame without time stamps per entry,
    /// this is the time stamp of the trunk frame.
    pub timestamp: u16,
    /// The encoded speech of the frame.
    pub payload: &'a [u8],
}

/// The header of a full frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Full {
    /// The sender's number of the call, 1 to 32767.
    pub source: u16,
    /// The receiver's number of the call; 0 while it is unknown.
    pub destination: u16,
    /// True if the frame is a retransmission.
    pub retransmitted: bool,
    /// Milliseconds since the call began at the sender.
    pub timestamp: u32,
    /// Sequence number of the frame among the sender's reliable frames of this call (OSeqno).
    pub oseqno: u8,
    /// Sequence number of the receiver's frame that the sender expects next (ISeqno).
    pub expected: u8,
    /// The type of the frame and its subclass.
    pub kind: Kind,
}

/// Frame type and subclass of a full frame (RFC 5456, sections 8.2 to 8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Speech in a codec (section 8.7).
    Voice(Codec),
    /// A control frame, with a subclass of [`control`].
    Control(u8),
    /// An IAX control frame, with a subclass of [`iax`] and information elements.
    Iax(u8),
    /// A frame of another type: its number and its subclass byte.
    Other(u8, u8),
}

impl Default for Kind {
    /// Returns a null frame (section 8.2.5).
    fn default() -> Kind {
        Kind::Other(5, 0)
    }
}

/// A codec as a bit, or several as a mask of bits (section 8.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codec(pub u32);

impl Codec {
    /// Returns the codec with this name in RTP.
    pub fn of(encoding: &str) -> Option<Codec> {
        FORMATS.iter().find(|(_, name)| name.eq_ignore_ascii_case(encoding)).map(|(bit, _)| Codec(*bit))
    }

    /// Returns the name of the codec in RTP, if the mask has a single known codec.
    pub fn encoding(self) -> Option<&'static str> {
        FORMATS.iter().find(|(bit, _)| *bit == self.0).map(|(_, name)| *name)
    }
}

/// The bits of the codecs (section 8.7) and their names in RTP.
pub const FORMATS: [(u32, &str); 6] =
    [(0x1, "G723"), (0x2, "GSM"), (0x4, "PCMU"), (0x8, "PCMA"), (0x100, "G729"), (0x400, "iLBC")];

/// The subclasses of control frames (section 8.3).
pub mod control {
    /// The other party has hung up.
    pub const HANGUP: u8 = 1;
    /// The called telephone rings.
    pub const RINGING: u8 = 3;
    /// The called telephone was answered.
    pub const ANSWER: u8 = 4;
    /// The called party is busy.
    pub const BUSY: u8 = 5;
    /// The exchange has no capacity for the call.
    pub const CONGESTION: u8 = 8;
}

/// The subclasses of IAX frames (section 8.4).
pub mod iax {
    /// Places a call to a number.
    pub const NEW: u8 = 1;
    /// Tests whether the other end of a call is alive.
    pub const PING: u8 = 2;
    /// Answers a PING or a POKE.
    pub const PONG: u8 = 3;
    /// Acknowledges a full frame.
    pub const ACK: u8 = 4;
    /// Ends a call in any state.
    pub const HANGUP: u8 = 5;
    /// Refuses a call with a cause.
    pub const REJECT: u8 = 6;
    /// Accepts a call and names its codec.
    pub const ACCEPT: u8 = 7;
    /// Informs the sender of a frame that its call is unknown.
    pub const INVAL: u8 = 10;
    /// Requests an answer, which measures the round-trip time.
    pub const LAGRQ: u8 = 11;
    /// Answers a LAGRQ with its time stamp.
    pub const LAGRP: u8 = 12;
    /// Registers the address of a user (section 6.1).
    pub const REGREQ: u8 = 13;
    /// Confirms a registration, or that it was removed.
    pub const REGACK: u8 = 15;
    /// Removes a registration.
    pub const REGREL: u8 = 17;
    /// Requests the retransmission of missing frames.
    pub const VNAK: u8 = 18;
    /// Tests whether an exchange is alive, outside of a call.
    pub const POKE: u8 = 30;
    /// Informs the sender of a frame that its subclass is not supported.
    pub const UNSUPPORT: u8 = 33;
}

/// The types of information elements (section 8.6).
pub mod element {
    /// The number that is called (called party).
    pub const CALLED: u8 = 1;
    /// The number of the caller (calling party).
    pub const CALLING: u8 = 2;
    /// Name of a user who registers.
    pub const USERNAME: u8 = 6;
    /// Codecs that the sender can decode, as a bit mask.
    pub const CAPABILITY: u8 = 8;
    /// Codec that the caller wants, or that the callee has chosen.
    pub const FORMAT: u8 = 9;
    /// Version of the protocol, which is 2.
    pub const VERSION: u8 = 11;
    /// Address from which a registration arrived, as a socket address of C.
    pub const APPARENT: u8 = 18;
    /// Time for which a registration holds, in seconds.
    pub const REFRESH: u8 = 19;
    /// Date and time of day, packed into 32 bits (section 8.6.28).
    pub const DATETIME: u8 = 31;
    /// Reason for which a call ended, in words.
    pub const CAUSE: u8 = 22;
    /// Reason for which a call ended, as a hangup cause of Q.931.
    pub const CAUSECODE: u8 = 42;
}

impl Kind {
    /// Returns the bytes of the frame type and of the subclass.
    fn bytes(self) -> [u8; 2] {
        match self {
            Kind::Voice(Codec(bit)) => [2, compressed(bit)],
            Kind::Control(subclass) => [4, subclass],
            Kind::Iax(subclass) => [6, subclass],
            Kind::Other(kind, subclass) => [kind, subclass],
        }
    }

    fn of(kind: u8, subclass: u8) -> Result<Kind, Malformed> {
        Ok(match kind {
            2 => Kind::Voice(Codec(expanded(subclass).ok_or(Malformed::Format)?)),
            4 => Kind::Control(subclass),
            6 => Kind::Iax(subclass),
            _ => Kind::Other(kind, subclass),
        })
    }
}

/// Returns the subclass byte of a frame of speech. A value above 127 is a power of 2 and is written
/// as its exponent with the highest bit set (section 8.1.1).
fn compressed(value: u32) -> u8 {
    if value < 128 {
        value as u8
    } else {
        0x80 | value.trailing_zeros() as u8
    }
}

/// Returns the value of a subclass byte; `None` if the value does not fit into 32 bits. Powers of 2
/// up to 64 have two encodings, both of one byte.
fn expanded(byte: u8) -> Option<u32> {
    if byte < 128 {
        Some(u32::from(byte))
    } else {
        1u32.checked_shl(u32::from(byte & 0x7f))
    }
}

impl Full {
    /// Returns the bytes of the frame, with `data` after its header.
    pub fn bytes(&self, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FULL + data.len());
        bytes.extend((0x8000 | self.source).to_be_bytes());
        bytes.extend((u16::from(self.retransmitted) << 15 | self.destination & 0x7fff).to_be_bytes());
        bytes.extend(self.timestamp.to_be_bytes());
        bytes.extend([self.oseqno, self.expected]);
        bytes.extend(self.kind.bytes());
        bytes.extend_from_slice(data);
        bytes
    }
}

impl<'a> Frame<'a> {
    /// Reads the frame that a datagram contains.
    ///
    /// # Errors
    /// Returns the reason why the datagram is not a frame.
    pub fn read(bytes: &'a [u8]) -> Result<Frame<'a>, Malformed> {
        let word = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let first = word(0).ok_or(Malformed::Short)?;
        if first == 0 {
            return trunk(bytes);
        }
        if first & 0x8000 == 0 {
            let timestamp = word(2).ok_or(Malformed::Short)?;
            return Ok(Frame::Mini(Voice { call: first, timestamp, payload: &bytes[MINI..] }));
        }
        let header: &[u8; FULL] = bytes.first_chunk().ok_or(Malformed::Short)?;
        let second = u16::from_be_bytes([header[2], header[3]]);
        let full = Full {
            source: first & 0x7fff,
            destination: second & 0x7fff,
            retransmitted: second & 0x8000 != 0,
            timestamp: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
            oseqno: header[8],
            expected: header[9],
            kind: Kind::of(header[10], header[11])?,
        };
        Ok(Frame::Full(full, &bytes[FULL..]))
    }
}

fn trunk(bytes: &[u8]) -> Result<Frame<'_>, Malformed> {
    let header: &[u8; TRUNK] = bytes.first_chunk().ok_or(Malformed::Short)?;
    if header[2] != 1 {
        return Err(Malformed::Meta);
    }
    let (stamped, common) = (header[3] & 1 == 1, u16::from_be_bytes([header[6], header[7]]));
    let (mut rest, mut entries) = (&bytes[TRUNK..], Vec::new());
    while !rest.is_empty() {
        let (head, tail) = rest.split_at_checked(entry(stamped)).ok_or(Malformed::Short)?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (call, length, timestamp) =
            if stamped { (word(2), word(0), word(4)) } else { (word(0), word(2), common) };
        let (payload, tail) = tail.split_at_checked(usize::from(length)).ok_or(Malformed::Short)?;
        entries.push(Voice { call: call & 0x7fff, timestamp, payload });
        rest = tail;
    }
    Ok(Frame::Trunk(entries))
}

/// Returns the bytes of a mini frame.
pub fn mini(call: u16, timestamp: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MINI + payload.len());
    bytes.extend((call & 0x7fff).to_be_bytes());
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns the size of the header of an entry in a trunk frame, in bytes. `stamped` is true if
/// entries have their own time stamps.
pub fn entry(stamped: bool) -> usize {
    if stamped {
        6
    } else {
        4
    }
}

/// Returns the bytes of a trunk frame with the time stamp `timestamp` and these entries. `stamped`
/// is true if entries have their own time stamps.
pub fn trunk_of<'a>(timestamp: u32, stamped: bool, entries: impl Iterator<Item = Voice<'a>>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 1, u8::from(stamped)];
    bytes.extend(timestamp.to_be_bytes());
    for Voice { call, timestamp, payload } in entries {
        let (call, length) = (call.to_be_bytes(), (payload.len() as u16).to_be_bytes());
        if stamped {
            bytes.extend(length);
            bytes.extend(call);
            bytes.extend(timestamp.to_be_bytes());
        } else {
            bytes.extend(call);
            bytes.extend(length);
        }
        bytes.extend_from_slice(payload);
    }
    bytes
}

/// Appends an information element to `data`. A value of more than 255 bytes is truncated.
pub fn push(data: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let value = &value[..value.len().min(255)];
    data.extend([kind, value.len() as u8]);
    data.extend_from_slice(value);
}

/// Returns the value of the first information element of a kind.
pub fn find(mut data: &[u8], kind: u8) -> Option<&[u8]> {
    while let [known, length, rest @ ..] = data {
        let (value, tail) = rest.split_at_checked(usize::from(*length))?;
        if *known == kind {
            return Some(value);
        }
        data = tail;
    }
    None
}

/// Returns the number in an information element of 1, 2 or 4 bytes.
pub fn number(data: &[u8], kind: u8) -> Option<u32> {
    let value = find(data, kind).filter(|value| matches!(value.len(), 1 | 2 | 4))?;
    Some(value.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_frame_has_the_format_of_figure_5() {
        let full = Full {
            source: 0x1234,
            destination: 0x0567,
            retransmitted: true,
            timestamp: 0x0102_0304,
            oseqno: 5,
            expected: 6,
            kind: Kind::Iax(iax::NEW),
        };
        let mut data = Vec::new();
        push(&mut data, element::VERSION, &[0, 2]);
        let bytes = full.bytes(&data);
        assert_eq!(bytes, [0x92, 0x34, 0x85, 0x67, 1, 2, 3, 4, 5, 6, 6, 1, 11, 2, 0, 2]);
        assert_eq!(Frame::read(&bytes), Ok(Frame::Full(full, &data)));
        assert_eq!(number(&data, element::VERSION), Some(2));
        // iLBC is bit 10 and G.729 is bit 8, so their subclasses are written as exponents. The
        // subclasses of GSM and PCMU are the values of their bits.
        for (encoding, byte) in [("iLBC", 0x8a), ("G729", 0x88), ("GSM", 2), ("PCMU", 4)] {
            let kind = Kind::Voice(Codec::of(encoding).unwrap());
            assert_eq!(kind.bytes(), [2, byte]);
            assert_eq!(Kind::of(2, byte), Ok(kind));
        }
    }

    /// Compares the sizes of mini frames and trunk frames, with IPv4 and UDP headers, for every
    /// codec and number of calls of the reference.
    #[test]
    fn sizes_match_the_reference() {
        let mut rows = 0;
        for row in include_str!("../../../../tests/authorities/voip/iax2_trunk_bytes.csv").lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let [codec, calls, rtp, minis, plain, stamped, kbps] = cells[..] else { panic!("{row}") };
            let whole = |text: &str| text.parse::<usize>().unwrap();
            let calls = whole(calls);
            let payload = vec![0; whole(rtp) / calls - 40];
            let voice = |call| Voice { call, timestamp: 0, payload: &payload };
            assert_eq!(calls * (28 + mini(1, 0, &payload).len()), whole(minis), "{row}");
            for (with, size) in [(false, plain), (true, stamped)] {
                let bytes = trunk_of(0, with, (1..=calls as u16).map(voice));
                assert_eq!(28 + bytes.len(), whole(size), "{row}");
                let Ok(Frame::Trunk(entries)) = Frame::read(&bytes) else { panic!("{row}") };
                assert_eq!(entries, (1..=calls as u16).map(voice).collect::<Vec<_>>());
            }
            let period = if codec == "iLBC 30 ms" { 30.0 } else { 20.0 };
            assert!(
                (whole(stamped) as f64 * 8.0 / period - kbps.parse::<f64>().unwrap()).abs() < 5.1e-4,
                "{row}"
            );
            rows += 1;
        }
        assert_eq!(rows, 20);
    }

    /// Section 8.1.1: with the highest bit set, the subclass is the exponent of a power of 2. 0xa0,
    /// an exponent of 32, exceeds the 32 bits of the formats. A codec below 128 is written as its
    /// value, but both encodings are accepted.
    #[test]
    fn both_encodings_of_the_subclass_of_speech_are_accepted() {
        let frame = |subclass: u8| [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, subclass];
        let bit = |subclass: u8| match Frame::read(&frame(subclass)) {
            Ok(Frame::Full(Full { kind: Kind::Voice(Codec(bit)), .. }, [])) => Ok(bit),
            Err(malformed) => Err(malformed),
            other => panic!("{other:?}"),
        };
        assert_eq!((bit(4), bit(0x82), bit(0x8a)), (Ok(4), Ok(4), Ok(0x400)));
        assert_eq!(
            (bit(0x9f), bit(0xa0), bit(0xff)),
            (Ok(1 << 31), Err(Malformed::Format), Err(Malformed::Format))
        );
        let read = frame(0x82);
        let Ok(Frame::Full(full, data)) = Frame::read(&read) else { panic!() };
        assert_eq!(full.bytes(data), frame(4));
    }

    /// Generates datagrams: arbitrary bytes, and arbitrary bytes after the beginning of a full
    /// frame of speech or of a trunk frame.
    fn datagrams() -> impl Strategy<Value = Vec<u8>> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..80);
        let speech = (any::<[u8; 10]>(), any::<u8>(), bytes()).prop_map(|(head, subclass, data)| {
            [&[head[0] | 0x80][..], &head[1..], &[2, subclass], &data].concat()
        });
        let trunk = (any::<bool>(), bytes())
            .prop_map(|(stamped, data)| [&[0, 0, 1, u8::from(stamped)][..], &data].concat());
        prop_oneof![bytes(), speech, trunk]
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_parsed_or_refused(bytes in datagrams()) {
            match Frame::read(&bytes) {
                Ok(Frame::Full(full, data)) => {
                    let mut shortest = bytes.clone();
                    if bytes[10] == 2 && (0x80..0x87).contains(&bytes[11]) {
                        shortest[11] = 1 << (bytes[11] & 0x7f);
                    }
                    prop_assert_eq!(full.bytes(data), shortest);
                }
                Ok(Frame::Mini(voice)) => prop_assert_eq!(mini(voice.call, voice.timestamp, voice.payload), bytes),
                Ok(Frame::Trunk(entries)) => {
                    prop_assert!(entries.iter().map(|voice| voice.payload.len() + 4).sum::<usize>() + TRUNK <= bytes.len());
                }
                Err(Malformed::Format) => prop_assert!(bytes[10] == 2 && bytes[11] >= 0xa0),
                Err(Malformed::Short | Malformed::Meta) => {}
            }
        }
    }
}
