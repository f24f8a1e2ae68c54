//! An LTP engine, which manages sending and receiving sessions.

use super::receiver::{Arrival, Receiver};
use super::segment::{reason, Content, Segment, Session};
use super::sender::{End, Sender};
use super::{AnswerDeadlines, Config};
use crate::chunk::Chunk;
use bentpipe_core::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

/// Maximum number of ended sessions that an engine keeps, so that late segments do not open them
/// again.
pub const MAX_ENDED_SESSIONS: usize = 4096;

/// An event for the engine's client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The red part of a block has arrived.
    Red {
        /// The session of the block, with the number of the sending engine.
        session: Session,
        /// Number of the client service to which the data goes; 1 for bundles.
        service: u64,
        /// The received bytes.
        data: Chunk,
    },
    /// A part of the green data of a block has arrived.
    Green {
        /// The session of the block.
        session: Session,
        /// Number of the client service to which the data goes; 1 for bundles.
        service: u64,
        /// Range of the data in the block.
        range: Range<u64>,
        /// The received bytes.
        data: Chunk,
    },
    /// A session that sends a block has ended.
    Sent {
        /// The session of the block.
        session: Session,
        /// The outcome of the session.
        end: End,
    },
    /// A session that receives a block was cancelled.
    Abandoned {
        /// The session of the block.
        session: Session,
    },
}

/// An LTP engine with all sessions in which it sends and receives.
pub struct Engine {
    number: u64,
    config: Config,
    next_session: u64,
    first_report: u64,
    sending: BTreeMap<u64, (u64, Sender)>,
    receiving: BTreeMap<Session, (u64, Receiver)>,
    /// Sessions with segments to send, in the order in which they take turns.
    ready: VecDeque<Session>,
    /// The sessions in `ready`.
    queued: BTreeSet<Session>,
    /// Timers in the order of expiry.
    timers: BTreeSet<(Time, Session)>,
    /// Expiry of the timer of each session.
    timed: BTreeMap<Session, Time>,
    /// Received sessions that have ended.
    ended: BTreeSet<Session>,
    /// The sessions in `ended`, oldest first.
    order: VecDeque<Session>,
    events: VecDeque<Event>,
    /// Answers to segments of ended sessions, with the peers to which they go.
    answers: VecDeque<(u64, Segment)>,
}

impl Engine {
    /// Creates an engine with this number. Its sessions and reports are numbered from 1.
    pub fn new(number: u64, config: Config) -> Engine {
        Engine::with_first_number(number, 1, config)
    }

    /// Creates an engine with this number. Its sessions and reports are numbered from `first`. A
    /// restarted engine needs higher numbers than before, since its peers ignore segments of
    /// sessions that have ended.
    pub fn with_first_number(number: u64, first: u64, config: Config) -> Engine {
        Engine {
            number,
            config,
            next_session: first.max(1),
            first_report: first.max(1),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            ready: VecDeque::new(),
            queued: BTreeSet::new(),
            timers: BTreeSet::new(),
            timed: BTreeMap::new(),
            ended: BTreeSet::new(),
            order: VecDeque::new(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
        }
    }

    /// Returns the number of this engine.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Starts to send a block to `peer`. The first `red` bytes of the block are red.
    pub fn send(&mut self, peer: u64, service: u64, block: Chunk, red: u64) -> Session {
        let session = Session { engine: self.number, number: self.next_session };
        self.next_session += 1;
        let sender = Sender::new(session, service, block, red, 1, &self.config);
        self.sending.insert(session.number, (peer, sender));
        self.update(session);
        session
    }

    /// Cancels the sending of a block, with a code of [`reason`].
    pub fn cancel(&mut self, session: Session, reason: u8) {
        if let Some((_, sender)) =
            self.sending.get_mut(&session.number).filter(|_| session.engine == self.number)
        {
            sender.cancel(reason);
            self.update(session);
        }
    }

    /// Refuses a received block, so that its sender keeps the data. Call it before the last report
    /// of the block is sent.
    pub fn refuse(&mut self, session: Session) {
        if let Some((_, receiver)) = self.receiving.get_mut(&session) {
            receiver.cancel(reason::SYSTEM);
            self.update(session);
        }
    }

    /// Processes a segment that has arrived from `peer`.
    pub fn receive(&mut self, peer: u64, segment: &Segment) {
        let session = segment.session;
        let is_own = session.engine == self.number;
        match &segment.content {
            Content::Data(data) => {
                // The session needs no further reports if it has ended.
                if is_own || self.ended.contains(&session) {
                    return;
                }
                let entry = self.receiving.entry(session);
                let first = self.first_report;
                let (_, receiver) = entry
                    .or_insert_with(|| (peer, Receiver::new(session, data.service, first, &self.config)));
                let service = receiver.service;
                match receiver.data(data) {
                    Some(Arrival::Red) => {
                        let data = receiver.red_part();
                        self.events.push_back(Event::Red { session, service, data });
                    }
                    Some(Arrival::Green(range)) => {
                        self.events.push_back(Event::Green {
                            session,
                            service,
                            range,
                            data: data.bytes.clone(),
                        });
                    }
                    None => {}
                }
            }
            Content::Report(report) if is_own => match self.sending.get_mut(&session.number) {
                Some((_, sender)) => sender.report(report),
                // The session has ended, but the acknowledgment of the report may have been lost.
                None => {
                    self.answers.push_back((peer, Segment::new(session, Content::ReportAck(report.number))))
                }
            },
            Content::ReportAck(number) => {
                if let Some((_, receiver)) = self.receiving.get_mut(&session) {
                    receiver.acknowledged(*number);
                }
            }
            Content::CancelBySender(_) if !is_own => match self.receiving.get_mut(&session) {
                Some((_, receiver)) => receiver.cancelled(true),
                None => self.answers.push_back((peer, Segment::new(session, Content::CancelAckToSender))),
            },
            Content::CancelAckToSender if is_own => {
                if let Some((_, sender)) = self.sending.get_mut(&session.number) {
                    sender.cancelled(None);
                }
            }
            Content::CancelByReceiver(reason) if is_own => match self.sending.get_mut(&session.number) {
                Some((_, sender)) => sender.cancelled(Some(*reason)),
                None => self.answers.push_back((peer, Segment::new(session, Content::CancelAckToReceiver))),
            },
            Content::CancelAckToReceiver => {
                if let Some((_, receiver)) = self.receiving.get_mut(&session) {
                    receiver.cancelled(false);
                }
            }
            _ => return,
        }
        self.update(session);
    }

    /// Returns the next segment to send at `now`, and the peer that receives it.
    pub fn next_segment(&mut self, now: Time, deadlines: &dyn AnswerDeadlines) -> Option<(u64, Segment)> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        while let Some(session) = self.ready.pop_front() {
            self.queued.remove(&session);
            let next = match self.sending.get_mut(&session.number).filter(|_| session.engine == self.number) {
                Some((peer, sender)) => {
                    let peer = *peer;
                    sender.next_segment(|| deadlines.deadline(peer, now)).map(|segment| (peer, segment))
                }
                None => self.receiving.get_mut(&session).and_then(|(peer, receiver)| {
                    let peer = *peer;
                    receiver.next_segment(|| deadlines.deadline(peer, now)).map(|segment| (peer, segment))
                }),
            };
            self.update_at(session, true);
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Returns true if segments wait to be sent.
    pub fn has_segments(&self) -> bool {
        !self.answers.is_empty() || !self.ready.is_empty()
    }

    /// Returns the time at which the first timer expires.
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Processes the timers that expire until `now`.
    pub fn wake(&mut self, now: Time) {
        while let Some(&(time, session)) = self.timers.first().filter(|(time, _)| *time <= now) {
            self.timers.remove(&(time, session));
            self.timed.remove(&session);
            if session.engine == self.number {
                if let Some((_, sender)) = self.sending.get_mut(&session.number) {
                    sender.wake(now);
                }
            } else if let Some((_, receiver)) = self.receiving.get_mut(&session) {
                receiver.wake(now);
            }
            self.update(session);
        }
    }

    /// Returns the next event for the client.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the numbers of sending and receiving sessions.
    pub fn sessions(&self) -> (usize, usize) {
        (self.sending.len(), self.receiving.len())
    }

    fn update(&mut self, session: Session) {
        self.update_at(session, false);
    }

    /// Updates the queue and the timers after a change of a session. If `first` is true, the
    /// session is queued before all others. Removes the session if it has ended.
    fn update_at(&mut self, session: Session, first: bool) {
        let is_own = session.engine == self.number;
        let (has_segments, wake, over) = if is_own {
            let Some((_, sender)) = self.sending.get(&session.number) else { return };
            (sender.has_segments(), sender.next_wake(), sender.end())
        } else {
            let Some((_, receiver)) = self.receiving.get(&session) else { return };
            let over = receiver.has_ended().then_some(match receiver.was_cancelled() {
                true => End::Cancelled(0),
                false => End::Complete,
            });
            (receiver.has_segments(), receiver.next_wake(), over)
        };
        if let Some(old) = self.timed.remove(&session) {
            self.timers.remove(&(old, session));
        }
        if let Some(end) = over {
            if is_own {
                self.sending.remove(&session.number);
                self.events.push_back(Event::Sent { session, end });
            } else {
                self.receiving.remove(&session);
                if end != End::Complete {
                    self.events.push_back(Event::Abandoned { session });
                }
                self.record_end(session);
            }
            return;
        }
        if let Some(wake) = wake {
            self.timed.insert(session, wake);
            self.timers.insert((wake, session));
        }
        if has_segments && self.queued.insert(session) {
            match first {
                true => self.ready.push_front(session),
                false => self.ready.push_back(session),
            }
        }
    }

    fn record_end(&mut self, session: Session) {
        if self.ended.insert(session) {
            self.order.push_back(session);
        }
        if self.order.len() > MAX_ENDED_SESSIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.ended.remove(&oldest);
            }
        }
    }
}
