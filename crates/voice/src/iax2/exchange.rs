//! An exchange: one end of the calls over an IAX2 association (RFC 5456, sections 6 and 7).
//!
//! The caller sends NEW, and the callee answers with ACCEPT, RINGING and ANSWER. Either end sends
//! HANGUP. Every full frame is retransmitted until it is acknowledged by an ACK or by the expected
//! number in a later frame. The first speech is sent in a full frame, which names the codec. Speech
//! is also sent in a full frame at each wrap of the low 15 bits of the time stamp (section 6.10).
//! All other speech is sent in mini frames, or in the entries of trunk frames, which are sent at
//! regular intervals. During a call, both ends send PING and LAGRQ.
//!
//! The RFC leaves the timers to implementations. Here, a full frame is retransmitted up to four
//! times: after 1 s, and then at intervals that double up to 10 s (at 1, 3, 7 and 15 s). The call
//! is given up 10 s after the last retransmission. PING is sent every 20 s, LAGRQ every 10 s.

use super::events::{cause, Call, Event, Out, OutgoingDatagram, Trunk};
use super::frame::{self, control, element, iax, Codec, Full, Kind, Voice};
use super::leg::{
    Leg, State, UnacknowledgedFrame, INITIAL_INTERVAL, LAG, MAX_INTERVAL, MAX_RETRANSMISSIONS, PING,
};
use bentpipe_core::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;

/// A frame of speech that waits for the next trunk frame.
struct Entry {
    to: SocketAddr,
    call: u16,
    timestamp: u32,
    /// Position of its encoded speech in the exchange's `payloads`.
    payload: Range<usize>,
    mark: u64,
}

/// An IAX2 exchange: one end of any number of calls.
#[derive(Default)]
pub struct Exchange {
    /// The calls, by the number that this exchange gave them.
    pub(super) legs: BTreeMap<u16, Leg>,
    /// This exchange's number of each call, by the address of the other end and the other end's
    /// number of the call.
    peers: BTreeMap<SocketAddr, BTreeMap<u16, u16>>,
    /// Number of the newest call.
    last: u16,
    trunk: Option<Trunk>,
    /// Frames of speech that wait for the next trunk frame.
    entries: Vec<Entry>,
    /// Encoded bytes of these frames.
    payloads: Vec<u8>,
    /// Time of the next trunk frame, if speech waits for one.
    departure: Option<Time>,
    /// The calls with running timers, by the time at which the first timer of the call expires.
    timers: BTreeSet<(Time, u16)>,
}

impl Exchange {
    /// Creates an exchange without calls. With `trunk`, the exchange sends speech in trunk frames.
    pub fn new(trunk: Option<Trunk>) -> Exchange {
        Exchange { trunk, ..Exchange::default() }
    }

    /// Returns the number of calls that have not ended.
    pub fn calls(&self) -> usize {
        self.legs.len()
    }

    /// Places a call from number `from` to number `to` at the exchange `peer`, with speech in
    /// `codec`. Returns `None` if all 32767 numbers of calls are in use.
    pub fn call(
        &mut self,
        now: Time,
        peer: SocketAddr,
        to: &str,
        from: &str,
        codec: Codec,
        out: &mut Out,
    ) -> Option<Call> {
        let number = self.unused_number()?;
        let mut data = Vec::new();
        frame::push(&mut data, element::VERSION, &[0, 2]);
        frame::push(&mut data, element::CALLED, to.as_bytes());
        frame::push(&mut data, element::CALLING, from.as_bytes());
        frame::push(&mut data, element::CAPABILITY, &codec.0.to_be_bytes());
        frame::push(&mut data, element::FORMAT, &codec.0.to_be_bytes());
        self.legs.insert(number, Leg::new(now, State::Calling, peer, codec));
        self.reliable(now, number, Kind::Iax(iax::NEW), data, out);
        Some(Call(number))
    }

    /// Informs the caller that the telephone rings.
    pub fn ring(&mut self, now: Time, call: Call, out: &mut Out) {
        self.accept(now, call, out);
        self.reliable(now, call.0, Kind::Control(control::RINGING), Vec::new(), out);
    }

    /// Answers a call: both parties can talk.
    pub fn answer(&mut self, now: Time, call: Call, out: &mut Out) {
        self.accept(now, call, out);
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Accepted) else { return };
        leg.state = State::Up;
        leg.schedule_probes(now);
        self.reliable(now, call.0, Kind::Control(control::ANSWER), Vec::new(), out);
    }

    /// Chooses the codec of an offered call. By default, the codec is the caller's first choice.
    pub fn choose(&mut self, call: Call, codec: Codec) {
        if let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Offered) {
            leg.codec = codec;
        }
    }

    /// Confirms a registration for `seconds`. `date` is the time of day as IAX2 packs it (section
    /// 8.6.28).
    pub fn register(
        &mut self,
        now: Time,
        call: Call,
        user: &str,
        (seconds, date): (u16, u32),
        out: &mut Out,
    ) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Offered) else { return };
        leg.state = State::Ending;
        let mut data = Vec::new();
        frame::push(&mut data, element::USERNAME, user.as_bytes());
        frame::push(&mut data, element::DATETIME, &date.to_be_bytes());
        if let SocketAddr::V4(address) = leg.peer {
            // The address family (AF_INET) is little-endian, as in the memory of the machines for
            // which IAX2 was designed.
            let mut apparent = vec![2, 0];
            apparent.extend(address.port().to_be_bytes());
            apparent.extend(address.ip().octets());
            apparent.extend([0; 8]);
            frame::push(&mut data, element::APPARENT, &apparent);
        }
        frame::push(&mut data, element::REFRESH, &seconds.to_be_bytes());
        self.reliable(now, call.0, Kind::Iax(iax::REGACK), data, out);
    }

    /// Accepts an offered call with the chosen codec.
    fn accept(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Offered) else { return };
        leg.state = State::Accepted;
        let mut data = Vec::new();
        frame::push(&mut data, element::FORMAT, &leg.codec.0.to_be_bytes());
        self.reliable(now, call.0, Kind::Iax(iax::ACCEPT), data, out);
    }

    /// Refuses a call for a reason of [`cause`].
    pub fn refuse(&mut self, now: Time, call: Call, cause: u8, out: &mut Out) {
        self.end(now, call, iax::REJECT, cause, out);
    }

    /// Ends a call in any state.
    pub fn hang_up(&mut self, now: Time, call: Call, out: &mut Out) {
        let Some(state) = self.legs.get(&call.0).map(|leg| leg.state) else { return };
        self.end(now, call, iax::HANGUP, cause::NORMAL, out);
        match state {
            State::Up => out.events.push(Event::Ended { call, by_other: false }),
            State::Calling => out.events.push(Event::Failed { call, cause: cause::NO_ANSWER }),
            _ => {}
        }
    }

    /// Sends HANGUP or REJECT, and waits for its acknowledgment.
    fn end(&mut self, now: Time, call: Call, kind: u8, cause: u8, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state != State::Ending) else { return };
        leg.state = State::Ending;
        (leg.ping, leg.lag) = (Time::MAX, Time::MAX);
        let mut data = Vec::new();
        frame::push(&mut data, element::CAUSECODE, &[cause]);
        self.reliable(now, call.0, Kind::Iax(kind), data, out);
    }

    /// Sends encoded speech in an answered call. `mark` is a note of the user that is not
    /// transmitted; it is returned with every datagram that contains the speech.
    pub fn voice(&mut self, now: Time, call: Call, payload: &[u8], mark: u64, out: &mut Out) {
        let Some(leg) = self.legs.get_mut(&call.0).filter(|leg| leg.state == State::Up) else { return };
        let timestamp = leg.next_timestamp(now);
        let before = leg.voice.replace(timestamp);
        if before.is_none_or(|before| before >> 15 != timestamp >> 15) {
            let kind = Kind::Voice(leg.codec);
            self.stamped(now, call.0, (kind, timestamp), payload.to_vec(), Some(mark), out);
            return;
        }
        let to = leg.peer;
        match self.trunk {
            None => {
                let bytes = frame::mini(call.0, timestamp as u16, payload);
                out.send.push(OutgoingDatagram {
                    to,
                    bytes,
                    marks: vec![mark],
                    speech: payload.len() as u32,
                });
            }
            Some(Trunk { period, .. }) => {
                let begin = self.payloads.len();
                self.payloads.extend_from_slice(payload);
                let payload = begin..self.payloads.len();
                self.entries.push(Entry { to, call: call.0, timestamp, payload, mark });
                let period = period.as_nanos();
                let departure = Time::from_nanos((now.as_nanos() / period + 1) * period);
                self.departure.get_or_insert(departure);
            }
        }
    }

    /// Returns the time of the next call of [`Exchange::wake`]; `Time::MAX` for never.
    #[inline]
    pub fn next_wake(&self) -> Time {
        let timer = self.timers.first().map_or(Time::MAX, |(due, _)| *due);
        self.departure.map_or(timer, |departure| departure.min(timer))
    }

    /// Handles all timers that have expired.
    pub fn wake(&mut self, now: Time, out: &mut Out) {
        if self.departure.is_some_and(|departure| departure <= now) {
            self.send_trunks(now, out);
        }
        let mut silent = Vec::new();
        let mut watch = Vec::new();
        while let Some((_, number)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.pop_first();
            let Some(leg) = self.legs.get_mut(&number) else { continue };
            leg.due = Time::MAX;
            for waiting in &mut leg.waiting {
                if waiting.next > now {
                    continue;
                }
                if waiting.retransmissions == MAX_RETRANSMISSIONS {
                    silent.push(number);
                    break;
                }
                waiting.retransmissions += 1;
                waiting.interval = (waiting.interval * 2).min(MAX_INTERVAL);
                waiting.next = now + waiting.interval;
                out.send.push(waiting.retransmission(leg.peer, leg.number, leg.expected));
                out.retransmissions += 1;
            }
            if leg.ping <= now {
                leg.ping = now + PING;
                watch.push((number, iax::PING));
            }
            if leg.lag <= now {
                leg.lag = now + LAG;
                watch.push((number, iax::LAGRQ));
            }
            if silent.last() != Some(&number) {
                self.update_timer(number);
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
    }

    /// Sends the waiting speech in trunk frames. Each address gets as few trunk frames as the
    /// maximum size permits.
    fn send_trunks(&mut self, now: Time, out: &mut Out) {
        self.departure = None;
        let Some(Trunk { timestamps, largest, .. }) = self.trunk else { return };
        let (mut entries, mut payloads) =
            (std::mem::take(&mut self.entries), std::mem::take(&mut self.payloads));
        entries.sort_by_key(|entry| entry.to);
        let mut rest = &entries[..];
        while let [first, ..] = rest {
            let mut size = frame::TRUNK;
            let fits = rest.iter().take_while(|entry| {
                size += frame::entry(timestamps) + entry.payload.len();
                entry.to == first.to && size <= largest as usize
            });
            let (mine, tail) = rest.split_at(fits.count().max(1));
            rest = tail;
            let voices = mine.iter().map(|Entry { call, timestamp, payload, .. }| Voice {
                call: *call,
                timestamp: *timestamp as u16,
                payload: &payloads[payload.clone()],
            });
            let bytes = frame::trunk_of((now.as_nanos() / 1_000_000) as u32, timestamps, voices);
            let marks = mine.iter().map(|entry| entry.mark).collect();
            let speech = mine.iter().map(|entry| entry.payload.len() as u32).sum();
            out.send.push(OutgoingDatagram { to: first.to, bytes, marks, speech });
        }
        entries.clear();
        payloads.clear();
        (self.entries, self.payloads) = (entries, payloads);
    }

    /// Removes a call and returns its state.
    pub(super) fn remove(&mut self, number: u16) -> Option<Leg> {
        let leg = self.legs.remove(&number)?;
        self.timers.remove(&(leg.due, number));
        if let Some(numbers) = self.peers.get_mut(&leg.peer) {
            numbers.remove(&leg.number);
            if numbers.is_empty() {
                self.peers.remove(&leg.peer);
            }
        }
        Some(leg)
    }

    /// Returns this exchange's number of the call that `peer` calls `number`.
    pub(super) fn find_call(&self, peer: SocketAddr, number: u16) -> Option<u16> {
        self.peers.get(&peer)?.get(&number).copied()
    }

    /// Records that `peer` calls the call `own` by its number `number`.
    pub(super) fn record_peer(&mut self, peer: SocketAddr, number: u16, own: u16) {
        self.peers.entry(peer).or_default().insert(number, own);
    }

    /// Returns an unused call number. Number 0 means that there is no call (section 8.1.1).
    pub(super) fn unused_number(&mut self) -> Option<u16> {
        let after = self.last;
        let mut numbers = (1..=0x7fffu16).map(|step| (after.wrapping_add(step) - 1) % 0x7fff + 1);
        let number = numbers.find(|number| !self.legs.contains_key(number))?;
        self.last = number;
        Some(number)
    }

    /// Sends a full frame of a call with the current time stamp, and retransmits it until it is
    /// acknowledged.
    fn reliable(&mut self, now: Time, number: u16, kind: Kind, data: Vec<u8>, out: &mut Out) {
        if let Some(leg) = self.legs.get_mut(&number) {
            let timestamp = leg.next_timestamp(now);
            self.stamped(now, number, (kind, timestamp), data, None, out);
        }
    }

    /// Sends a full frame of a call with this time stamp, and retransmits it until it is
    /// acknowledged.
    pub(super) fn stamped(
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
            oseqno: leg.oseqno,
            expected: leg.expected,
            kind,
        };
        leg.oseqno = leg.oseqno.wrapping_add(1);
        out.send.push(UnacknowledgedFrame::datagram(leg.peer, &full, &data, mark));
        leg.waiting.push_back(UnacknowledgedFrame {
            full,
            data,
            mark,
            next: now + INITIAL_INTERVAL,
            interval: INITIAL_INTERVAL,
            retransmissions: 0,
        });
        self.update_timer(number);
    }

    /// Schedules the first of a call's timers, after one of them has changed.
    pub(super) fn update_timer(&mut self, number: u16) {
        let Some(leg) = self.legs.get_mut(&number) else { return };
        let next = leg.next_wake();
        let before = std::mem::replace(&mut leg.due, next);
        if next == before {
            return;
        }
        self.timers.remove(&(before, number));
        if next < Time::MAX {
            self.timers.insert((next, number));
        }
    }
}
