//! Jitter: delay of a packet beyond the link's own, from a distribution or a series. One file per
//! kind.
//!
//! The extra delay is drawn when the packet has crossed the link. Unless the link reorders, a
//! packet then waits for the packets before it, as in a queue: its delay is at least long enough to
//! keep the order. With `reorder = true` a packet with less extra delay overtakes.
//!
//! ```toml
//! jitter = { kind = "normal", mean = "5 ms", deviation = "2 ms" }
//! ```
//!
//! Deviation: extra delay is never negative, so `delay` is the minimum delay of a packet (netem
//! draws around `delay`).

pub mod bursts;
pub mod exponential;
pub mod late;
pub mod levels;
pub mod none;
pub mod normal;
pub mod quantiles;
pub mod series;
pub mod spikes;
pub mod sum;
pub mod uniform;
pub mod wander;

use bentpipe_core::{kinds, Problems, Span, Stream, Time, Whole};
use bentpipe_stage::{Held, Outbox, Packet, Port};
use std::collections::VecDeque;

kinds! {
    /// The jitter of a link: delay of each packet beyond the link's propagation delay.
    #[schemars(rename = "Jitter")]
    pub enum Config: Jitter {
        "none" => None(none::Config),
        "uniform" => Uniform(uniform::Config),
        "normal" => Normal(normal::Config),
        "exponential" => Exponential(exponential::Config),
        "quantiles" => Quantiles(quantiles::Config),
        "late" => Late(late::Config),
        "levels" => Levels(levels::Config),
        "series" => Series(series::Config),
        "spikes" => Spikes(spikes::Config),
        "bursts" => Bursts(bursts::Config),
        "wander" => Wander(wander::Config),
        "sum" => Sum(sum::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// The factory of a jitter, implemented by its `Config`.
pub trait Jitter {
    /// Builds the process, or returns `None` for a link without jitter.
    fn build(&self) -> Option<Box<dyn Process>>;

    /// Returns the mean of the extra delay in seconds.
    fn mean(&self) -> f64;

    /// Adds the problems of this configuration.
    fn check(&self, _problems: &mut Problems) {}
}

/// A process that draws the extra delay of each packet.
pub trait Process: Send {
    /// Returns the extra delay in seconds, at least 0, of a packet that has crossed the link at
    /// `now`. Called in order of time.
    fn extra(&mut self, now: Time, stream: &mut Stream) -> f64;
}

/// The packets that wait for the end of their extra delay.
pub struct Line {
    process: Box<dyn Process>,
    reorder: bool,
    /// The waiting packets, by time of delivery.
    waiting: VecDeque<(Time, Whole<Packet>)>,
    held: Held,
    last: Time,
}

impl Line {
    /// Creates an empty line; `None` without jitter.
    pub fn new(config: &Config, reorder: bool) -> Option<Box<Line>> {
        let process = config.build()?;
        Some(Box::new(Line {
            process,
            reorder,
            waiting: VecDeque::new(),
            held: Held::default(),
            last: Time::ZERO,
        }))
    }

    /// Continues with another jitter. Waiting packets keep their times.
    pub fn set(&mut self, config: &Config, reorder: bool) {
        self.process = config.build().unwrap_or_else(|| Box::new(none::Nothing));
        self.reorder = reorder;
    }

    /// Takes a packet that has crossed the link at `now`.
    pub fn push(&mut self, now: Time, packet: Packet, stream: &mut Stream) {
        let due = now + Span::from_secs_f64(self.process.extra(now, stream));
        let due = if self.reorder { due } else { due.max(self.last) };
        self.last = self.last.max(due);
        self.held.add(&packet);
        let at = self.waiting.partition_point(|(other, _)| *other <= due);
        self.waiting.insert(at, (due, Whole::new(packet)));
    }

    /// Sends the packets that are due by `exit`.
    pub fn release(&mut self, now: Time, exit: Port, out: &mut Outbox) {
        while self.next().is_some_and(|due| due <= now) {
            let (_, packet) = self.waiting.pop_front().expect("it was looked at");
            let packet = packet.into_inner();
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.size);
            out.send(exit, packet);
        }
    }

    /// Removes all packets.
    pub fn drain(&mut self) -> Vec<Packet> {
        self.held = Held::default();
        self.waiting.drain(..).map(|(_, packet)| packet.into_inner()).collect()
    }

    /// Returns the time of the next delivery, if any.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.waiting.front().map(|(due, _)| *due)
    }

    /// Returns the waiting packets.
    pub fn held(&self) -> Held {
        self.held
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns the extra delays of `count` packets, one every 10 ms.
    pub fn drawn(text: &str, count: u64) -> Vec<f64> {
        let config: Config = serde_json::from_str(text).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        assert_eq!(problems.into_vec(), []);
        let (mut process, mut stream) = (config.build().unwrap(), Streams::new(1, 0).stream("jitter"));
        (0..count)
            .map(|number| process.extra(Time::ZERO + Span::from_millis(10 * number), &mut stream))
            .collect()
    }

    #[test]
    fn every_kind_has_its_stated_mean_and_is_never_negative() {
        for text in [
            r#"{"uniform": {"most": "20 ms"}}"#,
            r#"{"normal": {"mean": "3 ms", "deviation": "4 ms"}}"#,
            r#"{"exponential": {"mean": "7 ms"}}"#,
            r#"{"quantiles": {"values": ["0 s", "2 ms", "30 ms"]}}"#,
            r#"{"late": {"probability": 0.1, "extra": "50 ms"}}"#,
            r#"{"levels": {"every": "100 ms", "of": {"uniform": {"most": "20 ms"}}}}"#,
            r#"{"sum": {"parts": [{"uniform": {"most": "20 ms"}}, {"exponential": {"mean": "7 ms"}}]}}"#,
            r#"{"spikes": {"every": "997 ms", "peak": "22 ms", "lasts": "100 ms", "recovery": "300 ms"}}"#,
            r#"{"bursts": {"least": "1 ms", "most": "9 ms"}}"#,
            r#"{"wander": {"mean": "2 ms", "deviation": "3 ms", "correlation": "50 ms"}}"#,
            r#"{"series": {"samples": "time,extra\n0,0.01\n1,0.03\n", "repeat": "4 s"}}"#,
        ] {
            let config: Config = serde_json::from_str(text).unwrap();
            let values = drawn(text, 200_000);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            assert!((mean / config.mean() - 1.0).abs() < 0.02, "{text}: {mean}, not {}", config.mean());
            assert!(values.iter().all(|value| *value >= 0.0));
        }
    }

    #[test]
    fn levels_are_constant_for_their_period() {
        let values = drawn(
            r#"{"levels": {"every": "15 s", "offset": "12 s", "of": {"uniform": {"most": "20 ms"}}}}"#,
            6000,
        );
        let steps: Vec<usize> = (1..values.len()).filter(|at| values[*at] != values[at - 1]).collect();
        assert_eq!(steps, [1200, 2700, 4200, 5700]);
    }

    #[test]
    fn order_is_kept_unless_the_link_reorders() {
        let late: Config =
            serde_json::from_str(r#"{"late": {"probability": 0.5, "extra": "50 ms"}}"#).unwrap();
        for reorder in [false, true] {
            let (mut line, mut out) = (Line::new(&late, reorder).unwrap(), Outbox::default());
            let mut stream = Streams::new(1, 0).stream("late");
            for number in 0..200 {
                let now = Time::ZERO + Span::from_millis(u64::from(number));
                line.push(now, Packet { number, size: 100, ..Packet::default() }, &mut stream);
                line.release(now, Port(0), &mut out);
            }
            line.release(Time::MAX, Port(0), &mut out);
            let numbers: Vec<u32> =
                std::iter::from_fn(|| out.next_sent()).map(|sent| sent.packet.number).collect();
            assert_eq!(numbers.len(), 200);
            assert_eq!(numbers.is_sorted(), !reorder);
            assert_eq!(line.held(), Held::default());
        }
    }
}
