//! Results of calls: a row per call, a row per second, and the totals of each end.

use crate::app::voice::{self, SILENT};
use crate::statistics::SpanStatistics;
use bentpipe_core::{Column, Report, Table, Time};
use bentpipe_voice::codec::Codec;
use bentpipe_voice::stream::{Quality, Totals};

/// Trace of the calls of an exchange.
pub static CALL: Table = Table {
    name: "call",
    entity: "flow end",
    about: "when a call is over, and at the end of the run, by each end (NAME.source places calls, NAME.destination answers them)",
    columns: &[
        Column::whole("number", "1", "number of the call at the exchange that places it, from 1; 0 if it is not known"),
        Column::whole(
            "outcome",
            "1",
            "0: blocked, as no line was free; 1: failed; 2: answered and over; 3: answered and going on when the run ended; \
             4: neither answered nor failed when the run ended; 5: local, which sends nothing",
        ),
        Column::whole(
            "reason",
            "1",
            "why it failed: status of SIP (408: no answer from the other exchange, 486: no line there, 487: the caller gave up, 503: the TCP connection failed) or, \
             with IAX2, cause of Q.931 (102, 17, 19); null otherwise",
        ),
        Column::real("started", "s", "when the call began"),
        Column::real("ringing", "s", "post-dial delay: from its beginning until the caller hears that it rings (caller only)"),
        Column::real("answered", "s", "time from its beginning until it is known to be answered"),
        Column::real("talked", "s", "time from the answer to the end"),
        Column::whole("sent", "packets", "packets of speech and comfort noise sent by this end"),
        Column::whole("expected", "packets", "packets that the other end sent, by their sequence numbers"),
        Column::whole("lost", "packets", "packets that did not arrive here"),
        Column::whole("late", "packets", "packets that arrived after they should have been played"),
        Column::real("delay", "s", "mean time from mouth to ear, with packetisation and de-jitter buffer"),
        Column::real("jitter", "s", "mean over the packets of the interarrival jitter (RFC 3550)"),
        Column::real("r", "1", "rating of what this end hears by the E-model (G.107), without advantage factor"),
        Column::real("mos", "1", "mean opinion score of that rating"),
        Column::real("r_advantage", "1", "rating with the advantage factor"),
    ],
};

/// Trace of the traffic of an exchange.
pub static TRAFFIC: Table = Table {
    name: "exchange",
    entity: "flow end",
    about: "every second, by each end of a flow of calls (NAME.source, NAME.destination)",
    columns: &[
        Column::whole("calls", "1", "calls that take a line"),
        Column::real("rate", "bit/s", "network-layer rate of what it sent in that second"),
        Column::real("speech", "bit/s", "rate of the encoded speech in it"),
    ],
};

/// Trace of the playout of each packet of speech.
pub static HEARD: Table = Table {
    name: "call_speech",
    entity: "flow end",
    about: "when a packet of speech arrives at an end of a flow of calls (NAME.source, NAME.destination)",
    columns: &[
        Column::whole(
            "number",
            "1",
            "number of the call at the exchange that places it, from 1; 0 if it is not known",
        ),
        Column::whole(
            "sequence",
            "1",
            "sequence number of the packet, with its cycles; missing numbers were lost",
        ),
        Column::real(
            "spoken",
            "s",
            "when its first sample was spoken or, from a conference bridge, when its part of the mix began",
        ),
        Column::real(
            "heard",
            "s",
            "when its first sample is played; null if the packet came too late or twice",
        ),
        Column::whole("noise", "1", "1 if it holds comfort noise, 0 for speech"),
    ],
};

/// Totals of the calls of an exchange.
pub static REPORT: Table = Table {
    name: "calls",
    entity: "flow end",
    about: "at the end of the run, by each end of a flow of calls (NAME.source places calls, NAME.destination answers them)",
    columns: &[
        Column::whole("attempts", "1", "calls that began"),
        Column::whole("blocked", "1", "calls that found no free line at this end"),
        Column::whole("local", "1", "calls that stayed at this end's site"),
        Column::whole("answered", "1", "calls that were answered"),
        Column::whole("failed", "1", "calls between the sites that failed after they had a line"),
        Column::whole("unanswered", "1", "of these, calls whose signalling had no answer (408, or cause 102)"),
        Column::real("success", "1", "answered calls over those answered or failed"),
        Column::real("post_dial_delay_mean", "s", "mean time until the caller hears that it rings"),
        Column::real("post_dial_delay_p95", "s", "95th percentile of that time"),
        Column::real("answer_mean", "s", "mean time until a call is known to be answered"),
        Column::whole("retransmissions", "packets", "messages of signalling (with SIP over TCP: segments) that had been sent before"),
        Column::whole("signalling", "bytes", "network-layer bytes of signalling sent"),
        Column::real("loss", "1", "fraction of the packets of speech for this end that did not arrive"),
        Column::real("late", "1", "fraction that arrived too late to be played"),
        Column::real("delay_mean", "s", "mean over the calls that were heard of the mean time from mouth to ear"),
        Column::real("jitter_mean", "s", "mean over the calls that were heard of the mean interarrival jitter (RFC 3550)"),
        Column::real("r_mean", "1", "mean over the rated calls of the rating by the E-model, without advantage factor; a call of 1 s or longer in which nothing was heard has 0"),
        Column::real("mos_mean", "1", "mean over the rated calls of the mean opinion score; a call of 1 s or longer in which nothing was heard has 1"),
        Column::real("mos_min", "1", "smallest mean opinion score of a call"),
    ],
};

/// The outcome of a call at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The call found no free line.
    Blocked,
    /// The call failed for this reason, a status of SIP or a cause of Q.931.
    Failed(u16),
    /// The call was answered and has ended.
    Over,
    /// The call was answered and continues at the end of the run.
    Talking,
    /// The call is neither answered nor failed at the end of the run.
    Open,
    /// The call stays at the site.
    Local,
}

/// The times and counts of a call.
#[derive(Clone, Debug)]
pub struct Record {
    /// Number of the call at the exchange that placed it.
    pub number: u32,
    /// Time at which the call began.
    pub started: Time,
    /// Time at which the caller was informed that the telephone rings.
    pub ringing: Option<Time>,
    /// Time at which this end knew that the call was answered.
    pub answered: Option<Time>,
    /// Number of packets of speech sent.
    pub sent: u64,
}

/// Totals over the calls of one end.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Number of calls that began.
    pub attempts: u64,
    /// Number of calls that found no free line.
    pub blocked: u64,
    /// Number of calls that stayed at the site.
    pub local: u64,
    answered: u64,
    failed: u64,
    unanswered: u64,
    ringing: SpanStatistics,
    answers: SpanStatistics,
    /// Number of signalling messages (over TCP: segments) that were retransmissions.
    pub retransmissions: u64,
    /// Bytes of signalling sent, at the network layer.
    pub signalling: u64,
    expected: u64,
    lost: u64,
    late: u64,
    /// Sums of delay and jitter over the calls with at least one packet played, and the number of
    /// these calls.
    heard: ([f64; 2], u64),
    /// Sums of R and MOS over the calls that were rated, and the number of these calls.
    rated: ([f64; 2], u64),
    worst: f64,
}

/// Reasons of calls that failed because the other exchange did not answer: the status of SIP, and
/// the cause of IAX2.
const SILENCE: [u16; 2] = [408, 102];

impl Counts {
    /// Counts a call that has ended or continues at the end of the run, and returns its row of
    /// [`CALL`].
    pub fn end(
        &mut self,
        now: Time,
        record: &Record,
        outcome: Outcome,
        heard: Option<(&Totals, &'static Codec, f64)>,
    ) -> [f64; 16] {
        let since =
            |time: Option<Time>| time.map_or(f64::NAN, |time| time.since(record.started).as_secs_f64());
        let (kind, reason) = match outcome {
            Outcome::Blocked => (0.0, f64::NAN),
            Outcome::Failed(reason) => (1.0, f64::from(reason)),
            Outcome::Over => (2.0, f64::NAN),
            Outcome::Talking => (3.0, f64::NAN),
            Outcome::Open => (4.0, f64::NAN),
            Outcome::Local => (5.0, f64::NAN),
        };
        if let Outcome::Failed(reason) = outcome {
            self.failed += 1;
            self.unanswered += u64::from(SILENCE.contains(&reason));
        }
        if let Some(time) = record.ringing {
            self.ringing.add(time.since(record.started));
        }
        if let Some(time) = record.answered {
            self.answered += 1;
            self.answers.add(time.since(record.started));
        }
        let mut row = [f64::NAN; 16];
        let talked = record.answered.map_or(f64::NAN, |time| now.since(time).as_secs_f64());
        let times = [record.started.as_secs_f64(), since(record.ringing), since(record.answered), talked];
        row[..3].copy_from_slice(&[f64::from(record.number), kind, reason]);
        row[3..7].copy_from_slice(&times);
        row[7] = record.sent as f64;
        let is_silent = record.answered.is_some_and(|time| now.since(time) >= SILENT);
        match heard.filter(|(totals, ..)| totals.expected > 0) {
            Some((totals, codec, advantage)) => {
                self.rate(totals, &totals.quality(codec, advantage), &mut row)
            }
            None if is_silent => {
                row[13..].copy_from_slice(&[0.0, 1.0, 0.0]);
                self.add_rating(0.0, 1.0);
            }
            None => {}
        }
        row
    }

    /// Counts the speech of a call that one end has received, and adds it to the row of the call.
    fn rate(&mut self, totals: &Totals, quality: &Quality, row: &mut [f64; 16]) {
        let (delay, jitter) = (totals.delay(), totals.jitter());
        self.expected += totals.expected;
        self.lost += totals.lost.max(0) as u64;
        self.late += totals.late;
        row[8..].copy_from_slice(&[
            totals.expected as f64,
            totals.lost as f64,
            totals.late as f64,
            delay,
            jitter,
            quality.r,
            quality.mos,
            quality.r_advantage,
        ]);
        if delay.is_finite() && jitter.is_finite() {
            let ([delays, jitters], calls) = &mut self.heard;
            *delays += delay;
            *jitters += jitter;
            *calls += 1;
        }
        self.add_rating(quality.r, quality.mos);
    }

    fn add_rating(&mut self, r: f64, mos: f64) {
        let ([ratings, opinions], calls) = &mut self.rated;
        self.worst = if *calls == 0 { mos } else { self.worst.min(mos) };
        *ratings += r;
        *opinions += mos;
        *calls += 1;
    }

    /// Writes the rows of an end: its own of [`REPORT`], and one of [`voice::CALL`] for the
    /// direction that arrives there.
    pub fn report(&self, entity: &str, incoming: &str, report: &mut Report) {
        let (heard, rated) = (self.heard.1 as f64, self.rated.1 as f64);
        let share = |count: u64| count as f64 / self.expected as f64;
        let ([delay, jitter], [r, mos]) =
            (self.heard.0.map(|sum| sum / heard), self.rated.0.map(|sum| sum / rated));
        let values = [
            self.attempts as f64,
            self.blocked as f64,
            self.local as f64,
            self.answered as f64,
            self.failed as f64,
            self.unanswered as f64,
            self.answered as f64 / (self.answered + self.failed) as f64,
            self.ringing.mean(),
            self.ringing.percentile(95.0),
            self.answers.mean(),
            self.retransmissions as f64,
            self.signalling as f64,
            share(self.lost),
            share(self.late),
            delay,
            jitter,
            r,
            mos,
            if rated == 0.0 { f64::NAN } else { self.worst },
        ];
        report.row(&REPORT, entity, &values);
        if rated > 0.0 {
            let lost = if self.expected == 0 { 100.0 } else { 100.0 * (share(self.lost) + share(self.late)) };
            let [expected, missing, late] = [self.expected, self.lost, self.late].map(|count| count as f64);
            let mut row = [f64::NAN; 16];
            row[..4].copy_from_slice(&[expected, missing, late, lost]);
            (row[5], row[7], row[10], row[11]) = (jitter, delay, r, mos);
            report.row(&voice::CALL, incoming, &row);
        }
    }
}
