//! Telephone calls between two sites: arrivals, holding times and coding.
//!
//! Each end of the flow is a private branch exchange with its telephones. The exchange at the
//! source places the calls, the one at the destination answers them; the flow's transport, `sip` or
//! `iax2`, signals and carries them ([`telephony`](crate::telephony)).
//!
//! - **Arrivals.** `calls` are placed when the flow starts and last until the run ends. With a
//!   `load` of A erlangs, further calls arrive as a Poisson process with rate A / `holding`; a
//!   fraction `local` of them stays at the source's site. Holding times are exponential and count
//!   from the answer.
//! - **Admission.** A call takes a line from its beginning to its end. A call that finds no free
//!   line at the source is blocked; one that finds none at the destination is refused as busy (486,
//!   or cause 17). With equal holding times and no other losses, the blocked fraction is Erlang's
//!   B: B(0) = 1, B(n) = A B(n - 1) / (n + A B(n - 1)) ([`blocking`]).
//! - **Answer.** The called telephone rings at once and is answered after `answer`. A caller gives
//!   up after `patience`.
//! - **Media.** Both sides talk, hear and rate the call: [`voice::stream`](bentpipe_voice::stream).
//!
//! ```toml
//! app = { kind = "calls", codec = "GSM-FR", load = 4.5, holding = "2 min", lines = 8 }
//! transport = { kind = "iax2", trunk = "20 ms" }
//! ```
//!
//! Deviation: a local call holds a line for its duration; its media do not leave the site.

use super::{Actions, Answers, App, Connections, Demand, End, Event, Workload};
use bentpipe_core::{Count, Fraction, Problems, Real, Sample, Span, Stream, Tables, Time};
use bentpipe_voice::codec::{self, Codec, Frames};
use bentpipe_voice::stream::SenderSettings;
use bentpipe_voice::{playout, talker};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Telephone calls between the exchanges at both ends of the flow. Its transport is `sip` or
/// `iax2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the codec. Default "G.711u". `bentpipe voice emodel` lists the names.
    pub codec: String,
    /// Number of codec frames in a packet, 1 to 24. If unset, the smallest number that contains 20
    /// ms of speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// True if packets without speech are not sent (silence suppression). Default true.
    pub suppression: bool,
    /// True if a suppressed pause begins with comfort noise. Default true.
    pub comfort_noise: bool,
    /// Talk spurts of both sides. Default: a conversation by ITU-T P.59.
    pub talker: talker::Config,
    /// De-jitter buffer at both ends of each call. Default: a fixed buffer.
    pub playout: playout::Config,
    /// Advantage factor A of the E-model (G.107), which `r_advantage` adds to the rating; 0 to 20,
    /// the maximum of G.107 for access by satellite hops. Default 0.
    pub advantage: Real<0, 20_000>,
    /// Number of calls that are placed when the flow starts and last until the run ends. Default 0.
    pub calls: Count<0, 20_000>,
    /// Offered load of further calls in erlangs: the rate of their Poisson process times `holding`.
    /// Default 0.
    pub load: Real<0, 20_000_000>,
    /// Mean holding time of these calls, exponentially distributed, from the answer to the end.
    /// Default 3 min.
    pub holding: Span,
    /// Fraction of these calls that stay at the source's site: they take a line and send nothing.
    /// Default 0.
    pub local: Fraction,
    /// Number of lines of the exchange at each end. A call takes one from its beginning to its end.
    /// Default 100.
    pub lines: Count<1, 20_000>,
    /// Time for which the called telephone rings before it is answered. Default 3 s.
    pub answer: Span,
    /// Time after which an unanswered caller gives up. Default 60 s.
    pub patience: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            codec: "G.711u".to_owned(),
            frames: None,
            suppression: true,
            comfort_noise: true,
            talker: talker::Config::default(),
            playout: playout::Config::default(),
            advantage: Real::thousandths(0),
            calls: Count::new(0),
            load: Real::thousandths(0),
            holding: Span::from_secs(180),
            local: Fraction::thousandths(0),
            lines: Count::new(100),
            answer: Span::from_secs(3),
            patience: Span::from_secs(60),
        }
    }
}

impl Config {
    /// Returns the codec of the calls.
    ///
    /// # Panics
    /// Panics if the configuration has not passed its check.
    pub fn codec(&self) -> &'static Codec {
        codec::find(&self.codec).expect("the scenario has been checked")
    }

    /// Returns the form of the speech that the telephones send.
    pub fn sending(&self) -> SenderSettings {
        let codec = self.codec();
        let frames = codec.frames(self.frames);
        SenderSettings {
            codec,
            frames,
            suppression: self.suppression,
            comfort_noise: self.comfort_noise,
            skew: 0.0,
        }
    }

    /// Returns the mean number of simultaneous calls between the sites in the long run.
    fn carried(&self) -> f64 {
        let (load, fixed, lines) = (self.load.value(), self.calls.value(), self.lines.value());
        let free = lines.saturating_sub(fixed);
        fixed.min(lines) as f64 + load * (1.0 - blocking(load, free)) * (1.0 - self.local.value())
    }
}

/// Returns the blocked fraction of calls with `lines` lines and an offered load in erlangs (Erlang
/// B).
pub fn blocking(load: f64, lines: u64) -> f64 {
    (1..=lines).fold(1.0, |blocked, line| load * blocked / (line as f64 + load * blocked))
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"codec = "GSM-FR", calls = 2, load = 1.5, holding = "4 s", local = 0.2, lines = 4, answer = "1 s""#;
}

impl Tables for Config {}

impl Workload for Config {
    fn build(&self, _end: End, plan: Stream) -> Box<dyn App> {
        Box::new(Exchange { _plan: plan })
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn demand(&self) -> Option<Demand> {
        let sending = self.sending();
        let activity = if self.suppression { self.talker.activity().unwrap_or(1.0) } else { 1.0 };
        let packet = sending.packet().as_secs_f64();
        let rate_bit_s = self.carried() * activity * f64::from(sending.payload()) * 8.0 / packet;
        (rate_bit_s > 0.0).then_some(Demand { rate_bit_s, datagram: sending.payload() })
    }

    fn answers(&self) -> Answers {
        Answers::Messages(self.sending().payload())
    }

    fn connections(&self) -> Connections {
        Connections::Fixed(1)
    }

    fn calls(&self) -> Option<&Config> {
        Some(self)
    }

    fn check(&self, problems: &mut Problems) {
        codec::check(&self.codec, self.frames, problems);
        if self.calls.value() == 0 && self.load.value() == 0.0 {
            problems.add(
                "load",
                "places no call; allowed: calls of at least 1, or a load of more than 0 erlangs",
            );
        }
        if self.calls.value() > self.lines.value() {
            let (calls, lines) = (self.calls.value(), self.lines.value());
            problems.add(
                "calls",
                format!("{calls} calls do not fit on {lines} lines; allowed: at most as many as lines"),
            );
        }
        if self.holding == Span::ZERO {
            problems.add("holding", "must be longer than 0 s");
        }
        if self.patience <= self.answer {
            problems.add("patience", "callers give up before they are answered; allowed: longer than answer");
        }
        problems.within("talker", |problems| self.talker.check(problems));
        problems.within("playout", |problems| self.playout.check(problems));
    }
}

/// Represents the telephones: the transport places their calls.
struct Exchange {
    _plan: Stream,
}

impl App for Exchange {
    fn on(&mut self, _: Time, _: u16, _: Event, _: &mut Stream, _: &mut Actions) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked values of Erlang's table: 2 erlangs on 5 lines, 10 on 10, 20 on 30.
    #[test]
    fn blocking_follows_the_erlang_b_formula() {
        for (load, lines, expected) in
            [(2.0, 5, 0.0367), (10.0, 10, 0.2146), (20.0, 30, 0.0085), (1.0, 1, 0.5)]
        {
            assert!(
                (blocking(load, lines) - expected).abs() < 5e-5,
                "{load} {lines}: {}",
                blocking(load, lines)
            );
        }
    }
}
