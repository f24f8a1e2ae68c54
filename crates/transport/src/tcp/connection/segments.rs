//! The segments that a connection sends.

use super::{Connection, Pending, Phase};
use crate::tcp::config::Ecn;
use crate::tcp::header;
use crate::tcp::sender::Chunk;
use bentpipe_core::Time;
use bentpipe_stage::packet::segment::{Segment, SegmentFlags, SegmentOptions, Timestamps};
use bentpipe_stage::Ecn as Field;

impl Connection {
    /// Returns the ECN field of the last segment from `next_segment`. Only new data may be marked
    /// instead of being dropped (RFC 3168, sections 6.1.4 and 6.1.5). A scalable congestion control
    /// also sends retransmissions with ECT(1) (RFC 8311, section 4.3).
    #[inline]
    pub fn ecn_field(&self) -> Field {
        self.ecn.field
    }

    /// Returns true if [`next_segment`](Self::next_segment) would return `None` and change no
    /// state.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.pending == Pending::Nothing && !self.receiver.must_acknowledge() && self.sender.is_silent()
    }

    /// Returns the next segment to send now. The caller repeats the call until it returns `None`.
    /// The function is always inlined, so that the segment stays in registers.
    #[inline(always)]
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        self.ecn.field = Field::NotEct;
        if self.pending != Pending::Nothing {
            return self.next_handshake_segment(now).map(rebuilt);
        }
        if self.phase < Phase::Established {
            return None;
        }
        if self.receiver.must_acknowledge_alone() {
            return Some(self.acknowledgment(now, self.sender.nxt()));
        }
        if let Some(chunk) = self.sender.next_chunk(now) {
            if chunk.fin() {
                self.fin_sent();
            }
            return Some(self.data(now, chunk));
        }
        if self.receiver.must_acknowledge() {
            return Some(self.acknowledgment(now, self.sender.nxt()));
        }
        if self.sender.take_probe() {
            return Some(self.acknowledgment(now, self.sender.una() - 1));
        }
        self.sender.count_sample();
        None
    }

    fn next_handshake_segment(&mut self, now: Time) -> Option<Segment> {
        match std::mem::take(&mut self.pending) {
            Pending::Nothing => None,
            Pending::Syn => Some(self.syn(now)),
            Pending::Reset(reset) => Some(reset.segment()),
        }
    }

    fn syn(&mut self, now: Time) -> Segment {
        let answers = self.phase == Phase::SynReceived;
        let mut options = self.handshake.send(now);
        let ecn_flags = self.handshake.ecn_flags(answers);
        // The first SYN-ACK has an option as a test of the path (RFC 9768, section 3.2.3.2).
        let feedback = self.ecn.feedback.as_ref().filter(|_| answers && self.handshake.is_first());
        options.ecn_bytes = feedback.map(|feedback| feedback.option_of_syn_ack());
        let flags = if answers { SegmentFlags::SYN.with(SegmentFlags::ACK) } else { SegmentFlags::SYN };
        Segment {
            sequence: self.ours.number(0),
            acknowledgment: if answers { self.theirs.number(self.receiver.next()) } else { 0 },
            window: self.syn_window,
            flags: flags.with(ecn_flags),
            timestamps: self.stamp(now, answers),
            options: Some(Box::new(options)),
            payload: 0,
        }
    }

    #[inline(always)]
    fn data(&mut self, now: Time, chunk: Chunk) -> Segment {
        let mut flags =
            if chunk.fin() { SegmentFlags::ACK.with(SegmentFlags::FIN) } else { SegmentFlags::ACK };
        if chunk.pushed() {
            flags = flags.with(SegmentFlags::PSH);
        }
        if self.ecn.kind != Ecn::Off && chunk.payload() > 0 {
            flags = flags.with(self.mark_capable(chunk.fresh()));
        }
        self.segment(now, chunk.start(), chunk.payload() as u16, flags, None)
    }

    /// Sets the ECN field of the present segment with data. Returns CWR if the other end must learn
    /// of a reduced window. Accurate feedback does not need CWR (RFC 9768, section 3.1.5).
    #[cold]
    fn mark_capable(&mut self, is_fresh: bool) -> SegmentFlags {
        if self.ecn.kind == Ecn::Accurate {
            self.ecn.field = match self.sender.may_mark() {
                true if self.sender.is_scalable() => Field::Ect1,
                true if is_fresh => Field::Ect0,
                _ => Field::NotEct,
            };
            return SegmentFlags::default();
        }
        if is_fresh {
            self.ecn.field = Field::Ect0;
        }
        match is_fresh && self.sender.take_reduced() {
            true => SegmentFlags::CWR,
            false => SegmentFlags::default(),
        }
    }

    #[inline(always)]
    fn acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        if self.snack {
            return self.negative_acknowledgment(now, sequence);
        }
        if self.ecn.kind == Ecn::Accurate {
            return self.accurate_acknowledgment(now, sequence);
        }
        let (sack, granted) = (self.receiver.sack_blocks(self.theirs), self.handshake.take_granted());
        let options = (sack.is_some() || granted.is_some()).then(|| {
            Box::new(SegmentOptions { sack: sack.unwrap_or_default(), granted, ..SegmentOptions::default() })
        });
        self.segment(now, sequence, 0, SegmentFlags::ACK, options)
    }

    /// Returns an acknowledgment with accurate feedback.
    #[cold]
    fn accurate_acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        let (sack, granted) = (self.receiver.sack_blocks(self.theirs), self.handshake.take_granted());
        let mut options =
            SegmentOptions { sack: sack.unwrap_or_default(), granted, ..SegmentOptions::default() };
        let without_sack = SegmentOptions { sack: Default::default(), ..options };
        let taken = header::options_size(self.timestamps, Some(&without_sack));
        if let Some(feedback) = &mut self.ecn.feedback {
            let (bytes, blocks) = feedback.option(taken, options.sack.as_slice().len());
            options.ecn_bytes = bytes;
            options.sack.truncate(blocks);
        }
        let options = (options != SegmentOptions::default()).then(|| Box::new(options));
        self.segment(now, sequence, 0, SegmentFlags::ACK, options)
    }

    #[cold]
    fn negative_acknowledgment(&mut self, now: Time, sequence: u64) -> Segment {
        let snack = self.receiver.snack(self.sender.segment_size().into());
        let options =
            snack.map(|snack| Box::new(SegmentOptions { snack: Some(snack), ..Default::default() }));
        self.segment(now, sequence, 0, SegmentFlags::ACK, options)
    }

    #[inline(always)]
    fn segment(
        &mut self,
        now: Time,
        sequence: u64,
        payload: u16,
        flags: SegmentFlags,
        options: Option<Box<SegmentOptions>>,
    ) -> Segment {
        let (acknowledged, window) = self.receiver.acknowledgment(now, payload > 0);
        let flags = if self.ecn.echoes { flags.with(SegmentFlags::ECE) } else { flags };
        let flags = match &mut self.ecn.feedback {
            None => flags,
            Some(feedback) => {
                let has_sack = options.as_ref().is_some_and(|options| !options.sack.as_slice().is_empty());
                let is_pure = payload == 0 && flags == SegmentFlags::ACK && !has_sack;
                flags.with(feedback.flags(is_pure))
            }
        };
        Segment {
            sequence: self.ours.number(sequence),
            acknowledgment: self.theirs.number(acknowledged),
            window,
            payload,
            flags,
            timestamps: self.stamp(now, true),
            options,
        }
    }

    #[inline]
    fn stamp(&self, now: Time, answers: bool) -> Option<Timestamps> {
        self.timestamps.then(|| {
            let echo = if answers { self.receiver.echo() } else { 0 };
            Timestamps::new(header::timestamp(now), echo)
        })
    }
}

/// Copies a segment field by field. Segments usually stay in registers until they are part of a
/// packet. Only the rare segments of the handshake are built in memory. Without this copy, the
/// compiler would build all segments in memory.
#[inline(always)]
fn rebuilt(segment: Segment) -> Segment {
    let Segment { sequence, acknowledgment, window, payload, flags, timestamps, options } = segment;
    Segment { sequence, acknowledgment, window, payload, flags, timestamps, options }
}
