//! Handling of arriving segments (RFC 9293, section 3.10.7).

use super::{is_syn, Connection, Event, Failure, Pending, Phase, TIME_WAIT};
use crate::tcp::config::Ecn;
use crate::tcp::ecn::{self, Decoder, Report};
use crate::tcp::handshake::Agreement;
use crate::tcp::header::{self, Numbering};
use crate::tcp::reset::Reset;
use crate::tcp::sender::{Ack, News};
use crate::tcp::snack;
use bentpipe_core::Time;
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::packet::segment::{Segment, SegmentFlags, SegmentOptions, Timestamps};
use bentpipe_stage::Ecn as Field;

impl Connection {
    /// Handles an arriving segment. `field` is the ECN field of its packet (RFC 3168, section 5).
    #[inline]
    pub fn receive_marked(&mut self, now: Time, segment: &Segment, field: Field) {
        self.ecn.arrived = field;
        match self.ecn.kind {
            Ecn::Off => self.receive(now, segment),
            Ecn::Classic => self.receive_classic(now, segment, field),
            Ecn::Accurate => {
                self.receive(now, segment);
                if self.ecn.feedback.as_mut().is_some_and(|feedback| feedback.take_due()) {
                    self.receiver.acknowledge_first();
                }
            }
        }
        self.ecn.arrived = Field::NotEct;
    }

    /// Handles an arriving segment of a connection with classic ECN (RFC 3168, section 6.1.3).
    fn receive_classic(&mut self, now: Time, segment: &Segment, field: Field) {
        let reduced = segment.flags.contains(SegmentFlags::CWR);
        self.ecn.echoes &= !reduced;
        if field == Field::Ce && !self.ecn.echoes {
            self.ecn.echoes = true;
            self.receiver.acknowledge_quickly_for_congestion();
        }
        self.receive(now, segment);
        if reduced && segment.payload > 0 {
            self.receiver.acknowledge_first();
        }
    }

    /// Handles an arriving segment.
    #[inline]
    pub fn receive(&mut self, now: Time, segment: &Segment) {
        if self.phase > Phase::SynReceived || (self.phase == Phase::SynReceived && !is_syn(segment)) {
            self.receive_synchronised(now, segment);
        } else {
            self.receive_handshake(now, segment);
        }
    }

    /// Handles segments in the synchronised states, in the order of RFC 9293, section 3.10.7.4.
    #[inline(always)]
    fn receive_synchronised(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        let fin = flags.contains(SegmentFlags::FIN);
        let payload = u64::from(segment.payload);
        let occupies = payload + u64::from(fin);
        if self.phase == Phase::TimeWait {
            if now >= self.time_wait_end {
                self.phase = Phase::Closed;
                self.reset_in_answer(segment);
                return;
            }
            if flags.contains(SegmentFlags::ACK) {
                self.time_wait_end = now + TIME_WAIT;
            }
            if occupies > 0 && flags.0 & (SegmentFlags::RST.0 | SegmentFlags::SYN.0) == 0 {
                // In TIME-WAIT, Linux stores only these values of the connection, so the
                // acknowledgment has no SACK block.
                self.receiver.acknowledge_now();
                return;
            }
        }
        let Some(start) = self.theirs.position(segment.sequence, self.receiver.next()) else { return };
        if self.ecn.kind == Ecn::Accurate && flags.contains(SegmentFlags::SYN) {
            self.note_syn_ack(segment);
        }
        let old = match segment.timestamps {
            Some(stamps) if self.timestamps => self.receiver.is_old(stamps.value(), start, occupies),
            _ => false,
        };
        if old || !self.receiver.is_acceptable(start, occupies) {
            if !flags.contains(SegmentFlags::RST) {
                self.receiver.acknowledge_old(start, payload);
            }
            return;
        }
        if let Some(feedback) = self.ecn.feedback.as_mut().filter(|_| !flags.contains(SegmentFlags::SYN)) {
            feedback.count(self.ecn.arrived, payload);
        }
        if flags.contains(SegmentFlags::RST) {
            match self.phase {
                Phase::TimeWait => {}
                // Both ends have sent all data, so the application is not informed (RFC 9293,
                // section 3.10.7.4). The other end has already discarded the connection and answers
                // a retransmitted FIN with this reset.
                Phase::Closing | Phase::LastAck if start == self.receiver.next() => self.end(),
                _ if start == self.receiver.next() => self.fail(Failure::Reset),
                _ => self.receiver.acknowledge_now(),
            }
            return;
        }
        if flags.contains(SegmentFlags::SYN) {
            self.receiver.acknowledge_now();
            return;
        }
        if !flags.contains(SegmentFlags::ACK) {
            return;
        }
        if self.phase == Phase::SynReceived {
            if segment.acknowledgment != self.ours.number(1) {
                self.reset_in_answer(segment);
                return;
            }
            self.establish(now, segment);
            self.take_handshake_feedback(segment, occupies == 0);
        }
        self.take_acknowledgment(now, segment, start, occupies > 0);
        if occupies > 0 && self.phase != Phase::Closed {
            if self.receiver.right_sizes() {
                let stamps = segment.timestamps.filter(|_| self.timestamps);
                self.receiver.note_echo(now, stamps.and_then(|stamps| header::echoed(now, stamps.echo())));
            }
            self.take_data(now, start, payload, (fin, flags.contains(SegmentFlags::PSH)));
        }
    }

    #[inline(always)]
    fn take_acknowledgment(&mut self, now: Time, segment: &Segment, start: u64, occupies: bool) {
        let Some(position) = self.ours.position(segment.acknowledgment, self.sender.una()) else { return };
        let echo = match segment.timestamps {
            Some(stamps) if self.timestamps => header::echoed(now, stamps.echo()),
            _ => None,
        };
        let report = match self.ecn.kind {
            Ecn::Accurate => self.report(segment),
            Ecn::Off | Ecn::Classic => None,
        };
        if let (Some(stamps), true) = (segment.timestamps, self.timestamps) {
            self.sender.note_timestamps(stamps.value(), stamps.echo());
        }
        let window = segment.window;
        let echo_flag = segment.flags.0 & (SegmentFlags::ECE.0 | SegmentFlags::SYN.0) == SegmentFlags::ECE.0;
        let ece = echo_flag && self.ecn.kind == Ecn::Classic;
        let report = report.as_ref();
        let ack = Ack { position, window, sequence: start, occupies, sack: &[], echo, ece, report };
        let news = match &segment.options {
            None => self.sender.acknowledge(now, &ack),
            Some(options) => self.take_blocks(now, &ack, options),
        };
        match news {
            News::Advanced => {}
            News::Nothing => return,
            News::NotSent => {
                self.receiver.acknowledge_now();
                return;
            }
        }
        if !self.reported_all_acknowledged && self.sender.all_acknowledged() {
            self.reported_all_acknowledged = true;
            self.events.add(Event::AllAcknowledged);
        }
        if self.sender.fin_acknowledged() {
            self.fin_acknowledged(now);
        }
    }

    /// Returns the accurate feedback in a segment. The flags of a SYN-ACK, and of the
    /// acknowledgment of a SYN-ACK, have another meaning (RFC 9768, section 3.2.2).
    #[cold]
    fn report(&mut self, segment: &Segment) -> Option<Report> {
        if segment.flags.contains(SegmentFlags::SYN) || std::mem::take(&mut self.ecn.skips_report) {
            return None;
        }
        let bytes = segment.options.as_ref().and_then(|options| options.ecn_bytes);
        let stamps = segment.timestamps.filter(|_| self.timestamps);
        let is_newer = stamps.is_some_and(|stamps| self.sender.is_newer(stamps.value()));
        Some(Report { ace: segment.flags.ace(), bytes, is_newer })
    }

    /// Handles the feedback in the first acknowledgment that arrives at the answering end. A pure
    /// one reports the ECN field of the SYN-ACK (RFC 9768, section 3.2.2.1).
    fn take_handshake_feedback(&mut self, segment: &Segment, is_empty: bool) {
        if self.ecn.kind != Ecn::Accurate {
            return;
        }
        let options = segment.options.as_deref();
        let mut decoder = Decoder::new(options.and_then(|options| options.ecn_bytes));
        if is_empty && options.is_none_or(|options| options.sack.as_slice().is_empty()) {
            decoder.take_handshake(segment.flags.ace());
            self.ecn.skips_report = true;
        }
        if self.handshake.forbids_marks() {
            decoder.forbid_marks();
        }
        self.sender.decode_by(decoder);
    }

    /// Records the ECN field of a SYN-ACK that was retransmitted, for its acknowledgment.
    #[cold]
    fn note_syn_ack(&mut self, segment: &Segment) {
        let answers = segment.flags.contains(SegmentFlags::ACK) && segment.sequence == self.theirs.number(0);
        // A SYN-ACK without flags does not confirm accurate feedback (RFC 9768, section 3.2.2.1).
        if let Some(feedback) = self.ecn.feedback.as_mut().filter(|_| answers && segment.flags.ace() != 0) {
            feedback.take_syn_ack(self.ecn.arrived, false);
        }
    }

    /// Handles another SYN of the same connection: the SYN-ACK was lost or late.
    fn answer_again(&mut self, segment: &Segment) {
        if self.handshake.agree_again(segment, self.ecn.arrived) {
            self.pending = Pending::Syn;
        } else {
            self.abort();
        }
    }

    /// Handles an acknowledgment with options: SACK blocks, or a SNACK option.
    fn take_blocks(&mut self, now: Time, ack: &Ack, options: &SegmentOptions) -> News {
        if let Some(snack) = &options.snack {
            let unit = self.sender.segment_size().into();
            let (held, missing): (Vec<_>, Vec<_>) =
                snack::decode(snack, ack.position, unit).partition(|(_, is_held)| *is_held);
            self.sender.name_missing(missing.into_iter().map(|(range, _)| range));
            let blocks: Vec<_> = held.into_iter().map(|(range, _)| range).collect();
            return self.sender.acknowledge(now, &Ack { sack: &blocks, ..*ack });
        }
        let near = self.sender.una();
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for &(left, right) in options.sack.as_slice() {
            if let (Some(left), Some(right)) =
                (self.ours.position(left, near), self.ours.position(right, near))
            {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        self.sender.acknowledge(now, &Ack { sack: &blocks[..count], ..*ack })
    }

    #[inline(always)]
    fn take_data(&mut self, now: Time, start: u64, payload: u64, (fin, pushed): (bool, bool)) {
        let arrival = self.receiver.take(now, self.sender.estimator(), start, payload, (fin, pushed));
        if arrival.delivered > 0 {
            self.events.add(Event::Received(arrival.delivered));
        }
        if arrival.finished {
            self.fin_received(now);
        }
    }

    fn receive_handshake(&mut self, now: Time, segment: &Segment) {
        let flags = segment.flags;
        match self.phase {
            Phase::Listen if is_syn(segment) => {
                self.agree(segment);
                self.phase = Phase::SynReceived;
                self.pending = Pending::Syn;
            }
            Phase::SynReceived if segment.sequence == self.theirs.number(0) => self.answer_again(segment),
            Phase::SynSent => {
                let acknowledged = flags.contains(SegmentFlags::ACK);
                if acknowledged && segment.acknowledgment != self.ours.number(1) {
                    self.reset_in_answer(segment);
                } else if flags.contains(SegmentFlags::RST) {
                    if acknowledged {
                        self.fail(Failure::Reset);
                    }
                } else if acknowledged && flags.contains(SegmentFlags::SYN) {
                    self.agree(segment);
                    self.establish(now, segment);
                    self.take_syn_ack(segment);
                    let start = self.theirs.position(segment.sequence, 0).unwrap_or(0);
                    self.take_acknowledgment(now, segment, start, true);
                    self.receiver.acknowledge_now();
                }
            }
            _ => self.reset_in_answer(segment),
        }
    }

    fn agree(&mut self, syn: &Segment) {
        self.theirs = Numbering::new(syn.sequence);
        self.handshake.agree(syn, self.ecn.arrived);
        self.ecn.kind = self.handshake.agreement().ecn;
        self.ecn.feedback = (self.ecn.kind == Ecn::Accurate).then(Box::default);
        let Agreement { timestamps, sack, snack, window_scale, .. } = *self.handshake.agreement();
        self.timestamps = timestamps;
        self.snack = snack;
        let timestamp = syn.timestamps.filter(|_| timestamps).map(Timestamps::value);
        self.receiver.begin(sack, window_scale, timestamp);
    }

    /// Prepares accurate feedback at the opening end, after the SYN-ACK.
    fn take_syn_ack(&mut self, syn_ack: &Segment) {
        if let Some(feedback) = &mut self.ecn.feedback {
            feedback.take_syn_ack(self.ecn.arrived, true);
            let mut decoder = Decoder::new(syn_ack.options.as_ref().and_then(|options| options.ecn_bytes));
            if ecn::reports_change(syn_ack.flags.ace()) {
                decoder.forbid_marks();
            }
            self.sender.decode_by(decoder);
        }
    }

    fn establish(&mut self, now: Time, answer: &Segment) {
        self.phase = Phase::Established;
        let rtt = self.handshake.finish(now, answer);
        let Agreement { sack, snack, segment_size, .. } = *self.handshake.agreement();
        let retransmissions = self.handshake.retransmissions(answer);
        self.sender.establish(now, rtt, retransmissions, segment_size, sack || snack);
        if let Some(rate @ 1..) = answer.options.as_ref().and_then(|options| options.granted) {
            let granted = QuickStart { rate, missed: false }.bits_per_second();
            self.sender.grant(now, granted, self.timestamps);
        }
        self.events.add(Event::Connected);
    }

    /// Prepares a reset that answers a segment of a connection that does not exist.
    fn reset_in_answer(&mut self, segment: &Segment) {
        if let Some(reset) = Reset::answering(segment) {
            self.pending = Pending::Reset(reset);
        }
    }
}
