//! The exchange's handling of arriving frames.

use super::events::{cause, Call, Event, Out, OutgoingDatagram};
use super::exchange::Exchange;
use super::frame::{self, control, element, iax, Codec, Frame, Full, Kind, Voice};
use super::leg::{reply, Leg, State};
use bentpipe_core::{Span, Time};
use std::net::SocketAddr;

impl Exchange {
    /// Handles a datagram that arrived from `from`. Datagrams that are not frames of IAX2 are
    /// ignored.
    pub fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8], out: &mut Out) {
        match Frame::read(bytes) {
            Ok(Frame::Full(full, data)) => {
                if let Some(number) = self.full(now, from, &full, data, out) {
                    self.update_timer(number);
                }
            }
            Ok(Frame::Mini(voice)) => self.mini(from, voice, (0, frame::MINI, true), now, out),
            Ok(Frame::Trunk(entries)) => {
                // Entries without time stamps use the time stamp of the trunk frame. Its clock
                // differs from the clock of the call.
                let stamped = bytes[3] & 1 == 1;
                for (place, voice) in entries.into_iter().enumerate() {
                    let at = voice.payload.as_ptr() as usize - bytes.as_ptr() as usize;
                    self.mini(from, voice, (place, at, stamped), now, out);
                }
            }
            Err(_) => {}
        }
    }

    /// Handles the speech of a mini frame or of the trunk entry at position `place`. `stamped` is
    /// true if the time stamp is from the clock of the call.
    fn mini(
        &mut self,
        from: SocketAddr,
        voice: Voice<'_>,
        (place, at, stamped): (usize, usize, bool),
        now: Time,
        out: &mut Out,
    ) {
        let Some(number) = self.find_call(from, voice.call) else { return };
        let leg = self.legs.get_mut(&number).expect("the call is known");
        let Some(heard) = leg.latest_speech else {
            let bytes = leg.unreliable(now, number, iax::VNAK, None);
            out.send.push(OutgoingDatagram::signalling(from, bytes));
            return;
        };
        let timestamp = match stamped {
            true => {
                heard.wrapping_add_signed(i32::from(voice.timestamp.wrapping_sub(heard as u16).cast_signed()))
            }
            false => heard.wrapping_add(20),
        };
        leg.latest_speech = Some(heard.max(timestamp));
        let bytes = voice.payload.len() as u32;
        out.events.push(Event::Voice { call: Call(number), timestamp, at, bytes, place });
    }

    /// Handles a full frame: acknowledges the frame, and processes it if it is the next in order.
    /// Returns the number of the frame's call, if any.
    fn full(&mut self, now: Time, from: SocketAddr, full: &Full, data: &[u8], out: &mut Out) -> Option<u16> {
        let own = match full.destination {
            0 => self.find_call(from, full.source),
            number => Some(number).filter(|number| self.legs.get(number).is_some_and(|leg| leg.peer == from)),
        };
        let Some(number) = own else {
            match full.kind {
                Kind::Iax(iax::NEW | iax::REGREQ | iax::REGREL) => self.offered(now, from, full, data, out),
                Kind::Iax(iax::POKE) => {
                    let pong = Full { kind: Kind::Iax(iax::PONG), expected: 1, ..reply(full) };
                    out.send.push(OutgoingDatagram::signalling(from, pong.bytes(&[])));
                }
                Kind::Iax(iax::ACK | iax::INVAL | iax::VNAK) => {}
                _ => {
                    let inval = Full { kind: Kind::Iax(iax::INVAL), ..reply(full) };
                    out.send.push(OutgoingDatagram::signalling(from, inval.bytes(&[])));
                }
            }
            return None;
        };
        let leg = self.legs.get_mut(&number).expect("the call is known");
        if leg.number == 0 {
            leg.number = full.source;
            self.record_peer(from, full.source, number);
        } else if leg.number != full.source {
            return None;
        }
        let leg = self.legs.get_mut(&number).expect("the call is known");
        leg.acknowledge(full.expected);
        let ending = leg.state == State::Ending && leg.waiting.is_empty();
        match full.kind {
            Kind::Iax(iax::ACK) => {
                if ending {
                    self.remove(number);
                }
                return Some(number);
            }
            Kind::Iax(iax::VNAK) => {
                for waiting in &leg.waiting {
                    out.send.push(waiting.retransmission(from, leg.number, leg.expected));
                    out.retransmissions += 1;
                }
                return Some(number);
            }
            Kind::Iax(iax::INVAL) => {
                self.lost(number, out);
                return None;
            }
            _ => {}
        }
        let ahead = full.oseqno.wrapping_sub(leg.expected).cast_signed();
        if ahead != 0 {
            // A late or retransmitted frame is acknowledged again. Before a frame with a higher
            // number than expected, a frame is missing.
            let kind = if ahead < 0 { iax::ACK } else { iax::VNAK };
            let bytes = leg.unreliable(now, number, kind, Some(full.timestamp));
            out.send.push(OutgoingDatagram::signalling(from, bytes));
            return Some(number);
        }
        leg.expected = leg.expected.wrapping_add(1);
        self.take(now, number, full, data, out);
        Some(number)
    }

    /// Handles the next reliable frame in order.
    fn take(&mut self, now: Time, number: u16, full: &Full, data: &[u8], out: &mut Out) {
        let call = Call(number);
        let leg = self.legs.get_mut(&number).expect("the call is known");
        let answer = match full.kind {
            Kind::Iax(iax::PING) => Some(iax::PONG),
            Kind::Iax(iax::LAGRQ) => Some(iax::LAGRP),
            _ => None,
        };
        if let Some(kind) = answer {
            // The answer repeats the time stamp of the request (sections 6.7.3 and 6.7.5).
            self.stamped(now, number, (Kind::Iax(kind), full.timestamp), Vec::new(), None, out);
            return;
        }
        let bytes = leg.unreliable(now, number, iax::ACK, Some(full.timestamp));
        out.send.push(OutgoingDatagram::signalling(leg.peer, bytes));
        match (full.kind, leg.state) {
            (Kind::Iax(iax::ACCEPT), State::Calling) => {
                out.events.push(Event::Progress { call, ringing: false })
            }
            (Kind::Control(control::RINGING), State::Calling) => {
                out.events.push(Event::Progress { call, ringing: true })
            }
            (Kind::Control(control::ANSWER), State::Calling) => {
                leg.state = State::Up;
                leg.schedule_probes(now);
                out.events.push(Event::Answered { call });
            }
            (Kind::Voice(_), _) => {
                leg.latest_speech = Some(full.timestamp);
                out.events.push(Event::Voice {
                    call,
                    timestamp: full.timestamp,
                    at: frame::FULL,
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

    /// Ends a call that the other end does not know (INVAL).
    fn lost(&mut self, number: u16, out: &mut Out) {
        let Some(leg) = self.remove(number) else { return };
        let call = Call(number);
        match leg.state {
            State::Ending => {}
            State::Up => out.events.push(Event::Ended { call, by_other: true }),
            _ => out.events.push(Event::Failed { call, cause: cause::TIMER }),
        }
    }

    /// Handles the first frame of the other end: an incoming call or a registration.
    fn offered(&mut self, now: Time, from: SocketAddr, full: &Full, data: &[u8], out: &mut Out) {
        let text = |kind| {
            frame::find(data, kind).map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
        };
        let Some(number) = self.unused_number() else { return };
        let codec = Codec(frame::number(data, element::FORMAT).unwrap_or(0));
        let capability = Codec(frame::number(data, element::CAPABILITY).unwrap_or(codec.0));
        let mut leg = Leg::new(now, State::Offered, from, codec);
        (leg.number, leg.expected) = (full.source, full.oseqno.wrapping_add(1));
        self.legs.insert(number, leg);
        self.record_peer(from, full.source, number);
        let call = Call(number);
        if full.kind != Kind::Iax(iax::NEW) {
            let refresh = frame::number(data, element::REFRESH).unwrap_or(60).min(3600) as u16;
            let seconds = if full.kind == Kind::Iax(iax::REGREQ) { refresh } else { 0 };
            out.events.push(Event::Registering {
                call,
                user: text(element::USERNAME),
                address: from,
                seconds,
            });
            return;
        }
        out.events.push(Event::Incoming {
            call,
            from: text(element::CALLING),
            to: text(element::CALLED),
            codec,
            capability,
        });
    }
}
