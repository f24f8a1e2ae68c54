//! De-jitter buffers, which determine the playout time of arriving packets. Each buffer has its own
//! file.
//!
//! Packet i is generated at t_i, arrives at a_i and is played at p_i. Its network delay is n_i =
//! a_i - t_i, and its playout delay is p_i - t_i. The clocks of the sender and the receiver need
//! not agree, because only differences of delays matter. All buffers except `none` choose the
//! playout delay at the beginning of a talk spurt and keep it until the next talk spurt. This
//! changes the length of the silences between talk spurts, but not the speech. A packet that
//! arrives after its playout time is late and is not played.
//!
//! Without silence suppression, the receiver sees a single talk spurt, and the playout delay chosen
//! for the first packet applies to the whole call. Deviation: if the playout delay shrinks so much
//! that a talk spurt would begin before the previous one has ended, both talk spurts are played in
//! full.

pub mod fixed;
pub mod moon;
pub mod none;
pub mod ramjee;
pub mod ramjee1;
pub mod ramjee2;
pub mod ramjee3;
pub mod ramjee4;

use bentpipe_core::{kinds, Problems, Span};

kinds! {
    /// The de-jitter buffer of a speech receiver.
    #[schemars(rename = "Playout")]
    pub enum Config: Playout {
        "fixed" => Fixed(fixed::Config),
        "ramjee-1" => Ramjee1(ramjee1::Config),
        "ramjee-2" => Ramjee2(ramjee2::Config),
        "ramjee-3" => Ramjee3(ramjee3::Config),
        "ramjee-4" => Ramjee4(ramjee4::Config),
        "moon" => Moon(moon::Config),
        "none" => None(none::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::Fixed(fixed::Config::default())
    }
}

/// The factory of a de-jitter buffer, implemented by its `Config`.
pub trait Playout {
    /// Builds the buffer of one stream.
    fn build(&self) -> Box<dyn Buffer>;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// A de-jitter buffer, which chooses the playout delays of one stream.
pub trait Buffer: Send {
    /// Updates the buffer with an arrived packet. Called for each packet in the order of arrival.
    /// `transit` is the network delay in nanoseconds: the receiver's clock at arrival minus the
    /// sender's clock at generation. `first` is true if the packet begins a talk spurt.
    fn observe(&mut self, transit: i64, first: bool);

    /// Returns the playout delay, in nanoseconds, for a talk spurt that begins with the last
    /// observed packet.
    fn delay(&self) -> i64;

    /// Returns true if all packets of a talk spurt have the same playout delay, and false if each
    /// packet has its own.
    fn holds(&self) -> bool {
        true
    }
}

/// Converts a span to nanoseconds as a real number.
fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the playout delay in milliseconds after each packet. A packet is its network delay
    /// in milliseconds, and true if it begins a talk spurt.
    pub fn delays(config: &dyn Playout, packets: &[(f64, bool)]) -> Vec<f64> {
        let mut buffer = config.build();
        let observe = |(transit, first): &(f64, bool)| {
            buffer.observe((transit * 1e6) as i64, *first);
            buffer.delay() as f64 / 1e6
        };
        packets.iter().map(observe).collect()
    }

    pub fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-5, "packet {at}: {found} ms, expected {expected} ms");
        }
    }

    #[test]
    fn every_buffer_converges_to_a_constant_network_delay() {
        // 20000 packets with a constant delay of 300 ms. Without variation, an adaptive buffer adds
        // no holding time, and a fixed buffer adds its configured delay.
        let packets = vec![(300.0, true); 20_000];
        let parse = |text: &str| serde_json::from_str::<Config>(text).unwrap();
        for (text, held) in [
            (r#"{"fixed": {"delay": "40 ms"}}"#, 40.0),
            (r#"{"ramjee-1": {}}"#, 0.0),
            (r#"{"ramjee-2": {}}"#, 0.0),
            (r#"{"ramjee-3": {}}"#, 0.0),
            (r#"{"ramjee-4": {}}"#, 0.0),
            (r#"{"moon": {}}"#, 0.0),
            (r#"{"none": {}}"#, 0.0),
        ] {
            let last = *delays(&*parse(text), &packets).last().unwrap();
            assert!((last - 300.0 - held).abs() <= 1.0, "{text}: {last} ms");
        }
    }
}
