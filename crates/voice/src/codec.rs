//! Speech codecs: their frames and packets, and their ratings in the E-model.

use bentpipe_core::{Count, Problems};

/// Number of codec frames in a packet: the value of the key `frames` of an application.
pub type Frames = Count<1, 24>;

/// A speech codec in one of its modes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// Name of the codec, as in G.113 or in its own standard.
    pub name: &'static str,
    /// Duration in milliseconds of the speech in a frame.
    pub frame_ms: f64,
    /// Size of a frame in an RTP payload, in bytes.
    pub frame_bytes: u32,
    /// The equipment impairment factor Ie of G.107, without packet loss.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl in per cent.
    pub bpl: f64,
    /// A note if Ie or Bpl is not a value of a standard.
    pub assumed: Option<&'static str>,
    /// The documents that contain the values.
    pub source: &'static str,
    /// Format of the codec's RTP packets.
    pub rtp: Format,
}

/// The RTP payload format of a codec.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Format {
    /// Payload type: the static one of RFC 3551, or one of the dynamic range.
    pub payload_type: u8,
    /// Clock rate: units of the RTP time stamp per second.
    pub clock: u32,
    /// Size of the payload header before the frames, in bytes.
    pub header: u32,
    /// Look-ahead: speech beyond the frame that the encoder needs, in milliseconds.
    pub lookahead_ms: f64,
    /// Comfort noise, sent in silence.
    pub noise: Noise,
}

/// The comfort noise of a codec, sent in silence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Noise {
    /// Payload type of its packets: that of the codec, or 13 for packets of RFC 3389.
    pub payload_type: u8,
    /// Size of its RTP payload in bytes.
    pub bytes: u32,
    /// Interval of repetition in milliseconds; 0 if it is sent only when silence begins.
    pub every_ms: f64,
}

impl Codec {
    /// Returns the size of an RTP payload with `frames` frames, in bytes.
    pub const fn payload(&self, frames: u32) -> u32 {
        self.rtp.header + frames * self.frame_bytes
    }

    /// Returns the default number of frames in a packet: the smallest number that contains at least
    /// 20 ms of speech.
    pub fn usual_frames(&self) -> u32 {
        (20.0 / self.frame_ms).ceil() as u32
    }

    /// Returns the number of frames in a packet: the chosen number, or the default.
    pub fn frames(&self, chosen: Option<Frames>) -> u32 {
        chosen.map_or(self.usual_frames(), |frames| frames.value() as u32)
    }

    /// Returns the maximum number of frames in a packet, which contains up to 240 ms of speech.
    pub fn max_frames(&self) -> u32 {
        (240.0 / self.frame_ms) as u32
    }

    /// Returns the duration of a frame in units of the RTP time stamp.
    pub fn frame_units(&self) -> u32 {
        (self.frame_ms * f64::from(self.rtp.clock) / 1e3) as u32
    }

    /// Returns true for the RTP payload type of this codec or of its comfort noise.
    pub fn understands(&self, payload_type: u8) -> bool {
        payload_type == self.rtp.payload_type || payload_type == self.rtp.noise.payload_type
    }
}

macro_rules! codecs {
    ($($name:literal $frame:literal ms $bytes:literal B, Ie $ie:literal Bpl $bpl:literal, $assumed:expr, $source:literal, $rtp:expr;)+) => {
        /// The codecs, in descending order of their bit rate.
        pub const CODECS: &[Codec] = &[$(Codec {
            name: $name,
            frame_ms: $frame,
            frame_bytes: $bytes,
            ie: $ie,
            bpl: $bpl,
            assumed: $assumed,
            source: $source,
            rtp: $rtp,
        }),+];
    };
}

/// Note for GSM-FR, which is in G.113 without a Bpl.
const LIKE_EFR: Option<&str> = Some("Bpl is assumed to be that of GSM-EFR: G.113 has none for this codec");
/// Note for iLBC, which is not in G.113.
const LIKE_G729: Option<&str> = Some("Ie and Bpl are assumed to be those of G.729A: G.113 has none for iLBC");
/// Note for AMR, which is not in G.113.
const AS_EFR: Option<&str> =
    Some("Ie and Bpl are assumed to be those of GSM-EFR, whose speech coding its 12.2 kbit/s mode has");
/// Note for Opus, which is not in G.113.
const FITTED: Option<&str> =
    Some("Ie and Bpl are those of a published fit (Alahmadi 2021, narrow band, random loss): G.113 has none for Opus");

/// Comfort noise of codecs that do not define their own: one byte with the noise level (RFC 3389).
const LEVEL: Noise = Noise { payload_type: 13, bytes: 1, every_ms: 0.0 };

const fn format(payload_type: u8, noise: Noise) -> Format {
    Format { payload_type, clock: 8000, header: 0, lookahead_ms: 0.0, noise }
}

/// Returns a format whose comfort noise is the codec's own description of silence. It has the
/// payload type of the speech.
const fn own(payload_type: u8, bytes: u32, every_ms: f64) -> Format {
    format(payload_type, Noise { payload_type, bytes, every_ms })
}

/// Returns the format of G.711 (payload type 0 or 8) and iLBC (dynamic), which have no header and
/// no look-ahead.
const fn plain(payload_type: u8) -> Format {
    format(payload_type, LEVEL)
}

/// Format of AMR: one codec mode request before the frames (RFC 4867). The description of silence
/// has 5 bytes and is repeated every eighth frame (3GPP TS 26.093).
const AMR: Format = Format { header: 1, lookahead_ms: 5.0, ..own(98, 7, 160.0) };
/// Format of G.729. Its description of silence (annex B) has 15 bits and is sent when the noise
/// changes.
const G729: Format = Format { lookahead_ms: 5.0, ..own(18, 2, 0.0) };
/// Format of G.723.1. Its description of silence (annex A) has 4 bytes and is sent when the noise
/// changes.
const G723: Format = Format { lookahead_ms: 7.5, ..own(4, 4, 0.0) };
/// Format of Opus, with a total look-ahead of 6.5 ms and, in silence, a frame of one byte every 400
/// ms (RFC 6716). Its clock has 48 kHz (RFC 7587).
const OPUS: Format = Format { clock: 48_000, lookahead_ms: 6.5, ..own(111, 1, 400.0) };

codecs! {
    "G.711u" 10.0 ms 80 B, Ie 0.0 Bpl 4.3, None, "G.113 Appendix I; mu-law, without concealment of losses", plain(0);
    "G.711a" 10.0 ms 80 B, Ie 0.0 Bpl 4.3, None, "G.113 Appendix I; A-law, without concealment of losses", plain(8);
    "G.711u+PLC" 10.0 ms 80 B, Ie 0.0 Bpl 25.1, None, "G.113 Appendix I; mu-law, concealment of G.711 Appendix I", plain(0);
    "G.711a+PLC" 10.0 ms 80 B, Ie 0.0 Bpl 25.1, None, "G.113 Appendix I; A-law, concealment of G.711 Appendix I", plain(8);
    "iLBC-20" 20.0 ms 38 B, Ie 11.0 Bpl 19.0, LIKE_G729, "RFC 3951; 15.2 kbit/s", plain(97);
    "iLBC-30" 30.0 ms 50 B, Ie 11.0 Bpl 19.0, LIKE_G729, "RFC 3951; 13.33 kbit/s", plain(97);
    "GSM-FR" 20.0 ms 33 B, Ie 20.0 Bpl 10.0, LIKE_EFR, "G.113 Appendix I; RFC 3551", own(3, 33, 480.0);
    "GSM-EFR" 20.0 ms 31 B, Ie 5.0 Bpl 10.0, None, "G.113 Appendix I; RFC 3551", own(99, 31, 480.0);
    "AMR-12.2" 20.0 ms 32 B, Ie 5.0 Bpl 10.0, AS_EFR, "G.113 Appendix I; RFC 4867, octet-aligned", AMR;
    "Opus-10" 20.0 ms 25 B, Ie 6.197 Bpl 15.33, FITTED, "RFC 6716; 10 kbit/s, narrow band, constant rate", OPUS;
    "G.729A" 10.0 ms 10 B, Ie 11.0 Bpl 19.0, None, "G.113 Appendix I, with voice activity detection, two frames a packet", G729;
    "Opus-8" 20.0 ms 20 B, Ie 19.245 Bpl 15.128, FITTED, "RFC 6716; 8 kbit/s, narrow band, constant rate", OPUS;
    "G.723.1" 30.0 ms 24 B, Ie 15.0 Bpl 16.1, None, "G.113 Appendix I, 6.3 kbit/s with voice activity detection", G723;
}

/// Returns the codec with this name.
pub fn find(name: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.name.eq_ignore_ascii_case(name))
}

/// Checks the keys `codec` and `frames` of an application and adds their problems to `problems`.
pub fn check(name: &str, frames: Option<Frames>, problems: &mut Problems) {
    let Some(codec) = find(name) else {
        let known: Vec<&str> = CODECS.iter().map(|codec| codec.name).collect();
        return problems.add("codec", format!("\"{name}\" is not a codec; allowed: {}", known.join(", ")));
    };
    let most = codec.max_frames();
    if codec.frames(frames) > most {
        problems.add("frames", format!("a packet holds more than 240 ms of speech; allowed: 1 to {most}"));
    }
}
