//! Meters: whether a packet is within the profile of its traffic (RFC 2475, section 2.3.3.1). A marker acts on the colour.

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
    /// A meter.
    pub enum Config: Metering {
        "token-bucket" => TokenBucket(token_bucket::Config),
        "srtcm" => SrTcm(sr_tcm::Config),
        "trtcm" => TrTcm(tr_tcm::Config),
        "tsw2cm" => Tsw2cm(tsw2cm::Config),
        "tsw3cm" => Tsw3cm(tsw3cm::Config),
    }
}

/// What a meter's `Config` can do.
pub trait Metering {
    /// The meter of one stream of packets.
    fn build(&self) -> Box<dyn Meter>;

    /// Adds what is wrong.
    fn check(&self, _problems: &mut Problems) {}
}

/// What a meter says of a packet; also its drop precedence, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Colour {
    /// Within the profile.
    #[default]
    Green,
    /// Beyond it by a little.
    Yellow,
    /// Beyond it.
    Red,
}

/// Meters the packets of one stream.
pub trait Meter: Send {
    /// The colour of a packet of `size` bytes that had the colour `before`, which meters that are not colour-aware do not look at.
    fn meter(&mut self, now: Time, size: u32, before: Colour, stream: &mut Stream) -> Colour;
}

/// Adds what is wrong with the size of a bucket: a packet that it cannot hold the tokens of never conforms.
fn check_burst(key: &str, size: Size, problems: &mut Problems) {
    if size.bytes() < 1500 {
        let message = format!("{size} is less than a packet; allowed: 1500 B or more");
        problems.add(key, message);
    }
}

/// Adds what is wrong with a peak rate.
fn check_peak(committed: Rate, peak: Rate, problems: &mut Problems) {
    if peak < committed {
        let message = format!("{peak} is less than the committed rate; allowed: {committed} or more");
        problems.add("peak", message);
    }
}
