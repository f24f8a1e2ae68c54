//! Artificial conversational speech (ITU-T P.59, 03/93): the two sides of a conversation, coupled
//! through four states.
//!
//! | state | length in seconds | next |
//! | --- | --- | --- |
//! | single talk of one side | exponential, mean 0.854 | double talk with probability 0.4, else mutual silence |
//! | double talk | exponential, mean 0.226 | single talk of either side, 0.5 each |
//! | mutual silence | exponential, mean 0.456, at least 0.2 | single talk of either side, 0.5 each |
//!
//! Silences shorter than 0.2 s are drawn again. Because the exponential distribution is memoryless,
//! mutual silence lasts 0.2 s plus an exponentially distributed time, with a mean of 0.656 s in
//! total. Other programs add draws until the sum is at least 0.2 s, which gives the same
//! distribution.
//!
//! In the long run a cycle (single talk and the state after it) takes 0.854 + 0.4 x 0.226 + 0.6 x
//! 0.656 = 1.338 s. A side speaks (0.854 / 2 + 0.4 x 0.226) / 1.338 = 38.7 % of the time; table 1
//! of the recommendation gives 38.53 %. Its talk spurts have a mean of 1.035 s (1.004 s in the
//! table) and its pauses of 1.641 s (1.587 s). The two probabilities of the first row are often
//! exchanged in the literature. A side would then speak 45 % of the time; see
//! docs/decisions/calls.md.
//!
//! The conversation begins with mutual silence.

use super::{Side, Spurt, Spurts, Talker};
use bentpipe_core::{Fraction, Sample, Span, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Artificial conversational speech of ITU-T P.59: the two sides of a call take turns, interrupt
/// each other and fall silent.
///
/// ```toml
/// talker = "p59"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Probability, from 0 to 1, that single talk ends with an interruption, after which both sides
    /// speak, and not with silence. Default 0.4 (P.59).
    pub interruption: Fraction,
}

impl Default for Config {
    fn default() -> Config {
        Config { interruption: Fraction::thousandths(400) }
    }
}

impl Sample for Config {
    const SAMPLE: &'static str = "interruption = 0.3";
}

/// Mean length of single talk, in seconds.
const SINGLE: f64 = 0.854;

/// Mean length of double talk, in seconds.
const DOUBLE: f64 = 0.226;

/// Mean length of mutual silence without the minimum, in seconds.
const SILENCE: f64 = 0.456;

/// Minimum length of mutual silence, in seconds.
const SHORTEST_SILENCE: f64 = 0.2;
/// Probability that silence or double talk ends with a given side speaking alone.
const EITHER: f64 = 0.5;

impl Talker for Config {
    fn spurts(&self, side: Side, plan: Stream) -> Spurts {
        let interruption = self.interruption.value();
        let state = State { speaking: [false; 2] };
        Box::new(Conversation { side, plan, interruption, state, now: Span::ZERO })
    }

    fn activity(&self) -> Option<f64> {
        let p = self.interruption.value();
        let cycle = SINGLE + p * DOUBLE + (1.0 - p) * (SILENCE + SHORTEST_SILENCE);
        Some((SINGLE / 2.0 + p * DOUBLE) / cycle)
    }
}

/// A state of the conversation: one flag per side, true if the side speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    speaking: [bool; 2],
}

impl State {
    fn next(self, interruption: f64, plan: &mut Stream) -> State {
        let speaking = match self.speaking {
            [a, b] if a != b => [plan.chance(interruption); 2],
            _ => {
                let caller = plan.chance(EITHER);
                [caller, !caller]
            }
        };
        State { speaking }
    }

    fn length(self, plan: &mut Stream) -> Span {
        let seconds = match self.speaking {
            [true, true] => plan.exponential(DOUBLE),
            [false, false] => loop {
                let silence = plan.exponential(SILENCE);
                if silence >= SHORTEST_SILENCE {
                    break silence;
                }
            },
            _ => plan.exponential(SINGLE),
        };
        Span::from_secs_f64(seconds)
    }
}

/// The complete conversation, and the side whose talk spurts are returned.
struct Conversation {
    side: Side,
    plan: Stream,
    interruption: f64,
    state: State,
    /// Time at which the current state begins.
    now: Span,
}

impl Conversation {
    fn speaks(&self) -> bool {
        self.state.speaking[usize::from(self.side == Side::Callee)]
    }

    fn advance(&mut self) {
        self.now += self.state.length(&mut self.plan);
        self.state = self.state.next(self.interruption, &mut self.plan);
    }
}

impl Iterator for Conversation {
    type Item = Spurt;

    fn next(&mut self) -> Option<Spurt> {
        while !self.speaks() {
            self.advance();
        }
        let begin = self.now;
        while self.speaks() {
            self.advance();
        }
        Some(Spurt { begin, end: self.now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    /// Returns both sides of 200 hours of conversation.
    fn spoken() -> [Vec<Spurt>; 2] {
        let plan = Streams::new(1, 0).stream("plan");
        let end = Span::from_secs(200 * 3600);
        let side = |side| {
            let spurts = Config::default().spurts(side, plan.clone());
            spurts.take_while(|spurt| spurt.end < end).collect::<Vec<_>>()
        };
        [side(Side::Caller), side(Side::Callee)]
    }

    fn mean(spans: impl Iterator<Item = f64>) -> f64 {
        let (count, sum) = spans.fold((0, 0.0), |(count, sum), span| (count + 1, sum + span));
        sum / f64::from(count)
    }

    #[test]
    fn states_have_the_means_of_the_recommendation_within_a_percent() {
        let sides = spoken();
        // The times at which a side starts or stops speaking.
        let mut changes: Vec<(Span, usize, bool)> = Vec::new();
        for (side, spurts) in sides.iter().enumerate() {
            changes.extend(
                spurts.iter().flat_map(|spurt| [(spurt.begin, side, true), (spurt.end, side, false)]),
            );
        }
        changes.sort();
        let (mut speaking, mut since) = ([false; 2], Span::ZERO);
        let mut lengths: [Vec<f64>; 3] = Default::default();
        for (at, side, speaks) in changes {
            let before = speaking;
            speaking[side] = speaks;
            if at == since {
                continue;
            }
            let kind = before.iter().filter(|speaks| **speaks).count();
            lengths[kind].push((at - since).as_secs_f64());
            since = at;
        }
        let [silence, single, double] = lengths.map(|lengths| mean(lengths.into_iter()));
        for (found, expected) in [(silence, 0.656), (single, 0.854), (double, 0.226)] {
            assert!((found / expected - 1.0).abs() < 0.01, "{found} s, expected {expected} s");
        }
    }

    #[test]
    fn the_fraction_of_speech_matches_table_1() {
        let sides = spoken();
        for spurts in &sides {
            let spurt = mean(spurts.iter().map(|spurt| (spurt.end - spurt.begin).as_secs_f64()));
            let pause = mean(spurts.windows(2).map(|pair| (pair[1].begin - pair[0].end).as_secs_f64()));
            let activity = spurt / (spurt + pause);
            assert!((activity / 0.3853 - 1.0).abs() < 0.01, "activity {activity}, 38.53 % in table 1");
            assert!((activity / Config::default().activity().unwrap() - 1.0).abs() < 0.01);
            // Closed forms of the model; table 1 has 1.004 s and 1.587 s.
            assert!((spurt / 1.0347 - 1.0).abs() < 0.01, "talk spurt {spurt} s");
            assert!((pause / 1.641 - 1.0).abs() < 0.01, "pause {pause} s");
        }
    }
}
