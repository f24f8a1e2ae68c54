//! Speech codecs: what they send, and how the E-model rates them.

/// A speech codec in one of its modes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// Its name, as in G.113 or the standard that defines it.
    pub name: &'static str,
    /// Duration in milliseconds of the speech in a frame.
    pub frame_ms: f64,
    /// Bytes that a frame takes in an RTP payload.
    pub frame_bytes: u32,
    /// Equipment impairment factor Ie.
    pub ie: f64,
    /// Packet-loss robustness factor Bpl in per cent.
    pub bpl: f64,
    /// What of the two factors is no value of a standard, if anything.
    pub assumed: Option<&'static str>,
    /// The documents that the values are from.
    pub source: &'static str,
}

macro_rules! codecs {
    ($($name:literal $frame:literal ms $bytes:literal B, Ie $ie:literal Bpl $bpl:literal, $assumed:expr, $source:literal;)+) => {
        /// The codecs, in order of their bit rate.
        pub const CODECS: &[Codec] = &[$(Codec {
            name: $name,
            frame_ms: $frame,
            frame_bytes: $bytes,
            ie: $ie,
            bpl: $bpl,
            assumed: $assumed,
            source: $source,
        }),+];
    };
}

/// GSM-FR is in G.113, without a Bpl.
const LIKE_EFR: Option<&str> = Some("Bpl is assumed to be that of GSM-EFR: G.113 has none for this codec");
/// iLBC is not in G.113.
const LIKE_G729: Option<&str> = Some("Ie and Bpl are assumed to be those of G.729A: G.113 has none for iLBC");

codecs! {
    "G.711u" 10.0 ms 80 B, Ie 0.0 Bpl 4.3, None, "G.113 Appendix I; mu-law, without concealment of losses";
    "G.711a" 10.0 ms 80 B, Ie 0.0 Bpl 4.3, None, "G.113 Appendix I; A-law, without concealment of losses";
    "G.711u+PLC" 10.0 ms 80 B, Ie 0.0 Bpl 25.1, None, "G.113 Appendix I; mu-law, concealment of G.711 Appendix I";
    "G.711a+PLC" 10.0 ms 80 B, Ie 0.0 Bpl 25.1, None, "G.113 Appendix I; A-law, concealment of G.711 Appendix I";
    "iLBC-20" 20.0 ms 38 B, Ie 11.0 Bpl 19.0, LIKE_G729, "RFC 3951; 15.2 kbit/s";
    "iLBC-30" 30.0 ms 50 B, Ie 11.0 Bpl 19.0, LIKE_G729, "RFC 3951; 13.33 kbit/s";
    "GSM-FR" 20.0 ms 33 B, Ie 20.0 Bpl 10.0, LIKE_EFR, "G.113 Appendix I; RFC 3551";
    "GSM-EFR" 20.0 ms 31 B, Ie 5.0 Bpl 10.0, None, "G.113 Appendix I; RFC 3551";
    "AMR-12.2" 20.0 ms 33 B, Ie 5.0 Bpl 10.0, None, "G.113 Appendix I, as GSM-EFR; RFC 4867, octet-aligned, one frame";
    "G.729A" 10.0 ms 10 B, Ie 11.0 Bpl 19.0, None, "G.113 Appendix I, with voice activity detection, two frames a packet";
    "G.723.1" 30.0 ms 24 B, Ie 15.0 Bpl 16.1, None, "G.113 Appendix I, 6.3 kbit/s with voice activity detection";
}

/// The codec with this name.
pub fn find(name: &str) -> Option<&'static Codec> {
    CODECS.iter().find(|codec| codec.name.eq_ignore_ascii_case(name))
}
