//! Timing: propagation, the alignment of terminals, and the number L of superframes from a request
//! to its assignment.
//!
//! Superframe n starts at n D for the network control centre (D is the length of a superframe), and
//! at n D + offset for a terminal. The offset of a terminal is the time by which a burst of the
//! farthest terminal takes longer to reach the satellite. Bursts of one superframe are thereby
//! aligned at the satellite and do not collide. With equal delays all offsets are zero.
//!
//! A request made at the start of superframe n is used at the control centre's first boundary after
//! its arrival and processing. At boundary b the centre plans superframe b + lead. The lead is the
//! smallest number for which the plan reaches every terminal before its superframe starts. With 250
//! ms one way and superframes of 94 ms, a request arrives at 2.66 D and is used at 3 D. The plan
//! arrives at 5.66 D and applies from 6 D on: L = 6.
//!
//! With long superframes, L consists mostly of the waits for boundaries. A network may shift the
//! times of requests and plans ([`Schedule`]): terminals make requests some time after the start of
//! their superframe, and the centre plans some time after the start of its own. *Just in time*
//! means that a plan arrives when its superframe starts, and a request arrives when the plan is
//! made.
//!
//! **Moving satellites.** Let R be the maximum delay between a terminal and the satellite
//! ([`Orbit::longest`]), u(t) the delay at time t between the satellite and a terminal, and g(t)
//! the delay between the satellite and the gateway. A terminal starts superframe n at
//!
//! ```text
//! n D + R - u(n D + R)
//! ```
//!
//! so that bursts of all terminals reach the satellite at n D + R, independent of its position. A
//! request of superframe n reaches the control centre at n D + R + g: u cancels out. The lead must
//! suffice for the maximum delays, and is constant during a run. L therefore varies during a pass:
//! L = floor((R + g + processing) / D) + 1 + lead.
//!
//! For example, take superframes of 23.5 ms over satellites at 8062 km with a mask of 10 deg, and
//! all stations on the equator. The slant range is 11 895 km at the mask (R = 39.68 ms) and 8062 km
//! overhead (26.89 ms). A plan arrives up to 2 R + 0.03 ms = 79.39 ms after its boundary, relative
//! to the start of a superframe at the terminal: lead = 4. A request arrives between 66.57 ms (2.83
//! D) and 79.36 ms (3.38 D) after the start of the control centre's superframe, and is used at 3 D
//! or 4 D. L = 7 while the delay between satellite and gateway is below 30.82 ms (9240 km), and L =
//! 8 before and after.
//!
//! [`Orbit::longest`]: crate::propagation::Orbit::longest

use super::frame::Frame;
use crate::propagation::{Legs, Track};
use bentpipe_core::{Span, Time};

/// The times within a superframe at which requests and plans are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Time of requests, relative to the start of the terminal's superframe.
    pub request_offset: Span,
    /// Time of plans, relative to the start of the control centre's superframe.
    pub plan: Span,
}

impl Schedule {
    /// Returns the schedule in which plans arrive when their superframe starts, and requests arrive
    /// when plans are made.
    pub fn just_in_time<'a>(
        frame: &Frame,
        processing: Span,
        transmission: Span,
        timings: impl Iterator<Item = &'a Timing> + Clone,
    ) -> Schedule {
        // Earlier by one nanosecond, because the arrival must be strictly before the start.
        let before = |span: Span| {
            let superframe = frame.superframe().as_nanos();
            let early = (span.as_nanos() + 1) % superframe;
            Span::from_nanos((superframe - early) % superframe)
        };
        let down =
            timings.clone().map(|timing| (transmission + timing.one_way).saturating_sub(timing.offset)).max();
        let up = timings.map(|timing| timing.one_way + timing.offset).max();
        let down = down.unwrap_or(Span::ZERO);
        Schedule {
            request_offset: before(down + up.unwrap_or(Span::ZERO) + processing + Span::from_nanos(1)),
            plan: before(down),
        }
    }

    /// Returns the number of superframes by which a plan is made ahead of its superframe, if
    /// sending the plan takes `transmission`.
    pub fn lead<'a>(
        &self,
        frame: &Frame,
        transmission: Span,
        timings: impl Iterator<Item = &'a Timing>,
    ) -> u64 {
        let arrival =
            |timing: &Timing| (self.plan + transmission + timing.one_way).saturating_sub(timing.offset);
        timings.map(|timing| arrival(timing) / frame.superframe() + 1).max().unwrap_or(1)
    }

    /// Returns the upper limit for the transmission time of a plan. Below this limit, a plan made
    /// `lead` superframes ahead reaches every terminal in time.
    pub fn longest_plan<'a>(
        &self,
        frame: &Frame,
        lead: u64,
        timings: impl Iterator<Item = &'a Timing>,
    ) -> Span {
        let left = |timing: &Timing| {
            (frame.superframe() * lead + timing.offset).saturating_sub(self.plan + timing.one_way)
        };
        timings.map(left).min().unwrap_or(Span::ZERO)
    }

    /// Returns L, the number of superframes from a request to its assignment, for the terminal with
    /// the longest wait.
    pub fn response<'a>(
        &self,
        frame: &Frame,
        processing: Span,
        lead: u64,
        timings: impl Iterator<Item = &'a Timing>,
    ) -> u64 {
        let waits = |timing: &Timing| {
            let arrival = self.request_offset + timing.offset + timing.one_way + processing;
            match arrival < self.plan {
                true => lead,
                false => (arrival - self.plan) / frame.superframe() + 1 + lead,
            }
        };
        timings.map(waits).max().unwrap_or(1)
    }
}

/// The delays of one terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timing {
    /// Propagation delay to the satellite (with a fixed delay, to the gateway).
    pub up: Span,
    /// Propagation delay to the gateway, which is the same in both directions.
    pub one_way: Span,
    /// Delay from the start of a superframe at the control centre to its start at the terminal.
    pub offset: Span,
}

impl Timing {
    /// Sets the offsets of all terminals so that their bursts are aligned at the satellite.
    pub fn align<'a>(timings: impl Iterator<Item = &'a mut Timing>) {
        let timings: Vec<_> = timings.collect();
        let farthest = timings.iter().map(|timing| timing.up).max().unwrap_or(Span::ZERO);
        for timing in timings {
            timing.offset = farthest - timing.up;
        }
    }
}

/// Starts of the superframes of one terminal, and the delays in each.
#[derive(Clone)]
pub struct Timeline {
    /// Delays in the superframe that was entered last. Constant delays apply to all superframes.
    timing: Timing,
    ephemeris: Option<Box<MovingTiming>>,
}

/// The delays of a terminal with moving satellites.
#[derive(Clone)]
struct MovingTiming {
    track: Track,
    /// R, the maximum delay between a terminal and the satellite.
    longest: Span,
}

impl MovingTiming {
    /// Returns the time at which the bursts of a superframe reach the satellite.
    fn passage(&self, frame: &Frame, superframe: u64) -> Time {
        Time::ZERO + frame.superframe() * superframe + self.longest
    }

    fn timing(&self, frame: &Frame, superframe: u64) -> Timing {
        let Legs { terminal, gateway } = self.track.legs(self.passage(frame, superframe));
        Timing { up: terminal, one_way: terminal + gateway, offset: self.longest.saturating_sub(terminal) }
    }
}

impl Timeline {
    /// Creates the superframes of a terminal with constant delays.
    pub fn constant(timing: Timing) -> Timeline {
        Timeline { timing, ephemeris: None }
    }

    /// Creates the superframes of a terminal with moving satellites. `longest` are its maximum
    /// delays.
    pub fn moving(frame: &Frame, longest: Timing, track: Track) -> Timeline {
        let course = MovingTiming { track, longest: longest.up };
        Timeline { timing: course.timing(frame, 0), ephemeris: Some(Box::new(course)) }
    }

    /// Returns the delays in the superframe that was entered last.
    #[inline]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Updates the delays to those of a superframe.
    #[inline]
    pub fn enter(&mut self, frame: &Frame, superframe: u64) {
        if let Some(course) = &self.ephemeris {
            self.timing = course.timing(frame, superframe);
        }
    }

    /// Returns the start of a superframe at the terminal.
    #[inline]
    pub fn start(&self, frame: &Frame, superframe: u64) -> Time {
        let timing = match &self.ephemeris {
            None => self.timing,
            Some(course) => course.timing(frame, superframe),
        };
        Time::ZERO + timing.offset + frame.superframe() * superframe
    }

    /// Returns the present superframe of a terminal; 0 until superframe 0 has started.
    #[inline]
    pub fn superframe(&self, frame: &Frame, now: Time) -> u64 {
        let mut superframe = now.since(Time::ZERO + self.timing.offset) / frame.superframe();
        if self.ephemeris.is_some() {
            // The delays may have changed since the superframe that was entered last, by less than
            // a superframe.
            while superframe > 0 && self.start(frame, superframe) > now {
                superframe -= 1;
            }
            while self.start(frame, superframe + 1) <= now {
                superframe += 1;
            }
        }
        superframe
    }

    /// Returns true if bursts of a superframe reach the gateway, that is, if a satellite serves for
    /// the whole superframe.
    #[inline]
    pub fn is_served(&self, frame: &Frame, superframe: u64) -> bool {
        self.ephemeris.as_ref().is_none_or(|course| {
            let passage = course.passage(frame, superframe);
            course.track.serves(passage, passage + frame.superframe())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::tests::STUDY;
    use super::*;

    fn response(one_way: u64, processing: u64) -> u64 {
        let millis = Span::from_millis(one_way);
        let timings = [Timing { up: millis, one_way: millis, offset: Span::ZERO }];
        let schedule = Schedule::default();
        let lead = schedule.lead(&STUDY, Span::from_micros(30), timings.iter());
        schedule.response(&STUDY, Span::from_millis(processing), lead, timings.iter())
    }

    #[test]
    fn just_in_time_schedule_equals_hand_computed_values() {
        // Superframes of 820 ms, and 250 ms one way: the plan is sent 251 ms before its superframe
        // starts, and the request 501 ms before.
        let skyplex = Frame { frames: 3, slot_bytes: 1504, length: Span::from_nanos(273_333_333) };
        let timings =
            [Timing { up: Span::from_millis(250), one_way: Span::from_millis(250), offset: Span::ZERO }];
        let millisecond = Span::from_millis(1);
        let schedule = Schedule::just_in_time(&skyplex, Span::ZERO, millisecond, timings.iter());
        let end = skyplex.superframe();
        assert_eq!(schedule.plan, end - Span::from_nanos(251_000_001));
        assert_eq!(schedule.request_offset, end - Span::from_nanos(501_000_002));
        let lead = schedule.lead(&skyplex, millisecond, timings.iter());
        assert_eq!(lead, 1);
        assert_eq!(schedule.response(&skyplex, Span::ZERO, lead, timings.iter()), 1);
        // If both are made at the boundaries, it takes two superframes.
        let plain = Schedule::default();
        let lead = plain.lead(&skyplex, millisecond, timings.iter());
        assert_eq!((lead, plain.response(&skyplex, Span::ZERO, lead, timings.iter())), (1, 2));
    }

    #[test]
    fn response_equals_hand_computed_values() {
        assert_eq!(response(250, 0), 6);
        // 250 + 40 = 290 ms is after 3 x 94 = 282 ms, so the request is used at 4 D.
        assert_eq!(response(250, 40), 7);
        // 282 ms is not before the boundary at 3 D, and the plan misses its superframe by the time
        // of its transmission.
        assert_eq!(response(282, 0), 8);
        // The study's 11: propagation and processing end between 7 D and 8 D.
        assert_eq!(response(250, 450), 11);
        assert_eq!(response(0, 0), 2);
    }

    #[test]
    fn nearer_terminals_wait_for_the_farthest() {
        let mut timings = [120, 135, 128].map(|up| Timing {
            up: Span::from_millis(up),
            one_way: Span::from_millis(up + 125),
            offset: Span::ZERO,
        });
        Timing::align(timings.iter_mut());
        assert_eq!(timings.map(|timing| timing.offset.as_micros() / 1000), [15, 0, 7]);
        let timeline = Timeline::constant(timings[0]);
        assert_eq!(timeline.superframe(&STUDY, Time::from_nanos(14_999_999)), 0);
        assert_eq!(timeline.superframe(&STUDY, timeline.start(&STUDY, 3)), 3);
    }
}
