//! De-jitter buffers: they determine the playout time of arriving packets. One file per buffer.
//!
//! A packet i generated at t_i that arrives at a_i has the network delay n_i = a_i - t_i (the two
//! clocks need not agree, because only differences count). It is played p_i - t_i after its
//! generation, its playout delay. All buffers except `none` choose the playout delay at the
//! beginning of a talk spurt and keep it until the next one, so silences between talk spurts become
//! longer or shorter, and speech does not. A packet that arrives after its playout time is late and
//! is not played.
//!
//! Without silence suppression, the receiver sees no talk spurts, and the playout delay is that of
//! the first packet. Deviation: a talk spurt whose playout delay is so much shorter that its
//! beginning overlaps the end of the previous one is played as if it did not.

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
    /// The de-jitter buffer of a receiver of speech.
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

/// A de-jitter buffer, which chooses the playout delays of a stream.
pub trait Buffer: Send {
    /// Observes a packet that has arrived `transit` nanoseconds after its generation, by the two
    /// clocks. `first` is true if it begins a talk spurt. Called for each packet in the order of
    /// arrival.
    fn observe(&mut self, transit: i64, first: bool);

    /// Returns the playout delay in nanoseconds of a talk spurt that begins with the last observed
    /// packet.
    fn delay(&self) -> i64;

    /// Returns true if a talk spurt keeps its playout delay. Otherwise every packet has its own.
    fn holds(&self) -> bool {
        true
    }
}

/// Returns a span in nanoseconds, for estimates.
fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the playout delays in milliseconds after each of these packets, given as transit in
    /// milliseconds and whether it begins a talk spurt.
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
    fn a_constant_transit_leads_every_buffer_to_it() {
        // 20000 packets with a delay of 300 ms: without variation, the holding time is the chosen
        // one.
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
