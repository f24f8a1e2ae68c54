//! Careful Resume (RFC 9959): a sender starts with half of a window that an earlier connection over
//! the same path reached, and falls back at the first sign of congestion.
//!
//! - *Reconnaissance*: slow start from the initial window. The path is confirmed once the initial
//!   data has been acknowledged, if the smallest round-trip time is above half of the saved one and
//!   at most ten times it.
//! - *Unvalidated*, when the window limits the sender: the window jumps to half of the saved one,
//!   paced over a round trip. `PipeSize` is the data in flight before the jump.
//! - *Validating*, once the jumped window is full, its first packet is acknowledged, or a round
//!   trip has passed: the window is the data in flight, until the last unvalidated packet is
//!   acknowledged. A sender that has sent no more than `PipeSize` or the initial window continues
//!   normally with that window.
//! - *Safe Retreat*, after a loss or a mark: the saved values are deleted, the window is half of
//!   `PipeSize`, at least the initial window, and does not grow until the last unvalidated packet
//!   is acknowledged. Then the slow-start threshold is beta times `PipeSize`. A time-out ends Safe
//!   Retreat at once with this threshold.
//! - *Observing* ([`super::saved_path`]): in normal operation, the packets acknowledged in each
//!   round trip and the smallest round-trip time are saved, unless there are fewer than four
//!   initial windows, or losses or marks are being repaired.
//!
//! `PipeSize` grows by each acknowledged packet beyond the number in flight before the jump, which
//! is that of the packets sent after the jump if packets arrive in order, up to the window of the
//! jump. Windows are in packets. The positions of packets increase in the order of transmission:
//! QUIC's numbers of packets in flight, and TCP's positions in the stream.

use super::in_flight;
use super::saved_path::{Observed, Parameters, SavedPath};
use bentpipe_congestion::interface::{State, CA_CWR, PACING_NEEDED, PACING_NONE};
use bentpipe_core::{Span, Time};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Normal,
    Reconnaissance,
    /// The phase has lasted since this time.
    Unvalidated(Time),
    /// The last position of the unvalidated packets.
    Validating(u64),
    /// The last position of the unvalidated packets.
    SafeRetreat(u64),
}

/// Values from which a connection resumes.
#[derive(Clone, Copy, Debug)]
struct Values {
    /// Data acknowledged in a round trip, in packets.
    window: u32,
    rtt: Span,
}

/// A round trip that is observed: the position of its end, and the packets delivered before it.
#[derive(Clone, Copy, Debug)]
struct Round {
    end: u64,
    delivered: u32,
}

/// The state of Careful Resume of one connection.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    parameters: Option<Parameters>,
    /// The path whose observations are used and saved.
    path: Option<SavedPath>,
    /// The observation that was taken from the path.
    taken: Option<Observed>,
    phase: Phase,
    initial: u32,
    /// The count of delivered packets at which the initial data has been acknowledged.
    confirmed: u32,
    /// The window after the jump.
    jumped: u32,
    /// The RFC's `PipeSize`, in packets.
    pipe: u32,
    /// Number of packets sent before the jump that have not been acknowledged.
    older: u32,
    /// The window in Safe Retreat.
    window: u32,
    /// Factor of the threshold after Safe Retreat, in tenths: 5, and 7 for CUBIC.
    beta: u32,
    /// True if the sender was paced before the jump.
    paced: bool,
    round: Option<Round>,
}

impl CarefulResume {
    /// Creates the state at the start of a connection. `state` has the initial window.
    pub fn new(parameters: Option<Parameters>, is_cubic: bool, state: &State) -> CarefulResume {
        CarefulResume {
            parameters,
            path: None,
            taken: None,
            phase: if parameters.is_some() { Phase::Reconnaissance } else { Phase::Normal },
            initial: state.snd_cwnd,
            confirmed: state.delivered + state.snd_cwnd,
            jumped: 0,
            pipe: 0,
            older: 0,
            window: 0,
            beta: if is_cubic { 7 } else { 5 },
            paced: false,
            round: None,
        }
    }

    /// Uses the observations of this path, if the parameters are those of earlier connections.
    pub fn follow_path(&mut self, path: SavedPath) {
        self.path = Some(path).filter(|_| self.parameters == Some(Parameters::Earlier));
    }

    /// Returns true if the window must not grow.
    pub fn holds(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(..) | Phase::SafeRetreat(..))
    }

    /// Returns true while the jumped window is sent, paced over a round trip.
    pub fn paces(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated(..))
    }

    /// Returns the window that Safe Retreat prescribes, if the sender is in this phase.
    pub fn retreat(&self) -> Option<u32> {
        matches!(self.phase, Phase::SafeRetreat(..)).then_some(self.window)
    }

    /// Called when the window limits the sender; `next` is the position of the next packet. Returns
    /// true if the window has grown.
    pub fn filled(&mut self, now: Time, next: u64, state: &mut State) -> bool {
        match self.phase {
            Phase::Reconnaissance => self.jump(now, state),
            Phase::Unvalidated(..) => {
                self.validate(in_flight(state), next, state);
                false
            }
            _ => false,
        }
    }

    fn jump(&mut self, now: Time, state: &mut State) -> bool {
        if (state.delivered.wrapping_sub(self.confirmed) as i32) < 0 {
            return false;
        }
        let Some(saved) = self.values(state) else {
            self.end();
            return false;
        };
        let (rtt, before) = (u64::from(state.rtt_min_us), saved.rtt.as_micros());
        let window = saved.window / 2;
        if 2 * rtt <= before || rtt > 10 * before || window <= state.snd_cwnd {
            self.end();
            return false;
        }
        self.phase = Phase::Unvalidated(now);
        self.pipe = in_flight(state);
        self.older = self.pipe;
        self.jumped = window;
        state.snd_cwnd = window;
        // A packet each RTT x packet / jump window.
        let srtt = u64::from(state.srtt_us).max(1);
        state.sk_pacing_rate = u64::from(window) * u64::from(state.mss_cache) * 8_000_000 / srtt;
        self.paced = state.sk_pacing_status != PACING_NONE;
        if !self.paced {
            state.sk_pacing_status = PACING_NEEDED;
        }
        true
    }

    /// Returns the values from which the sender resumes, if any.
    fn values(&mut self, state: &State) -> Option<Values> {
        if let Some(Parameters::Given(saved)) = self.parameters {
            return Some(Values { window: saved.cwnd.value() as u32, rtt: saved.rtt });
        }
        let observed = self.path.as_ref()?.take()?;
        self.taken = Some(observed);
        let window = u32::try_from(observed.bytes / u64::from(state.mss_cache)).unwrap_or(u32::MAX);
        Some(Values { window, rtt: observed.rtt })
    }

    /// Continues normally, and returns the values to the path.
    fn end(&mut self) {
        self.phase = Phase::Normal;
        if let (Some(path), Some(taken)) = (&self.path, self.taken.take()) {
            path.give_back(taken);
        }
    }

    /// Ends the pacing of the jump.
    fn stop_pacing(&mut self, state: &mut State) {
        if self.paces() {
            state.sk_pacing_rate = u64::MAX;
            if !self.paced {
                state.sk_pacing_status = PACING_NONE;
            }
        }
    }

    fn validate(&mut self, flight: u32, next: u64, state: &mut State) {
        self.stop_pacing(state);
        if flight <= self.pipe || flight < self.initial {
            state.snd_cwnd = self.pipe.max(self.initial);
            self.end();
        } else {
            state.snd_cwnd = flight;
            self.phase = Phase::Validating(next.saturating_sub(1));
        }
    }

    /// Handles `count` newly acknowledged packets, the last of which ends at the position `newest`.
    /// `next` is the position of the next packet.
    pub fn acknowledged(&mut self, now: Time, count: u32, newest: u64, next: u64, state: &mut State) {
        let older = self.older.min(count);
        self.older -= older;
        let validated = count - older;
        match self.phase {
            Phase::Normal => self.observe(newest, next, state),
            Phase::Reconnaissance => {}
            Phase::Unvalidated(begin) => {
                let round_trip = Span::from_micros(u64::from(state.srtt_us >> 3));
                if validated > 0 || now.since(begin) > round_trip {
                    // The acknowledged packets still count as part of the flight.
                    self.validate(in_flight(state) + validated, next, state);
                    self.pipe = (self.pipe + validated).min(self.jumped);
                }
            }
            Phase::Validating(last) => {
                self.pipe = (self.pipe + validated).min(self.jumped);
                if newest >= last {
                    self.end();
                }
            }
            Phase::SafeRetreat(last) => {
                self.pipe = (self.pipe + validated).min(self.jumped);
                if newest >= last {
                    state.snd_ssthresh = self.threshold();
                    self.phase = Phase::Normal;
                }
            }
        }
    }

    /// Returns the slow-start threshold after Safe Retreat.
    fn threshold(&self) -> u32 {
        (self.pipe * self.beta / 10).max(self.initial)
    }

    /// Saves the packets that have been acknowledged in a round trip.
    fn observe(&mut self, newest: u64, next: u64, state: &State) {
        let Some(path) = &self.path else { return };
        if state.ca_state >= CA_CWR {
            self.round = None;
            return;
        }
        if self.round.is_some_and(|round| newest < round.end) {
            return;
        }
        let round = self.round.replace(Round { end: next, delivered: state.delivered });
        let Some(round) = round else { return };
        let window = state.delivered.wrapping_sub(round.delivered);
        if window >= 4 * self.initial {
            let bytes = u64::from(window) * u64::from(state.mss_cache);
            let rtt = Span::from_micros(state.rtt_min_us.into());
            path.observe(Observed { bytes, rtt }, state.is_cwnd_limited != 0);
        }
    }

    /// Handles a sign of congestion; `next` is the position of the next packet. Returns true if the
    /// window has been set, in place of the usual reduction.
    pub fn congested(&mut self, next: u64, state: &mut State) -> bool {
        let last = match self.phase {
            Phase::Normal => return false,
            Phase::Reconnaissance => {
                self.phase = Phase::Normal;
                return false;
            }
            Phase::Unvalidated(..) => next.saturating_sub(1),
            Phase::Validating(last) => last,
            Phase::SafeRetreat(..) => return true,
        };
        self.stop_pacing(state);
        self.delete(Phase::SafeRetreat(last));
        self.window = (self.pipe / 2).max(self.initial);
        state.snd_cwnd = self.window;
        true
    }

    /// Handles a time-out that has reduced the window.
    pub fn timed_out(&mut self, state: &mut State) {
        if !matches!(self.phase, Phase::Normal | Phase::Reconnaissance) {
            self.stop_pacing(state);
            state.snd_ssthresh = state.snd_ssthresh.min(self.threshold());
        }
        self.delete(Phase::Normal);
    }

    /// Enters a phase in which the values are not used any more.
    fn delete(&mut self, phase: Phase) {
        self.taken = None;
        self.round = None;
        self.phase = phase;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sending::saved_path::{Saved, SavedPaths};
    use bentpipe_congestion::interface::INFINITE_SSTHRESH;
    use bentpipe_core::{Count, NodeId};

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    /// A sender that has confirmed the path, with 29 packets in flight, and a saved window of 300.
    fn confirmed() -> (CarefulResume, State) {
        let saved = Saved { cwnd: Count::new(300), rtt: Span::from_millis(600) };
        let state = State {
            snd_cwnd: 29,
            packets_out: 29,
            delivered: 10,
            mss_cache: 1000,
            rtt_min_us: 600_000,
            srtt_us: 4_800_000,
            sk_pacing_rate: u64::MAX,
            snd_ssthresh: INFINITE_SSTHRESH,
            ..State::default()
        };
        let start = State { snd_cwnd: 10, ..State::default() };
        (CarefulResume::new(Some(Parameters::Given(saved)), false, &start), state)
    }

    /// The RFC's first example: packets 30 to 150 are sent unvalidated, and all arrive.
    #[test]
    fn a_path_that_carries_the_jump_keeps_the_window() {
        let (mut resume, mut state) = confirmed();
        assert!(resume.filled(at(1200), 30, &mut state));
        assert_eq!((state.snd_cwnd, resume.pipe), (150, 29));
        // 150 packets of 1000 bytes in 0.6 s.
        assert_eq!(state.sk_pacing_rate, 250_000);
        state.packets_out = 150;
        assert!(!resume.filled(at(1700), 151, &mut state));
        assert_eq!(state.snd_cwnd, 150);
        assert_eq!(state.sk_pacing_rate, u64::MAX);
        for number in 1..=150 {
            state.packets_out -= 1;
            resume.acknowledged(at(1800), 1, number, 151, &mut state);
            assert_eq!(resume.phase == Phase::Normal, number == 150, "{number}");
        }
        assert_eq!(resume.pipe, 150);
    }

    /// The RFC's example of a loss: packet 64, the 35th unvalidated one, is lost. `PipeSize` is
    /// then 63 and the window 31.
    #[test]
    fn a_loss_ends_in_a_safe_retreat() {
        let (mut resume, mut state) = confirmed();
        resume.filled(at(1200), 30, &mut state);
        state.packets_out = 150;
        resume.filled(at(1700), 151, &mut state);
        for number in 1..=63 {
            state.packets_out -= 1;
            resume.acknowledged(at(1800), 1, number, 151, &mut state);
        }
        assert_eq!(resume.pipe, 63);
        assert!(resume.congested(151, &mut state));
        assert_eq!(state.snd_cwnd, 31);
        assert!(resume.holds());
        assert!(resume.congested(151, &mut state));
        assert_eq!(state.snd_cwnd, 31);
        for number in 65..=150 {
            resume.acknowledged(at(1900), 1, number, 151, &mut state);
        }
        assert!(!resume.holds());
        assert_eq!(state.snd_ssthresh, (63 + 86) / 2);
    }

    /// The RFC's example of a sender with little data: 50 packets are in flight when the first
    /// unvalidated one is acknowledged.
    #[test]
    fn a_sender_with_little_data_gets_the_window_that_it_used() {
        let (mut resume, mut state) = confirmed();
        resume.filled(at(1200), 30, &mut state);
        state.packets_out = 50;
        resume.acknowledged(at(1790), 29, 29, 80, &mut state);
        assert_eq!(state.snd_cwnd, 150);
        state.packets_out = 49;
        resume.acknowledged(at(1800), 1, 30, 80, &mut state);
        assert_eq!(state.snd_cwnd, 50);
    }

    #[test]
    fn another_path_is_not_resumed() {
        for rtt in [299_000, 300_000, 6_001_000] {
            let (mut resume, mut state) = confirmed();
            state.rtt_min_us = rtt;
            assert!(!resume.filled(at(1200), 30, &mut state));
            assert_eq!((state.snd_cwnd, resume.phase), (29, Phase::Normal));
        }
        // The initial data is not acknowledged, and later the window has been reduced.
        let (mut resume, mut state) = confirmed();
        state.delivered = 9;
        assert!(!resume.filled(at(1200), 30, &mut state));
        assert!(!resume.congested(30, &mut state));
        state.delivered = 30;
        assert!(!resume.filled(at(1300), 30, &mut state));
    }

    /// A second connection resumes from the round trips that the first has seen, and the first
    /// deletes values that cause a loss.
    #[test]
    fn a_connection_resumes_from_the_observation_of_an_earlier_one() {
        let path = SavedPaths::default().path(NodeId(0), NodeId(1));
        let start = State { snd_cwnd: 10, ..State::default() };
        let connection = || {
            let mut resume = CarefulResume::new(Some(Parameters::Earlier), false, &start);
            resume.follow_path(path.clone());
            resume
        };
        // The first connection finds no values. A round trip of 39 packets is not saved.
        let (mut first, (_, mut state)) = (connection(), confirmed());
        assert!(!first.filled(at(1200), 30, &mut state));
        for (round, window) in [(1, 0), (2, 39), (3, 300)] {
            assert_eq!(path.take(), None);
            state.delivered += window;
            first.acknowledged(at(600 * round), window, 1000 * round, 1000 * (round + 1), &mut state);
        }
        let observed = Observed { bytes: 300_000, rtt: Span::from_millis(600) };
        for is_congested in [false, true] {
            let (mut second, (_, mut state)) = (connection(), confirmed());
            assert!(second.filled(at(1200), 30, &mut state));
            assert_eq!(state.snd_cwnd, 150);
            let (mut third, (_, mut state_of_third)) = (connection(), confirmed());
            assert!(!third.filled(at(1200), 30, &mut state_of_third), "the second uses the values");
            state.packets_out = 150;
            second.filled(at(1700), 151, &mut state);
            if is_congested {
                assert!(second.congested(151, &mut state));
            }
            second.acknowledged(at(1800), 150, 150, 151, &mut state);
            let kept = path.take();
            assert_eq!(kept, (!is_congested).then_some(observed));
            if let Some(kept) = kept {
                path.give_back(kept);
            }
        }
    }
}
