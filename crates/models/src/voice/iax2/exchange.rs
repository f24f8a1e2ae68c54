//! An exchange: one end of the calls over an IAX2 association (RFC 5456, sections 6 and 7).
//!
//! The caller sends NEW; the callee answers ACCEPT, RINGING, ANSWER; either sends HANGUP. Every full frame is sent until it is
//! acknowledged, by an ACK or by a later frame's expected number. Voice goes as a full frame first, which says the codec, and
//! whenever the low 15 bits of its time stamp begin again (section 6.10), and else as a mini frame, or as an entry of a trunk
//! that leaves at regular times. During a call both sides send PING and LAGRQ.
//!
//! The RFC leaves the timers to implementations. Here a full frame is retransmitted after 1 s, then at intervals that double up
//! to 10 s, four times in all: at 1, 3, 7 and 15 s. 10 s later the call is given up. PING is sent every 20 s, LAGRQ every 10 s.

use super::frame::{self, control, element, iax, Codec, Frame, Full, Kind, Voice};
use bentpipe_core::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

/// A call, by our number for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Call(pub u16);

/// Why a call ended, by the numbers of Q.931, as far as they are used here.
pub mod cause {
    /// A side has hung up.
    pub const NORMAL: u8 = 16;
    /// The callee is busy.
    pub const BUSY: u8 = 17;
    /// Nobody has answered.
    pub const NO_ANSWER: u8 = 19;
    /// There is no line.
    pub const NO_CIRCUIT: u8 = 34;
    /// The codec is not known.
    pub const NO_BEARER: u8 = 58;
    /// The other side is not heard any more.
    pub const TIMER: u8 = 102;
}

/// What an exchange tells its user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Somebody calls: [`Exchange::ring`], [`Exchange::answer`] or [`Exchange::refuse`].
    Incoming {
        /// The call.
        call: Call,
        /// The caller's number.
        from: String,
        /// The called number.
        to: String,
        /// The codec that the caller wants.
        codec: Codec,
    },
    /// The call was accepted, or rings.
    Progress {
        /// The call.
        call: Call,
        /// Whether it rings.
        ringing: bool,
    },
    /// The other side has answered.
    Answered {
        /// The call.
        call: Call,
    },
    /// The call could not be set up, or the other side is gone: the cause.
    Failed {
        /// The call.
        call: Call,
        /// A number of [`cause`].
        cause: u8,
    },
    /// A call that was set up is over.
    Ended {
        /// The call.
        call: Call,
        /// Whether the other side has hung up.
        by_other: bool,
    },
    /// Speech has come.
    Voice {
        /// The call.
        call: Call,
        /// When it was taken, in ms since the call began at its sender.
        timestamp: u32,
        /// Bytes of its payload.
        bytes: u32,
        /// Its place among the frames of speech in the datagram.
        place: usize,
    },
    /// Time from a LAGRQ to its answer.
    Lag {
        /// The call.
        call: Call,
        /// The round-trip time.
        lag: Span,
    },
}

/// What an exchange asks for.
#[derive(Clone, Default, Debug)]
pub struct Out {
    /// Frames to send, and where to.
    pub send: Vec<Sending>,
    /// What the user is told, in order.
    pub events: Vec<Event>,
    /// Frames of `send` that had been sent before.
    pub retransmissions: u64,
}

/// A datagram to send.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Where to.
    pub to: SocketAddr,
    /// The frame.
    pub bytes: Vec<u8>,
    /// The marks of the frames of speech in it, in order: see [`Exchange::voice`].
    pub marks: Vec<u64>,
}

/// How trunks leave: those of all calls to one address together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trunk {
    /// Time between trunk frames.
    pub period: Span,
    /// Whether every entry has its own time stamp.
    pub timestamps: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Caller: NEW was sent.
    Calling,
    /// Callee: NEW has come, and nothing was answered.
    Offered,
    /// Callee: ACCEPT was sent.
    Accepted,
    /// Both sides talk.
    Up,
    /// HANGUP or REJECT was sent.
    Ending,
}

/// A reliable frame that was not acknowledged.
#[derive(Clone, Debug)]
struct Waiting {
    full: Full,
    data: Vec<u8>,
    mark: Option<u64>,
    next: Time,
    interval: Span,
    tries: u32,
}

/// One end of a call.
#[derive(Clone, Debug)]
struct Leg {
    state: State,
    peer: SocketAddr,
    /// The other side's number of the call; 0 while it is not known.
    number: u16,
    began: Time,
    /// Numbers of our next reliable frame and of the other side's.
    out: u8,
    expected: u8,
    waiting: VecDeque<Waiting>,
    codec: Codec,
    /// Time stamp of the last voice that we sent, if any.
    voice: Option<u32>,
    /// Time stamp of the last voice that came, if a full frame has.
    heard: Option<u32>,
    /// Time stamp of the last frame that we sent; they must not decrease.
    last: u32,
    ping: Time,
    lag: Time,
}

/// First interval between retransmissions.
const FIRST: Span = Span::from_secs(1);
/// Longest interval between retransmissions.
const LONGEST: Span = Span::from_secs(10);
/// Retransmissions of a frame.
const TRIES: u32 = 4;
const PING: Span = Span::from_secs(20);
const LAG: Span = Span::from_secs(10);

/// A frame of speech that waits for its trunk.
struct Entry {
    to: SocketAddr,
    call: u16,
    timestamp: u32,
    payload: Vec<u8>,
    mark: u64,
}

/// One end of calls.
#[derive(Default)]
pub struct Exchange {
    legs: BTreeMap<u16, Leg>,
    /// Our numbers of calls by address and number of the other side.
    peers: BTreeMap<(SocketAddr, u16), u16>,
    last: u16,
    trunk: Option<Trunk>,
    entries: Vec<Entry>,
    /// When the next trunk leaves, if any voice waits.
    departure: Option<Time>,
    next: Option<Time>,
}

impl Exchange {
    /// An exchange without calls.
    pub fn new(trunk: Option<Trunk>) -> Exchange {
        Exchange { trunk, ..Exchange::default() }
    }

    /// The number of calls that are not over.
    pub fn calls(&self) -> usize {
        self.legs.len()
    }

    /// Calls number `to` at `peer` for `from`.
    pub fn call(
        &mut self,
        now: Time,
        peer: SocketAddr,
        to: &str,
        from: &str,
        codec: Codec,
        out: &mut Out,
    ) -> Option<Call> {
        let number = self.free()?;
        let mut data = Vec::new();
        frame::push(&mut data, element::VERSION, &[0, 2]);
        frame::push(&mut data, element::CALLED, to.as_bytes());
        frame::push(&mut data, element::CALLING, from.as_bytes());
        frame::push(&mut data, element::CAPABILITY, &codec.0.to_be_bytes());
        frame::push(&mut data, element::FORMAT, &codec.0.to_be_bytes());
        self.legs.insert(number, Leg::new(now, State::Calling, peer, codec));
        self.reliable(now, number, Kind::Iax(iax::NEW), data, out);
        self.reckon();
        Some(Call(number))
    }

    /// Tells the caller that the telephone rings.
    pub fn ring(&mut self, now: Time, call: Call, out: &mut Out) {
        self.accept(now, call, out);
        self.reliable(now, call.0, Kind::Control(control::RINGING), Vec::new(), out);
        self.reckon();
    }

    /// Answers a call.
    pub fn answer(&mut self, now: Time, call: Call, out: &mut Out) {
        self.accept(now, call, out);
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Accepted) else { return };
        leg.state = State::Up;
        leg.watch(now);
        self.reliable(now, call.0, Kind::Control(control::ANSWER), Vec::new(), out);
        self.reckon();
    }

    fn accept(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Offered) else { return };
        leg.state = State::Accepted;
        let mut data = Vec::new();
        frame::push(&mut data, element::FORMAT, &leg.codec.0.to_be_bytes());
        self.reliable(now, call.0, Kind::Iax(iax::ACCEPT), data, out);
    }

    /// Refuses a call.
    pub fn refuse(&mut self, now: Time, call: Call, cause: u8, out: &mut Out) {
        self.end(now, call, iax::REJECT, cause, out);
    }

    /// Ends a call.
    pub fn hang_up(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(state) = self.legs.get(&call.0).map(|leg| leg.state) else { return };
        self.end(now, call, iax::HANGUP, cause::NORMAL, out);
        match state {
            State::Up => out.events.push(Event::Ended { call, by_other: false }),
            State::Calling => out.events.push(Event::Failed { call, cause: cause::NO_ANSWER }),
            _ => {}
        }
    }

    fn end(&mut self, now: Time, call: Call, kind: u8, cause: u8, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state != State::Ending) else { return };
        leg.state = State::Ending;
        (leg.ping, leg.lag) = (Time::MAX, Time::MAX);
        let mut data = Vec::new();
        frame::push(&mut data, element::CAUSECODE, &[cause]);
        self.reliable(now, call.0, Kind::Iax(kind), data, out);
        self.reckon();
    }

    /// Sends speech. `mark` is what the user knows about it and does not travel: it comes back beside every datagram that
    /// contains the speech.
    pub fn voice(&mut self, now: Time, call: Call, payload: Vec<u8>, mark: u64, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Up) else { return };
        let timestamp = leg.stamp(now);
        let before = leg.voice.replace(timestamp);
        if before.is_none_or(|before| before >> 15 != timestamp >> 15) {
            let kind = Kind::Voice(leg.codec);
            self.stamped(now, call.0, (kind, timestamp), payload, Some(mark), out);
            self.reckon();
            return;
        }
        let to = leg.peer;
        match self.trunk {
            None => {
                let bytes = frame::mini(call.0, timestamp as u16, &payload);
                out.send.push(Sending { to, bytes, marks: vec![mark] });
            }
            Some(Trunk { period, .. }) => {
                self.entries.push(Entry { to, call: call.0, timestamp, payload, mark });
                let period = period.as_nanos();
                let departure = Time::from_nanos((now.as_nanos() / period + 1) * period);
                let departure = *self.departure.get_or_insert(departure);
                self.next = Some(self.next.map_or(departure, |next| next.min(departure)));
            }
        }
    }

    /// When to call [`Exchange::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        self.next.unwrap_or(Time::MAX)
    }

    /// Acts on the timers that have come.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        if self.departure.is_some_and(|departure| departure <= now) {
            self.depart(now, out);
        }
        let mut silent = Vec::new();
        let mut watch = Vec::new();
        for (number, leg) in &mut self.legs {
            for waiting in &mut leg.waiting {
                if waiting.next > now {
                    continue;
                }
                if waiting.tries == TRIES {
                    silent.push(*number);
                    break;
                }
                waiting.tries += 1;
                waiting.interval = (waiting.interval * 2).min(LONGEST);
                waiting.next = now + waiting.interval;
                out.send.push(waiting.again(leg.peer, leg.number, leg.expected));
                out.retransmissions += 1;
            }
            if leg.ping <= now {
                leg.ping = now + PING;
                watch.push((*number, iax::PING));
            }
            if leg.lag <= now {
                leg.lag = now + LAG;
                watch.push((*number, iax::LAGRQ));
            }
        }
        for number in silent {
            let Some(leg) = self.remove(number) else { continue };
            if leg.state != State::Ending {
                out.events.push(Event::Failed { call: Call(number), cause: cause::TIMER });
            }
        }
        for (number, kind) in watch {
            self.reliable(now, number, Kind::Iax(kind), Vec::new(), out);
        }
        self.reckon();
    }

    /// Sends the trunks: one per address.
    fn depart(&mut self, now: Time, out: &mut Out) {
        self.departure = None;
        let timestamps = self.trunk.is_some_and(|trunk| trunk.timestamps);
        let entries = std::mem::take(&mut self.entries);
        let mut addresses: Vec<SocketAddr> = entries.iter().map(|entry| entry.to).collect();
        addresses.sort_unstable();
        addresses.dedup();
        for to in addresses {
            let mine = || entries.iter().filter(|entry| entry.to == to);
            let voices = mine().map(|Entry { call, timestamp, payload, .. }| Voice {
                call: *call,
                timestamp: *timestamp as u16,
                payload,
            });
            let stamp = (now.as_nanos() / 1_000_000) as u32;
            let bytes = frame::trunk_of(stamp, timestamps, voices);
            let marks = mine().map(|entry| entry.mark).collect();
            out.send.push(Sending { to, bytes, marks });
        }
    }

    /// Handles a datagram from `from`; what is no frame is ignored.
    pub fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Out) {
        match Frame::read(bytes) {
            Ok(Frame::Full(full, data)) => {
                self.full(now, from, &full, data, out);
                self.reckon();
            }
            Ok(Frame::Mini(voice)) => self.mini(from, voice, (0, true), now, out),
            Ok(Frame::Trunk(entries)) => {
                // Without time stamps of their own, entries have that of the trunk, of another clock than the call's.
                let stamped = bytes[3] & 1 == 1;
                for (place, voice) in entries.into_iter().enumerate() {
                    self.mini(from, voice, (place, stamped), now, out);
                }
            }
            Err(_) => {}
        }
    }

    /// Our number of the call that `from` numbers `number`.
    fn known(&self, from: SocketAddr, number: u16) -> Option<u16> {
        self.peers.get(&(from, number)).copied()
    }

    fn remove(&mut self, number: u16) -> Option<Leg> {
        let leg = self.legs.remove(&number)?;
        self.peers.remove(&(leg.peer, leg.number));
        Some(leg)
    }

    fn mini(
        &mut self,
        from: SocketAddr,
        voice: Voice<'_>,
        (place, stamped): (usize, bool),
        now: Time,
        out: &mut Out,
    ) {
        let Some(number) = self.known(from, voice.call) else { return };
        let leg = self.legs.get_mut(&number).expect("it is known");
        let Some(heard) = leg.heard else {
            let bytes = leg.unreliable(now, number, iax::VNAK, None);
            out.send.push(Sending { to: from, bytes, marks: Vec::new() });
            return;
        };
        let timestamp = match stamped {
            true => {
                heard.wrapping_add_signed(i32::from(voice.timestamp.wrapping_sub(heard as u16).cast_signed()))
            }
            false => heard + 20,
        };
        leg.heard = Some(heard.max(timestamp));
        let bytes = voice.payload.len() as u32;
        out.events.push(Event::Voice { call: Call(number), timestamp, bytes, place });
    }

    fn full(&mut self, now: Time, from: SocketAddr, full: &Full, data: &[u8], out: &mut Out) {
        let own = match full.destination {
            0 => self.known(from, full.source),
            number => Some(number).filter(|number| self.legs.get(number).is_some_and(|leg| leg.peer == from)),
        };
        let Some(number) = own else {
            match full.kind {
                Kind::Iax(iax::NEW) => self.offered(now, from, full, data, out),
                Kind::Iax(iax::POKE) => {
                    let pong = Full { kind: Kind::Iax(iax::PONG), expected: 1, ..reply(full) };
                    out.send.push(Sending { to: from, bytes: pong.bytes(&[]), marks: Vec::new() });
                }
                Kind::Iax(iax::ACK | iax::INVAL | iax::VNAK) => {}
                _ => {
                    let inval = Full { kind: Kind::Iax(iax::INVAL), ..reply(full) };
                    out.send.push(Sending { to: from, bytes: inval.bytes(&[]), marks: Vec::new() });
                }
            }
            return;
        };
        let leg = self.legs.get_mut(&number).expect("it is known");
        if leg.number == 0 {
            leg.number = full.source;
            self.peers.insert((from, full.source), number);
        } else if leg.number != full.source {
            return;
        }
        leg.acknowledge(full.expected);
        let ending = leg.state == State::Ending && leg.waiting.is_empty();
        match full.kind {
            Kind::Iax(iax::ACK) => {
                if ending {
                    self.remove(number);
                }
                return;
            }
            Kind::Iax(iax::VNAK) => {
                for waiting in &leg.waiting {
                    out.send.push(waiting.again(from, leg.number, leg.expected));
                    out.retransmissions += 1;
                }
                return;
            }
            Kind::Iax(iax::INVAL) => return self.lost(number, out),
            _ => {}
        }
        let ahead = full.out.wrapping_sub(leg.expected).cast_signed();
        if ahead != 0 {
            // Late or repeated: acknowledged once more. Ahead: something is missing.
            let kind = if ahead < 0 { iax::ACK } else { iax::VNAK };
            let bytes = leg.unreliable(now, number, kind, Some(full.timestamp));
            out.send.push(Sending { to: from, bytes, marks: Vec::new() });
            return;
        }
        leg.expected = leg.expected.wrapping_add(1);
        self.take(now, number, full, data, out);
    }

    /// A reliable frame in order.
    fn take(&mut self, now: Time, number: u16, full: &Full, data: &[u8], out: &mut Out) {
        let call = Call(number);
        let leg = self.legs.get_mut(&number).expect("it is known");
        let answer = match full.kind {
            Kind::Iax(iax::PING) => Some(iax::PONG),
            Kind::Iax(iax::LAGRQ) => Some(iax::LAGRP),
            _ => None,
        };
        if let Some(kind) = answer {
            // It has the time stamp of the question (sections 6.7.3 and 6.7.5).
            self.stamped(now, number, (Kind::Iax(kind), full.timestamp), Vec::new(), None, out);
            return;
        }
        let bytes = leg.unreliable(now, number, iax::ACK, Some(full.timestamp));
        out.send.push(Sending { to: leg.peer, bytes, marks: Vec::new() });
        match (full.kind, leg.state) {
            (Kind::Iax(iax::ACCEPT), State::Calling) => {
                out.events.push(Event::Progress { call, ringing: false })
            }
            (Kind::Control(control::RINGING), State::Calling) => {
                out.events.push(Event::Progress { call, ringing: true })
            }
            (Kind::Control(control::ANSWER), State::Calling) => {
                leg.state = State::Up;
                leg.watch(now);
                out.events.push(Event::Answered { call });
            }
            (Kind::Voice(_), _) => {
                leg.heard = Some(full.timestamp);
                out.events.push(Event::Voice {
                    call,
                    timestamp: full.timestamp,
                    bytes: data.len() as u32,
                    place: 0,
                });
            }
            (Kind::Iax(iax::LAGRP), _) => {
                let lag = now.since(leg.began + Span::from_millis(u64::from(full.timestamp)));
                out.events.push(Event::Lag { call, lag });
            }
            (
                Kind::Iax(iax::HANGUP | iax::REJECT)
                | Kind::Control(control::HANGUP | control::BUSY | control::CONGESTION),
                state,
            ) => {
                let cause =
                    frame::number(data, element::CAUSECODE).map_or(cause::NORMAL, |cause| cause as u8);
                self.remove(number);
                match state {
                    State::Up => out.events.push(Event::Ended { call, by_other: true }),
                    State::Ending => {}
                    _ => out.events.push(Event::Failed { call, cause }),
                }
            }
            _ => {}
        }
    }

    /// The other side does not know the call.
    fn lost(&mut self, number: u16, out: &mut Out) {
        let Some(leg) = self.remove(number) else { return };
        let call = Call(number);
        match leg.state {
            State::Ending => {}
            State::Up => out.events.push(Event::Ended { call, by_other: true }),
            _ => out.events.push(Event::Failed { call, cause: cause::TIMER }),
        }
    }

    fn offered(&mut self, now: Time, from: SocketAddr, full: &Full, data: &[u8], out: &mut Out) {
        let text = |kind| {
            frame::find(data, kind).map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
        };
        let Some(number) = self.free() else { return };
        let codec = Codec(frame::number(data, element::FORMAT).unwrap_or(0));
        let mut leg = Leg::new(now, State::Offered, from, codec);
        (leg.number, leg.expected) = (full.source, full.out.wrapping_add(1));
        self.legs.insert(number, leg);
        self.peers.insert((from, full.source), number);
        let call = Call(number);
        out.events.push(Event::Incoming {
            call,
            from: text(element::CALLING),
            to: text(element::CALLED),
            codec,
        });
    }

    /// A number for a call that no other has; 0 is none (section 8.1.3).
    fn free(&mut self) -> Option<u16> {
        let after = self.last;
        let mut numbers = (1..=0x7fffu16).map(|step| (after.wrapping_add(step) - 1) % 0x7fff + 1);
        let number = numbers.find(|number| !self.legs.contains_key(number))?;
        self.last = number;
        Some(number)
    }

    fn reliable(&mut self, now: Time, number: u16, kind: Kind, data: Vec<u8>, out: &mut Out) {
        if let Some(leg) = self.legs.get_mut(&number) {
            let timestamp = leg.stamp(now);
            self.stamped(now, number, (kind, timestamp), data, None, out);
        }
    }

    fn stamped(
        &mut self,
        now: Time,
        number: u16,
        (kind, timestamp): (Kind, u32),
        data: Vec<u8>,
        mark: Option<u64>,
        out: &mut Out,
    ) {
        let Some(leg) = self.legs.get_mut(&number) else { return };
        let full = Full {
            source: number,
            destination: leg.number,
            retransmitted: false,
            timestamp,
            out: leg.out,
            expected: leg.expected,
            kind,
        };
        leg.out = leg.out.wrapping_add(1);
        out.send.push(Sending { to: leg.peer, bytes: full.bytes(&data), marks: mark.into_iter().collect() });
        leg.waiting.push_back(Waiting { full, data, mark, next: now + FIRST, interval: FIRST, tries: 0 });
    }

    fn reckon(&mut self) {
        let legs = self.legs.values().flat_map(|leg| {
            let waiting = leg.waiting.iter().map(|waiting| waiting.next).min();
            [Some(leg.ping), Some(leg.lag), waiting].into_iter().flatten()
        });
        self.next = legs.chain(self.departure).min();
    }
}

/// A frame outside of a call, in answer to `full`.
fn reply(full: &Full) -> Full {
    Full {
        source: full.destination.max(1),
        destination: full.source,
        timestamp: full.timestamp,
        ..Full::default()
    }
}

impl Waiting {
    fn again(&self, to: SocketAddr, destination: u16, expected: u8) -> Sending {
        let full = Full { retransmitted: true, destination, expected, ..self.full };
        Sending { to, bytes: full.bytes(&self.data), marks: self.mark.into_iter().collect() }
    }
}

impl Leg {
    fn new(now: Time, state: State, peer: SocketAddr, codec: Codec) -> Leg {
        Leg {
            state,
            peer,
            number: 0,
            began: now,
            out: 0,
            expected: 0,
            waiting: VecDeque::new(),
            codec,
            voice: None,
            heard: None,
            last: 0,
            ping: Time::MAX,
            lag: Time::MAX,
        }
    }

    /// Begins to watch the other side.
    fn watch(&mut self, now: Time) {
        (self.ping, self.lag) = (now + PING, now + LAG);
    }

    /// The time stamp of a frame that is sent now.
    fn stamp(&mut self, now: Time) -> u32 {
        let elapsed = (now.since(self.began).as_nanos() / 1_000_000) as u32;
        self.last = self.last.max(elapsed);
        self.last
    }

    /// The other side expects our frame with this number next: those before it have come.
    fn acknowledge(&mut self, expected: u8) {
        self.waiting.retain(|waiting| waiting.full.out.wrapping_sub(expected).cast_signed() >= 0);
    }

    /// A frame that nobody acknowledges.
    fn unreliable(&mut self, now: Time, number: u16, kind: u8, timestamp: Option<u32>) -> Vec<u8> {
        let timestamp = timestamp.unwrap_or_else(|| self.stamp(now));
        let full = Full {
            source: number,
            destination: self.number,
            retransmitted: false,
            timestamp,
            out: self.out,
            expected: self.expected,
            kind: Kind::Iax(kind),
        };
        full.bytes(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::{Stream, Streams};

    /// A caller and a callee, and what is on its way between them: when, to which of them, what.
    struct Pair {
        ends: [Exchange; 2],
        way: Vec<(Time, usize, Vec<u8>)>,
        events: [Vec<(Time, Event)>; 2],
        sent: Vec<(Time, usize, Vec<u8>)>,
        retransmissions: u64,
        delay: Span,
        loss: f64,
        stream: Stream,
    }

    fn address(end: usize) -> SocketAddr {
        SocketAddr::from(([198, 18, 0, end as u8 + 1], 4569))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    impl Pair {
        fn new(trunk: Option<Trunk>, loss: f64) -> Pair {
            Pair {
                ends: [Exchange::new(trunk), Exchange::new(trunk)],
                way: Vec::new(),
                events: [Vec::new(), Vec::new()],
                sent: Vec::new(),
                retransmissions: 0,
                delay: Span::from_millis(250),
                loss,
                stream: Streams::new(1, 0).stream("loss"),
            }
        }

        fn act(&mut self, now: Time, end: usize, act: impl FnOnce(&mut Exchange, &mut Out)) {
            let mut out = Out::default();
            act(&mut self.ends[end], &mut out);
            for sending in out.send {
                assert_eq!(sending.to, address(1 - end));
                self.sent.push((now, end, sending.bytes.clone()));
                if !self.stream.chance(self.loss) {
                    self.way.push((now + self.delay, 1 - end, sending.bytes));
                }
            }
            self.retransmissions += out.retransmissions;
            self.events[end].extend(out.events.into_iter().map(|event| (now, event)));
        }

        /// Runs until `until`; the callee rings, and answers 1 s later.
        fn run(&mut self, until: Time) {
            let mut answer = Vec::new();
            loop {
                let arrival = self.way.iter().map(|(time, ..)| *time).min();
                let wakes = self.ends.iter().map(Exchange::next_wake);
                let now = wakes.chain(arrival).chain(answer.iter().map(|(time, _)| *time)).min().unwrap();
                if now > until {
                    return;
                }
                for end in 0..2 {
                    if self.ends[end].next_wake() <= now {
                        self.act(now, end, |exchange, out| exchange.wake(now, out));
                    }
                }
                while let Some(place) = self.way.iter().position(|(time, ..)| *time <= now) {
                    let (_, end, bytes) = self.way.remove(place);
                    let before = self.events[1].len();
                    self.act(now, end, |exchange, out| exchange.receive(now, address(1 - end), &bytes, out));
                    let news: Vec<_> =
                        self.events[1][before..].iter().map(|(_, event)| event.clone()).collect();
                    for event in news {
                        if let Event::Incoming { call, .. } = event {
                            self.act(now, 1, |exchange, out| exchange.ring(now, call, out));
                            answer.push((now + Span::from_secs(1), call));
                        }
                    }
                }
                while let Some(place) = answer.iter().position(|(time, _)| *time <= now) {
                    let (_, call) = answer.remove(place);
                    self.act(now, 1, |exchange, out| exchange.answer(now, call, out));
                }
            }
        }
    }

    #[test]
    fn a_call_over_a_satellite_from_new_to_hangup() {
        let mut pair = Pair::new(None, 0.0);
        let pcmu = Codec::of("PCMU").unwrap();
        pair.act(Time::ZERO, 0, |one, out| {
            assert_eq!(one.call(Time::ZERO, address(1), "100", "7", pcmu, out), Some(Call(1)));
        });
        pair.run(at(12_000));
        let call = Call(1);
        assert_eq!(
            pair.events[0][..3],
            [
                (at(500), Event::Progress { call, ringing: false }),
                (at(500), Event::Progress { call, ringing: true }),
                (at(1500), Event::Answered { call }),
            ]
        );
        assert!(matches!(&pair.events[1][0], (time, Event::Incoming { from, to, codec, .. })
            if *time == at(250) && from == "7" && to == "100" && *codec == pcmu));
        // LAGRQ, 10 s after the answer: the round trip takes 0.5 s.
        assert_eq!(pair.events[0][3], (at(12_000), Event::Lag { call, lag: Span::from_millis(500) }));
        // Speech: a full frame first, then mini frames; the low 15 bits begin again at 32.768 s.
        for step in 0..2000 {
            let now = at(12_010 + step * 20);
            pair.run(now);
            pair.act(now, 0, |one, out| one.voice(now, call, vec![0; 160], 0, out));
        }
        let voice: Vec<_> =
            pair.sent.iter().filter(|(_, end, bytes)| *end == 0 && bytes.len() > 150).collect();
        let full: Vec<_> =
            voice.iter().filter(|(.., bytes)| bytes.len() == 172).map(|(time, ..)| *time).collect();
        assert_eq!(full, [at(12_010), at(32_770)]);
        assert!(voice.iter().all(|(.., bytes)| matches!(bytes.len(), 164 | 172)));
        pair.run(at(60_000));
        let heard: Vec<_> = pair.events[1]
            .iter()
            .filter_map(|(time, event)| match event {
                Event::Voice { timestamp, bytes: 160, .. } => Some((*time, u64::from(*timestamp))),
                _ => None,
            })
            .collect();
        assert_eq!(heard.len(), 2000);
        assert!(heard.iter().all(|(time, timestamp)| *time == at(timestamp + 250)));
        pair.act(at(60_000), 0, |one, out| one.hang_up(at(60_000), call, out));
        pair.run(at(70_000));
        assert!(
            matches!(pair.events[1].last(), Some((time, Event::Ended { by_other: true, .. })) if *time == at(60_250))
        );
        assert_eq!((pair.ends[0].calls(), pair.ends[1].calls(), pair.retransmissions), (0, 0, 0));
    }

    #[test]
    fn a_call_that_nobody_answers_is_given_up_after_four_retransmissions() {
        let mut pair = Pair::new(None, 1.0);
        pair.act(Time::ZERO, 0, |one, out| {
            one.call(Time::ZERO, address(1), "100", "7", Codec(4), out);
        });
        pair.run(at(60_000));
        let times: Vec<_> = pair.sent.iter().map(|(time, ..)| time.as_secs_f64()).collect();
        assert_eq!(times, [0.0, 1.0, 3.0, 7.0, 15.0]);
        assert_eq!(pair.events[0], [(at(25_000), Event::Failed { call: Call(1), cause: cause::TIMER })]);
        for (number, (.., bytes)) in pair.sent.iter().enumerate() {
            let Ok(Frame::Full(full, _)) = Frame::read(bytes) else { panic!() };
            assert_eq!((full.kind, full.out, full.retransmitted), (Kind::Iax(iax::NEW), 0, number > 0));
        }
    }

    /// However frames are lost, both sides agree in the end, and a call that was answered was answered at both ends.
    #[test]
    fn calls_under_loss_end_at_both_ends() {
        let mut pair = Pair::new(Some(Trunk { period: Span::from_millis(20), timestamps: true }), 0.6);
        let (mut answered, mut failed) = (0, 0);
        for number in 0..200u64 {
            let now = at(number * 100_000);
            pair.run(now);
            let mut call = None;
            pair.act(now, 0, |one, out| call = one.call(now, address(1), "1", "2", Codec(2), out));
            let call = call.unwrap();
            let until = at(number * 100_000 + 40_000);
            pair.run(until);
            pair.act(until, 0, |one, out| one.voice(until, call, vec![0; 33], 0, out));
            pair.act(until, 0, |one, out| one.hang_up(until, call, out));
            pair.run(at(number * 100_000 + 99_000));
            assert_eq!((pair.ends[0].calls(), pair.ends[1].calls()), (0, 0), "call {number}");
            let events = std::mem::take(&mut pair.events[0]);
            answered += events.iter().filter(|(_, event)| matches!(event, Event::Answered { .. })).count();
            failed += events.iter().filter(|(_, event)| matches!(event, Event::Failed { .. })).count();
            let over = events
                .iter()
                .filter(|(_, event)| matches!(event, Event::Failed { .. } | Event::Ended { .. }));
            assert_eq!(over.count(), 1, "{events:?}");
        }
        assert!(answered > 20 && failed > 20 && pair.retransmissions > 100, "{answered} {failed}");
    }

    #[test]
    fn the_voice_of_several_calls_leaves_in_one_trunk() {
        let mut pair = Pair::new(Some(Trunk { period: Span::from_millis(20), timestamps: true }), 0.0);
        for _ in 0..3 {
            pair.act(Time::ZERO, 0, |one, out| {
                one.call(Time::ZERO, address(1), "1", "2", Codec(2), out);
            });
        }
        pair.run(at(2_000));
        let mut calls: Vec<_> = pair.ends[0].legs.keys().copied().collect();
        calls.sort_unstable();
        for step in 0..2 {
            for (offset, call) in calls.iter().enumerate() {
                let now = at(2_001 + offset as u64 + step * 20);
                pair.run(now);
                pair.act(now, 0, |one, out| one.voice(now, Call(*call), vec![0; 33], 0, out));
            }
        }
        pair.run(at(2_400));
        let trunks: Vec<_> = pair.sent.iter().filter(|(.., bytes)| bytes[..2] == [0, 0]).collect();
        assert_eq!(trunks.len(), 1);
        // 114 bytes for two calls, 231 for five: 36 + calls (6 + 33), 28 of which are IP and UDP.
        assert_eq!((trunks[0].0, trunks[0].2.len()), (at(2_040), 8 + 3 * 39));
        let minis = pair.events[1].iter().filter_map(|(_, event)| match event {
            Event::Voice { timestamp, .. } => Some(*timestamp),
            _ => None,
        });
        assert_eq!(minis.collect::<Vec<_>>(), [2001, 2002, 2003, 2021, 2022, 2023]);
    }
}
