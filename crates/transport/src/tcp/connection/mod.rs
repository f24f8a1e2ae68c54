//! The state machine of a connection (RFC 9293, section 3.3.2), without I/O. Its inputs are
//! arriving segments, timers and requests of the application. [`Connection::next_segment`] returns
//! the segments to send, one per call. [`Connection::next_event`] returns the events for the
//! application.
//!
//! - Set-up: [`super::handshake`]. The window of a SYN and a SYN-ACK is not scaled, so the first
//!   flight towards the opening end is at most 65535 bytes, as in real stacks. If a SYN, a SYN-ACK
//!   or the last ACK is lost, the SYN or SYN-ACK is retransmitted. The first data also replaces a
//!   lost last ACK.
//! - Either end or both may close. TIME-WAIT lasts 60 s after the last segment, as in Linux
//!   (`tcp_timewait_state_process`). It needs no timer, because the connection only answers
//!   segments.
//! - A reset is valid only if its sequence number is the next expected one. A SYN, or a reset
//!   elsewhere in the window, is answered with an acknowledgment (RFC 5961, sections 3.2 and 4.2).
//!   TIME-WAIT ignores resets (RFC 1337). In CLOSING and LAST-ACK, a reset ends the connection
//!   without a failure.
//! - Explicit congestion notification (RFC 3168, RFC 9768; [`super::ecn`]) is negotiated by the
//!   flags of the SYNs. Only new data may be marked. The sender reduces its window at most once per
//!   round trip.
//! - A connection that fails reports the reason: [`Failure`].
//!
//! Limits: no simultaneous open (only the source of a flow opens), no data on a SYN, no urgent
//! data, no keep-alive.

mod arrival;
mod segments;

use super::ecn::Feedback;
use super::events::Events;
use super::handover::Signal;
use super::handshake::Handshake;
use super::header::Numbering;
use super::receiver::Receiver;
use super::reset::Reset;
use super::sender::Sender;
use super::{config, Config};
use crate::flow::SourceCounters;
use crate::sending::saved_path::SavedPath;
use bentpipe_congestion::interface::Congestion;
use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::segment::{Segment, SegmentFlags};
use bentpipe_stage::Ecn as Field;

pub use super::events::{Event, Failure};

/// States of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// No connection: not opened yet, or ended.
    Closed,
    /// Waits for the other end's SYN.
    Listen,
    /// Has sent a SYN that is not answered yet.
    SynSent,
    /// Has received a SYN and sent a SYN-ACK.
    SynReceived,
    /// The connection is open in both directions.
    Established,
    /// Has sent a FIN that is not acknowledged.
    FinWait1,
    /// Has sent a FIN that is acknowledged.
    FinWait2,
    /// Has sent a FIN, and has received a FIN before an acknowledgment of the sent FIN.
    Closing,
    /// Both FINs are acknowledged. The connection only answers late segments.
    TimeWait,
    /// Has received a FIN, and has not sent a FIN.
    CloseWait,
    /// Has received a FIN, and then sent a FIN that is not acknowledged.
    LastAck,
}

/// Duration of TIME-WAIT (`TCP_TIMEWAIT_LEN` of Linux).
pub const TIME_WAIT: Span = Span::from_secs(60);

/// The next segment of the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Pending {
    #[default]
    Nothing,
    Syn,
    Reset(Reset),
}

/// Explicit congestion notification of a connection.
#[derive(Debug, Default)]
struct Marking {
    kind: config::Ecn,
    /// True while acknowledgments echo congestion: until the other end reports a reduced window.
    /// Only with classic feedback.
    echoes: bool,
    /// ECN field of the last segment from `next_segment`.
    field: Field,
    /// ECN field of the arriving packet.
    arrived: Field,
    /// True if the flags of the present segment report the ECN field of the SYN-ACK.
    skips_report: bool,
    /// Counters of arriving packets, with accurate feedback.
    feedback: Option<Box<Feedback>>,
}

/// One end of a TCP connection.
pub struct Connection {
    phase: Phase,
    ours: Numbering,
    theirs: Numbering,
    sender: Sender,
    receiver: Receiver,
    pending: Pending,
    handshake: Handshake,
    /// True if timestamps are in use.
    timestamps: bool,
    /// True if acknowledgments have SNACK options, which name missing data.
    snack: bool,
    /// State of explicit congestion notification, if in use.
    ecn: Marking,
    /// Receive window in a SYN or SYN-ACK, at most 65535 bytes.
    syn_window: u32,
    /// True if the event `AllAcknowledged` was added since the last call of `send`.
    reported_all_acknowledged: bool,
    close_wanted: bool,
    time_wait_end: Time,
    events: Events,
}

impl Connection {
    /// Creates a closed connection. `initial` is its initial sequence number.
    pub fn new(config: &Config, congestion: Box<dyn Congestion>, initial: u32, random: u64) -> Connection {
        Connection {
            phase: Phase::Closed,
            ours: Numbering::new(initial),
            theirs: Numbering::default(),
            sender: Sender::new(config, congestion, initial, random),
            receiver: Receiver::new(config),
            pending: Pending::Nothing,
            handshake: Handshake::new(config),
            timestamps: config.timestamps,
            snack: false,
            ecn: Marking::default(),
            syn_window: config.window().min(config::UNSCALED_WINDOW) as u32,
            reported_all_acknowledged: true,
            close_wanted: false,
            time_wait_end: Time::MAX,
            events: Events::default(),
        }
    }

    /// Resumes from the observations of earlier connections over this path, if configured.
    pub fn resume_from(&mut self, path: &SavedPath) {
        self.sender.resume_from(path);
    }

    /// Waits for the other end to open.
    pub fn listen(&mut self) {
        self.phase = Phase::Listen;
    }

    /// Opens the connection actively, with a SYN.
    pub fn open(&mut self) {
        self.phase = Phase::SynSent;
        self.pending = Pending::Syn;
    }

    /// Hands over `bytes` more bytes to send. `u64::MAX` stands for an endless stream.
    pub fn send(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.sender.hand_over(bytes);
        self.reported_all_acknowledged = false;
        self.events.withdraw_all_acknowledged();
    }

    /// Handles a signal about the path of the connection.
    pub fn signal(&mut self, now: Time, signal: &Signal) {
        if self.phase < Phase::Established {
            return;
        }
        match signal {
            Signal::Freeze => self.receiver.freeze(true),
            Signal::Thaw => self.receiver.freeze(false),
            Signal::Adapt(path) => self.sender.adapt(now, path),
        }
    }

    /// Closes this direction after all data that was handed over has been sent.
    pub fn close(&mut self) {
        if !self.close_wanted {
            self.close_wanted = true;
            self.sender.close();
        }
    }

    /// Closes this direction after the present contents of the send buffer have been sent. Discards
    /// data that is not yet in the send buffer.
    pub fn stop(&mut self) {
        if !self.close_wanted {
            self.sender.discard_unwritten();
            self.close();
        }
    }

    /// Ends the connection at once. If the other end knows the connection, it is informed by a
    /// reset (RFC 9293, section 3.10.5).
    pub fn abort(&mut self) {
        let phase = self.phase;
        self.end();
        if !matches!(phase, Phase::Closed | Phase::Listen | Phase::SynSent | Phase::TimeWait) {
            self.pending = Pending::Reset(Reset {
                sequence: self.ours.number(self.sender.nxt()),
                acknowledgment: Some(self.theirs.number(self.receiver.next())),
            });
        }
    }

    /// Makes received data wait for [`Connection::read`], because more packets arrive at this
    /// instant.
    pub fn hold_reading(&mut self) {
        self.receiver.hold_reading();
    }

    /// Lets the application read the received data.
    pub fn read(&mut self) {
        self.receiver.read();
    }

    /// Allows the other end to send the first `bytes` bytes of the stream. The number never
    /// decreases. Without this call, the reader has room for all data.
    pub fn allow(&mut self, bytes: u64) {
        self.receiver.allow(bytes);
    }

    /// Returns the state of the connection.
    #[inline]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the sending half of the connection.
    #[inline]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the counters for the report of the flow's source.
    pub fn counters_mut(&mut self) -> &mut SourceCounters {
        &mut self.sender.counters
    }

    /// Returns the receiving half of the connection.
    #[inline]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Returns the time at which to call [`Connection::wake`] next; `Time::MAX` if no timer runs.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.sender.next_wake().min(self.receiver.next_wake()).min(self.handshake.next_wake())
    }

    /// Checks the timers. Returns true if a retransmission time-out for data occurred.
    pub fn wake(&mut self, now: Time) -> bool {
        self.receiver.wake(now, self.sender.estimator());
        match self.handshake.wake(now) {
            Ok(false) => {}
            Ok(true) => self.pending = Pending::Syn,
            Err(_) => {
                self.fail(Failure::Handshake);
                return false;
            }
        }
        match self.sender.wake(now) {
            Ok(timed_out) => timed_out,
            Err(_) => {
                self.fail(Failure::TooManyRetries);
                false
            }
        }
    }

    /// Returns true if there are events for the application.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.events.are_waiting()
    }

    /// Returns the next event for the application.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.next()
    }

    fn fin_sent(&mut self) {
        self.phase = match self.phase {
            Phase::Established => Phase::FinWait1,
            Phase::CloseWait => Phase::LastAck,
            other => other,
        };
    }

    fn fin_acknowledged(&mut self, now: Time) {
        let next = match self.phase {
            Phase::FinWait1 => Phase::FinWait2,
            Phase::Closing => Phase::TimeWait,
            Phase::LastAck => Phase::Closed,
            _ => return,
        };
        self.enter(now, next);
        self.events.add(Event::Closed);
    }

    fn fin_received(&mut self, now: Time) {
        let next = match self.phase {
            Phase::Established => Phase::CloseWait,
            Phase::FinWait1 => Phase::Closing,
            Phase::FinWait2 => Phase::TimeWait,
            _ => return,
        };
        self.enter(now, next);
        self.events.add(Event::PeerClosed);
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        self.phase = phase;
        if phase == Phase::TimeWait {
            self.time_wait_end = now + TIME_WAIT;
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.end();
        self.events.add(Event::Failed(failure));
    }

    fn end(&mut self) {
        self.phase = Phase::Closed;
        self.pending = Pending::Nothing;
        self.handshake.stop();
        self.sender.stop();
    }
}

/// Returns true if a segment opens a connection, with or without a request for explicit congestion
/// notification.
#[inline]
pub fn is_syn(segment: &Segment) -> bool {
    segment.flags.contains(SegmentFlags::SYN)
        && segment.flags.0 & (SegmentFlags::ACK.0 | SegmentFlags::RST.0) == 0
}
