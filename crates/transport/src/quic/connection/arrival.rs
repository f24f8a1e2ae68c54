//! Arriving packets: data, acknowledgments, and the losses that acknowledgments reveal.

use super::{Connection, MAX_EARLY, MTU_PROBES};
use crate::app::{End, Event};
use crate::quic::controller::Acknowledged;
use crate::quic::frames::{full_packet, Ack, AckRequest, Datagram, Frame, Kind, Space, StreamData};
use crate::quic::space::{AckRule, Outcome, Sent};
use bentpipe_core::{Span, Time};
use bentpipe_stage::Ecn;
use std::sync::Arc;

impl Connection {
    /// Handles a datagram with a UDP payload of `size` bytes and this ECN field.
    pub fn receive(&mut self, now: Time, datagram: &Arc<Datagram>, size: u32, ecn: Ecn) {
        if self.failed {
            return;
        }
        self.last_activity = now;
        self.follow_client(datagram);
        if datagram.path == self.path {
            self.received_bytes += u64::from(size);
        }
        for place in 0..=datagram.more.len() {
            self.take(now, datagram, place, ecn);
            // Packets that this one has made readable, in the order of their arrival.
            for (datagram, place, ecn) in std::mem::take(&mut self.early) {
                self.take(now, &datagram, place, ecn);
            }
        }
    }

    pub(super) fn take(&mut self, now: Time, datagram: &Arc<Datagram>, place: usize, ecn: Ecn) {
        let packet = datagram.packet(place);
        let space = packet.kind.space();
        let readable = match packet.kind {
            Kind::Initial => true,
            Kind::Handshake | Kind::ZeroRtt => self.keys[space as usize] || self.is_past(space),
            Kind::OneRtt => self.complete,
        };
        if !readable {
            if self.early.len() < MAX_EARLY {
                self.early.push((datagram.clone(), place, ecn));
            }
            return;
        }
        if !self.keys[space as usize] {
            // Its keys have been discarded.
            return;
        }
        let rule = match space {
            Space::Application => self.ack_rule,
            _ => AckRule::new(1, Span::ZERO),
        };
        if !self.spaces[space as usize].receive(now, packet.number, (packet.elicits(), ecn), &rule) {
            return;
        }
        if space == Space::Handshake && self.end == End::Destination {
            self.validated = true;
            self.discard(Space::Initial);
        }
        for frame in &packet.frames {
            match frame {
                Frame::Ping => {}
                Frame::Ack(ack) => self.acknowledge(now, space, ack),
                Frame::Crypto(data) => {
                    let crypto = &mut self.crypto[space as usize];
                    crypto.receive.receive(data);
                    let read = crypto.receive.read();
                    self.progress(now, space, read);
                }
                Frame::Stream(data) => self.take_data(now, data),
                Frame::MaxData(limit) => self.limit = self.limit.max(*limit),
                Frame::MaxStreamData(id, limit) => {
                    let send = &mut self.stream(*id).send;
                    send.limit = send.limit.max(*limit);
                    self.activate(*id);
                }
                Frame::HandshakeDone => self.confirm(),
                Frame::AckFrequency(request) => self.follow(request),
                Frame::Datagram(message) => self.arrived.push_back(message.clone()),
                Frame::ImmediateAck => self.spaces[space as usize].hasten(now),
                Frame::PathChallenge(number) => self.control.push(Frame::PathResponse(*number)),
                Frame::PathResponse(number) => self.validate_path(*number),
            }
        }
    }

    /// Acknowledges as the other end requests (draft-ietf-quic-ack-frequency, section 6).
    fn follow(&mut self, request: &AckRequest) {
        if self.ack_request.is_none_or(|last| request.sequence > last) {
            self.ack_request = Some(request.sequence);
            self.ack_rule = AckRule {
                every: request.threshold + 1,
                delay: request.max_ack_delay,
                reordering: request.reordering_threshold,
                first_mark_only: request.threshold > 1,
            };
        }
    }

    pub(super) fn take_data(&mut self, now: Time, data: &StreamData) {
        let is_new = !self.streams.contains_key(&data.id);
        let round_trip = self.controller.estimator().srtt();
        let stream = self.stream(data.id);
        let (readable, ended) = stream.receive.receive(data);
        let read = stream.receive.read();
        let is_closed = stream.receive.is_closed();
        let limit = if is_closed { None } else { stream.receive.window.update(now, read, round_trip) };
        if is_new {
            self.events.push_back((data.id, Event::Connected));
        }
        if let Some(limit) = limit {
            self.control.push(Frame::MaxStreamData(data.id, limit));
        }
        if readable > 0 {
            self.data_read += readable;
            if let Some(limit) = self.window.update(now, self.data_read, round_trip) {
                self.control.push(Frame::MaxData(limit));
            }
            self.events.push_back((data.id, Event::Received { bytes: readable }));
        }
        if ended {
            self.events.push_back((data.id, Event::PeerClosed));
        }
    }

    pub(super) fn acknowledge(&mut self, now: Time, space: Space, ack: &Ack) {
        let at = space as usize;
        let mut outcome = std::mem::take(&mut self.outcome);
        let newest = self.spaces[at].acknowledge(ack, &mut outcome);
        let earlier = self.of_earlier_paths(&outcome.acked);
        let newest = newest.filter(|_| earlier < outcome.acked.len());
        if let Some(last) = outcome.acked.last() {
            let last = last.at;
            let mut rtt = None;
            if let Some(sent) = newest {
                let delay = match space {
                    Space::Application => ack.delay.min(self.peer_ack_delay),
                    _ => Span::ZERO,
                };
                rtt = Some(self.sample(now, now.since(sent), delay));
            }
            self.find_losses(now, space, &mut outcome);
            let marks = ack.ecn.map_or(0, |counts| counts.ce.saturating_sub(self.reported_marks));
            self.reported_marks += marks;
            if marks > 0 && earlier < outcome.acked.len() && !self.controller.is_scalable() {
                self.controller.congestion_event(now, last);
            }
            let acknowledged = Acknowledged {
                packets: &outcome.acked[earlier..],
                first_flight: self.first_flight(),
                first: self.first_number(),
                losses: (outcome.lost.len() - self.of_earlier_paths(&outcome.lost)) as u32,
                marks: marks as u32,
                rtt,
            };
            self.controller.acknowledge(now, &acknowledged);
            for packet in &outcome.acked {
                self.delivered(now, packet);
            }
            if self.end == End::Source && self.complete && is_one_rtt(&outcome.acked) {
                // RFC 9001, section 4.1.2.
                self.confirm();
            }
            if self.end == End::Destination || space != Space::Initial {
                self.probe_timeouts = 0;
            }
        }
        outcome.acked.clear();
        outcome.lost.clear();
        self.outcome = outcome;
    }

    /// Adds a round-trip time sample, and returns it without the delay of the acknowledgment.
    pub(super) fn sample(&mut self, now: Time, rtt: Span, delay: Span) -> Span {
        let adjusted = self.controller.sample(now, rtt, delay);
        self.counters.rtt.add(rtt);
        let (rttvar, rto, samples) = &mut self.counters.timer;
        *rttvar += self.controller.estimator().rttvar_seconds();
        *rto += self.controller.probe_term().as_secs_f64();
        *samples += 1;
        adjusted
    }

    pub(super) fn first_flight(&self) -> u64 {
        let first = self.spaces.iter().filter_map(|space| Some(space.first_in_flight()?.flight)).min();
        first.unwrap_or(self.controller.flights()).max(self.path_start)
    }

    /// Returns the number of packets at the beginning of `packets`, which are in order, that were
    /// sent over an earlier path.
    fn of_earlier_paths(&self, packets: &[Sent]) -> usize {
        packets.partition_point(|packet| packet.flight < self.path_start)
    }

    pub(super) fn first_number(&self) -> u64 {
        let space = &self.spaces[Space::Application as usize];
        space.first_in_flight().map_or(space.next, |packet| packet.number)
    }

    /// Handles the losses of a space.
    pub(super) fn find_losses(&mut self, now: Time, space: Space, outcome: &mut Outcome) {
        let (delay, threshold) = (self.controller.loss_delay(), self.config.packet_threshold.value());
        self.spaces[space as usize].detect_losses(now, delay, threshold, outcome);
        if outcome.lost.is_empty() {
            return;
        }
        let earlier = self.of_earlier_paths(&outcome.lost);
        self.controller.lose(now, &outcome.lost[earlier..], self.peer_ack_delay);
        if self.keeps_losses {
            self.losses.extend(outcome.lost.iter().map(|packet| packet.datagram.clone()));
        }
        for packet in &outcome.lost {
            self.repeat(packet);
            if packet.is_mtu_probe && packet.flight >= self.path_start {
                self.mtu_probe_due = self.mtu_probes < MTU_PROBES;
            }
        }
    }

    /// Handles the delivery of a packet.
    pub(super) fn delivered(&mut self, now: Time, packet: &Sent) {
        if packet.is_mtu_probe && packet.flight >= self.path_start {
            self.mtu = self.config.max_udp_payload_size.value() as u32;
            self.controller.set_payload(full_packet(self.mtu));
        }
        let (datagram, place) = &packet.datagram;
        let sent = datagram.packet(*place);
        for frame in &sent.frames {
            match frame {
                Frame::Crypto(data) => {
                    self.crypto[sent.kind.space() as usize].send.acknowledge(data);
                }
                Frame::Stream(data) => {
                    let Some(stream) = self.streams.get_mut(&data.id) else { continue };
                    if stream.send.acknowledge(data) {
                        self.events.push_back((data.id, Event::MaySend));
                    }
                    let ended = stream.send.is_finished();
                    if ended && self.streams.values().all(|stream| stream.send.is_finished()) {
                        self.counters.completed.get_or_insert(now);
                    }
                }
                Frame::Ack(ack) => {
                    self.spaces[sent.kind.space() as usize].forget_below(ack.ranges[0].1);
                }
                Frame::AckFrequency(request) => self.peer_ack_delay = request.max_ack_delay,
                _ => {}
            }
        }
    }

    /// Puts the frames of a lost packet back into the queues of data to send.
    pub(super) fn repeat(&mut self, packet: &Sent) {
        let (datagram, place) = &packet.datagram;
        let sent = datagram.packet(*place);
        for frame in &sent.frames {
            match frame {
                Frame::Crypto(data) => self.crypto[sent.kind.space() as usize].send.lose(data),
                Frame::Stream(data) => {
                    self.stream(data.id).send.lose(data);
                    self.activate(data.id);
                }
                Frame::HandshakeDone | Frame::AckFrequency(_) => self.control.push(frame.clone()),
                Frame::MaxData(_) => self.control.push(Frame::MaxData(self.window.limit())),
                Frame::MaxStreamData(id, _) => {
                    let receive = &self.stream(*id).receive;
                    if !receive.is_closed() {
                        let limit = receive.window.limit();
                        self.control.push(Frame::MaxStreamData(*id, limit));
                    }
                }
                Frame::PathChallenge(number) => {
                    if *number == u64::from(self.path) {
                        self.control.push(frame.clone());
                    }
                }
                // RFC 9221, section 5.2: datagrams are not repeated. Answers about a path are sent
                // once (RFC 9000, section 13.3).
                Frame::Ping
                | Frame::Ack(_)
                | Frame::ImmediateAck
                | Frame::Datagram(_)
                | Frame::PathResponse(_) => {}
            }
        }
    }
}

/// Returns true if the last of the packets is a 1-RTT packet.
fn is_one_rtt(packets: &[Sent]) -> bool {
    packets.last().is_some_and(|packet| {
        let (datagram, place) = &packet.datagram;
        datagram.packet(*place).kind == Kind::OneRtt
    })
}
