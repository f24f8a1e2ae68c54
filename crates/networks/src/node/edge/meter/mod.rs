//! Meters, which compare packets with the profile of their traffic and assign a colour (RFC 2475,
//! section 2.3.3.1). The edge marks or drops packets depending on their colour.

pub mod sr_tcm;
#[cfg(test)]
mod tests;
pub mod token_bucket;
pub mod tr_tcm;
pub mod tsw;
pub mod tsw2cm;
pub mod tsw3cm;

use bentpipe_core::{kinds, Problems, Rate, Size, Stream, Time};

kinds! {
    /// The meter with which an edge assigns a colour to packets.
    #[schemars(rename = "Meter")]
    pub enum Config: Metering {
        "token-bucket" => TokenBucket(token_bucket::Config),
        "srtcm" => SrTcm(sr_tcm::Config),
        "trtcm" => TrTcm(tr_tcm::Config),
        "tsw2cm" => Tsw2cm(tsw2cm::Config),
        "tsw3cm" => Tsw3cm(tsw3cm::Config),
    }
}

/// The factory of a meter, implemented by its `Config`.
pub trait Metering {
    /// Builds the meter of one stream of packets.
    fn build(&self) -> Box<dyn Meter>;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// The verdict of a meter on a packet, which is also the packet's drop precedence. The lowest drop
/// precedence comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Colour {
    /// The packet is within the profile.
    #[default]
    Green,
    /// The packet slightly exceeds the profile.
    Yellow,
    /// The packet exceeds the profile.
    Red,
}

/// Meters the packets of one stream.
pub trait Meter: Send {
    /// Returns the colour of a packet of `size` bytes. `before` is the previous colour of the
    /// packet; only colour-aware meters consider it.
    fn meter(&mut self, now: Time, size: u32, before: Colour, stream: &mut Stream) -> Colour;
}

/// Adds a problem if the bucket cannot hold the tokens of a full packet. Such a packet would never
/// conform.
fn check_burst(key: &str, size: Size, problems: &mut Problems) {
    if size.bytes() < 1500 {
        let message = format!("{size} is less than a packet; allowed: 1500 B or more");
        problems.add(key, message);
    }
}

/// Adds a problem if the peak rate is below the committed rate.
fn check_peak(committed: Rate, peak: Rate, problems: &mut Problems) {
    if peak < committed {
        let message = format!("{peak} is less than the committed rate; allowed: {committed} or more");
        problems.add("peak", message);
    }
}
