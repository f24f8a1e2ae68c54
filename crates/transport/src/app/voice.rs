//! A telephone call: speech in both directions over RTP (RFC 3550, RFC 3551), with reports over
//! RTCP and a rating by the E-model.
//!
//! The source calls; the destination answers when the first packet arrives there. Each side speaks
//! according to `talker`; with `p59` the two sides form one conversation. A packet has the RTP
//! header and `frames` frames of the codec; over UDP and IPv4 that makes 40 bytes and the payload.
//! Both directions share the flow's ports with RTCP (RFC 5761). Headers are real in simulations and
//! emulations; the payload is not speech.
//!
//! At each side, a call begins with an RTCP sender report, which gives the other side the time of
//! the first sample; delays from mouth to ear count from there. Without the report (it may be lost)
//! they count from the arrival of the first packet until a report arrives. Further reports follow
//! every `rtcp`, with the block of voice metrics of RTCP XR (RFC 3611).
//!
//! Results: columns of the flow (`voice_...`, and those of `NAME.reverse` for the speech that the
//! caller hears), the table `call_window` with the quality over time, and the trace `speech` with
//! each packet's fate.
//!
//! Deviations: there is no signalling (a call cannot be refused) and no echo canceller; the
//! interval between reports is not random.
//!
//! ```toml
//! app = { kind = "voice", codec = "G.729A", playout = { kind = "fixed", delay = "80 ms" } }
//! ```

use super::{Actions, Answers, App, Arrival, Demand, End, Event, Workload};
use bentpipe_core::{Column, Count, Problems, Real, Report, Sample, Span, Stream, Table, Tables, Time};
use bentpipe_stage::packet::datagram::Written;
use bentpipe_voice::codec::{self, find, Codec, Frames, CODECS};
use bentpipe_voice::playout;
use bentpipe_voice::rtcp::{self, Block, Compound, SenderInfo, VoipMetrics};
use bentpipe_voice::rtp::{self, Rtp};
use bentpipe_voice::stream::{Clocks, Numbers, Origin, PacketFate, Receiver, Sender, SenderSettings, Totals};
use bentpipe_voice::talker::{self, Side, Spurts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A telephone call with speech in both directions over RTP, rated by the E-model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Speech codec: "G.711u" (the default), "G.711a", "G.711u+PLC", "G.711a+PLC", "iLBC-20",
    /// "iLBC-30", "GSM-FR", "GSM-EFR", "AMR-12.2", "Opus-10", "Opus-8", "G.729A" or "G.723.1".
    pub codec: String,
    /// Number of codec frames in a packet, 1 to 24. If unset, the smallest number that contains 20
    /// ms of speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// Talk spurts of both sides. Default: a conversation by ITU-T P.59.
    pub talker: talker::Config,
    /// True if packets without speech are not sent (silence suppression). If false, the talker has
    /// no effect. Default true.
    pub silence_suppression: bool,
    /// True if suppressed silence begins with comfort noise, repeated at the codec's interval.
    /// Default true.
    pub comfort_noise: bool,
    /// De-jitter buffer at both ends. Default: a fixed buffer of 60 ms.
    pub playout: playout::Config,
    /// Skew: rate difference of the clock at the flow's destination from that at its source, in
    /// parts per million; positive if it is faster. Default 0.
    pub skew: Real<-1_000_000, 1_000_000>,
    /// Time between RTCP reports. Default 5 s (RFC 3550, section 6.2). With 0 s there is only the
    /// report at the beginning of a call.
    pub rtcp: Span,
    /// Advantage factor A of the E-model, 0 to 20: the tolerance of users for the convenience of
    /// the access (G.107; up to 20 for places that are hard to reach, over several satellite hops).
    /// Ratings are given with and without it. Default 0.
    pub advantage: Count<0, 20>,
    /// Length of the call. If unset, it lasts until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Span>,
    /// Length of the windows for which the table `call_window` rates the call. Default 10 s.
    pub window: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            codec: "G.711u".to_owned(),
            frames: None,
            talker: talker::Config::default(),
            silence_suppression: true,
            comfort_noise: true,
            playout: playout::Config::default(),
            skew: Real::of(0.0),
            rtcp: Span::from_secs(5),
            advantage: Count::new(0),
            length: None,
            window: Span::from_secs(10),
        }
    }
}

/// The quality of a call for each of its two listeners.
pub static CALL: Table = Table {
    name: "flow_voice",
    entity: "flow",
    about: "at the end of the run, by the ends of a voice flow or a flow of calls: NAME is what the callee heard, NAME.reverse what the \
            caller heard. A listener who heard nothing for 1 s or longer has a MOS of 1. Of a flow of calls, the means over its calls",
    columns: &[
        Column::whole("voice_expected", "packets", "RTP packets that were sent, by their sequence numbers"),
        Column::whole("voice_lost", "packets", "RTP packets that did not arrive"),
        Column::whole("voice_late", "packets", "RTP packets that arrived after their playout time"),
        Column::real("voice_loss", "%", "lost and late packets together, Ppl of the E-model"),
        Column::real("voice_burst_ratio", "1", "BurstR of the E-model: mean run of lost and late packets over that of random losses"),
        Column::real("voice_jitter", "s", "interarrival jitter (RFC 3550), mean over the packets"),
        Column::real("voice_jitter_max", "s", "largest interarrival jitter (RFC 3550)"),
        Column::real("voice_delay", "s", "mean time from mouth to ear: packet, look-ahead, network and de-jitter buffer"),
        Column::real("voice_buffering", "s", "mean time in the de-jitter buffer"),
        Column::real("voice_ie_eff", "1", "effective equipment impairment factor Ie-eff"),
        Column::real("voice_r", "1", "transmission rating R without the advantage factor"),
        Column::real("voice_mos", "1", "mean opinion score of that rating, at least 1"),
        Column::real("voice_r_advantage", "1", "transmission rating R with the advantage factor"),
        Column::real("voice_mos_advantage", "1", "mean opinion score with the advantage factor, at least 1"),
        Column::whole(
            "voice_assumed",
            "1",
            "1 if Ie or Bpl of the codec is an assumption and no value of a standard (iLBC, AMR, Opus: both; GSM-FR: Bpl)",
        ),
        Column::real("voice_round_trip", "s", "last round-trip time by RTCP"),
    ],
};

/// Duration from which a call without arriving packets is rated. Packets of a shorter call may
/// still be in flight.
pub const SILENT: Span = Span::from_secs(1);

/// Returns the row of [`CALL`] for a listener without received speech. The number of sent packets
/// is unknown.
fn silent() -> [f64; 16] {
    let mut row = [f64::NAN; 16];
    let columns = CALL.columns.iter().map(|column| column.name);
    for (value, column) in row.iter_mut().zip(columns) {
        match column {
            "voice_loss" => *value = 100.0,
            "voice_r" | "voice_r_advantage" => *value = 0.0,
            "voice_mos" | "voice_mos_advantage" => *value = 1.0,
            _ => {}
        }
    }
    row
}

/// The quality of a call over time.
pub static WINDOWS: Table = Table {
    name: "call_window",
    entity: "window",
    about: "at the end of the run, for each window of a voice flow and direction in which packets arrived (FLOW.NUMBER)",
    columns: &[
        Column::real("begin", "s", "beginning of the window"),
        Column::whole("expected", "packets", "RTP packets that were sent, by their sequence numbers"),
        Column::whole("lost", "packets", "packets lost, less those of earlier windows that arrived after all"),
        Column::whole("late", "packets", "packets that arrived after their playout time"),
        Column::real("jitter", "s", "interarrival jitter (RFC 3550), mean over the packets"),
        Column::real("delay", "s", "mean time from mouth to ear"),
        Column::real("r", "1", "transmission rating R without the advantage factor, with the burst ratio of the call so far"),
        Column::real("mos", "1", "mean opinion score of that rating, at least 1"),
    ],
};

/// Trace of the playout of each packet of speech.
pub static SPEECH: Table = Table {
    name: "speech",
    entity: "flow",
    about: "when an RTP packet of a voice flow arrives",
    columns: &[
        Column::whole(
            "sequence",
            "1",
            "sequence number of the packet, with its cycles; missing numbers were lost",
        ),
        Column::real(
            "position",
            "s",
            "time from the beginning of the call, by the speaker's clock, to its first sample",
        ),
        Column::real(
            "heard",
            "s",
            "when its first sample is played; null if the packet came too late or twice",
        ),
        Column::whole("noise", "1", "1 if it holds comfort noise, 0 for speech"),
    ],
};

impl Tables for Config {
    const TRACES: &'static [&'static Table] = &[&SPEECH];
    const REPORTS: &'static [&'static Table] = &[&CALL, &WINDOWS];
}

impl Sample for Config {
    const SAMPLE: &'static str =
        r#"codec = "G.729A", frames = 3, playout = "ramjee-4", skew = 20, rtcp = "1 s", advantage = 10"#;
}

impl Config {
    fn codec(&self) -> &'static Codec {
        find(&self.codec).unwrap_or(&CODECS[0])
    }

    fn sending(&self, side: Side) -> SenderSettings {
        let codec = self.codec();
        SenderSettings {
            codec,
            frames: codec.frames(self.frames),
            suppression: self.silence_suppression,
            comfort_noise: self.comfort_noise,
            skew: self.skew_of(side),
        }
    }

    fn skew_of(&self, side: Side) -> f64 {
        match side {
            Side::Caller => 0.0,
            Side::Callee => self.skew.value() * 1e-6,
        }
    }
}

impl Workload for Config {
    fn build(&self, end: End, mut plan: Stream) -> Box<dyn App> {
        let side = match end {
            End::Source => Side::Caller,
            End::Destination => Side::Callee,
        };
        let [caller, callee] = [Numbers::draw(&mut plan), Numbers::draw(&mut plan)];
        let numbers = if side == Side::Caller { caller } else { callee };
        let sending = self.sending(side);
        let clocks = Clocks { own: self.skew_of(side), peer: self.skew_of(side.other()) };
        let receiver = Receiver::new(sending.codec, sending.frames, &self.playout, clocks, None);
        Box::new(Telephone {
            config: self.clone(),
            side,
            sending,
            numbers,
            spurts: Some(self.talker.spurts(side, plan)),
            sender: None,
            receiver,
            listener: Listener::default(),
            begun: None,
            report: Time::MAX,
            sent: (0, 0),
            writes: Written::default(),
        })
    }

    fn is_elastic(&self) -> bool {
        false
    }

    fn writes(&self) -> bool {
        true
    }

    fn demand(&self) -> Option<Demand> {
        let sending = self.sending(Side::Caller);
        let datagram = rtp::HEADER as u32 + sending.payload();
        let activity = match self.silence_suppression {
            true => self.talker.activity().unwrap_or(1.0),
            false => 1.0,
        };
        Some(Demand {
            rate_bit_s: activity * f64::from(datagram) * 8.0 / sending.packet().as_secs_f64(),
            datagram,
        })
    }

    fn answers(&self) -> Answers {
        Answers::Messages(rtp::HEADER as u32 + self.sending(Side::Callee).payload())
    }

    fn measures(&self) -> Option<&'static Table> {
        Some(&SPEECH)
    }

    fn measures_both(&self) -> bool {
        true
    }

    fn check(&self, problems: &mut Problems) {
        codec::check(&self.codec, self.frames, problems);
        for (key, span) in [("window", Some(self.window)), ("length", self.length)] {
            if span == Some(Span::ZERO) {
                problems.add(key, "must be longer than 0 s");
            }
        }
        problems.within("talker", |problems| self.talker.check(problems));
        problems.within("playout", |problems| self.playout.check(problems));
    }
}

/// The received speech of one side of a call.
#[derive(Default)]
struct Listener {
    /// Beginning of the present window, and the completed windows.
    window: Time,
    windows: Vec<(Time, Totals)>,
    /// Sequence number of the last packet, unwrapped.
    sequence: i64,
    /// True if the time of the other side's first sample is known.
    placed: bool,
    /// Time stamp that is the origin of positions in the other side's speech.
    zero: Option<u32>,
    /// Last sender report: the middle 32 bits of its NTP time, and its arrival.
    last: Option<(u32, Time)>,
    /// Numbers of packets expected and lost at the last report.
    reported: (u64, i64),
    round_trip: Option<f64>,
}

/// One side of a call.
struct Telephone {
    config: Config,
    side: Side,
    sending: SenderSettings,
    numbers: Numbers,
    /// Talk spurts of this side, until it begins to speak.
    spurts: Option<Spurts>,
    sender: Option<Sender>,
    receiver: Receiver,
    listener: Listener,
    /// Time at which this side began to speak.
    begun: Option<Time>,
    /// Time of the next report.
    report: Time,
    /// Number of RTP packets sent, and of bytes of their payloads.
    sent: (u32, u32),
    /// Contents of the present datagram.
    writes: Written,
}

impl Telephone {
    /// Begins to speak, and sends the first report.
    fn begin(&mut self, now: Time, actions: &mut Actions) {
        let Some(spurts) = self.spurts.take() else { return };
        self.begun = Some(now);
        self.listener.window = now;
        self.sender = Some(Sender::new(self.sending, self.numbers, spurts, now));
        self.send_report(now, false, actions);
        self.wait(actions);
    }

    /// Returns the time at which the call ends.
    fn end(&self) -> Time {
        self.begun.zip(self.config.length).map_or(Time::MAX, |(begun, length)| begun + length)
    }

    /// Sets the timer to the next event.
    fn wait(&self, actions: &mut Actions) {
        let media = self.sender.as_ref().and_then(Sender::due).unwrap_or(Time::MAX);
        let next = media.min(self.report).min(self.end());
        if next < Time::MAX {
            actions.timer = Some(next);
        }
    }

    fn wake(&mut self, now: Time, actions: &mut Actions) {
        if now >= self.end() {
            self.sender = None;
            self.send_report(now, true, actions);
            self.config.length = None;
            self.report = Time::MAX;
            return;
        }
        match &mut self.sender {
            Some(sender) if sender.due().is_some_and(|due| due <= now) => {
                let media = sender.send();
                self.sent.0 = self.sent.0.wrapping_add(1);
                self.sent.1 = self.sent.1.wrapping_add(media.payload);
                self.writes = Written::new(&media.rtp.write());
                actions.send = rtp::HEADER as u64 + u64::from(media.payload);
            }
            _ if self.report <= now => self.send_report(now, false, actions),
            _ => {}
        }
        self.wait(actions);
    }

    fn send_report(&mut self, now: Time, bye: bool, actions: &mut Actions) {
        let Some(begun) = self.begun else { return };
        let spoken = now.since(begun).as_secs_f64() * (1.0 + self.sending.skew);
        let units = (spoken * f64::from(self.sending.codec.rtp.clock)).round() as i64 as u32;
        let ssrc = self.numbers.ssrc;
        let sender = SenderInfo {
            ntp: rtcp::ntp(now),
            rtp: self.numbers.timestamp.wrapping_add(units),
            packets: self.sent.0,
            bytes: self.sent.1,
        };
        let cname = format!("{ssrc:08x}@bentpipe");
        let mut report = Compound { ssrc, sender: Some(sender), cname, bye, ..Compound::default() };
        if let Some((block, voip)) = self.heard(now) {
            report.blocks.push(block);
            report.voip = Some(voip);
        }
        self.writes = Written::new(&report.write());
        actions.send = self.writes.bytes().len() as u64;
        self.report = match self.config.rtcp {
            Span::ZERO => Time::MAX,
            interval => now + interval,
        };
    }

    /// Returns the report about the other side's stream.
    fn heard(&mut self, now: Time) -> Option<(Block, VoipMetrics)> {
        let (ssrc, jitter, highest) = self.receiver.status()?;
        let totals = self.receiver.totals();
        let (expected, lost) = std::mem::replace(&mut self.listener.reported, (totals.expected, totals.lost));
        let (expected, lost) = (totals.expected - expected, (totals.lost - lost).max(0) as u64);
        let (last, since) = match self.listener.last {
            Some((last, came)) => (last, rtcp::middle(rtcp::ntp(Time::ZERO + now.since(came)))),
            None => (0, 0),
        };
        let block = Block {
            ssrc,
            fraction: (lost * 256 / expected.max(1)).min(255) as u8,
            lost: totals.lost as i32,
            highest,
            jitter,
            last,
            since,
        };
        let quality = totals.quality(self.sending.codec, 0.0);
        let packet = self.sending.packet().as_secs_f64();
        let round_trip = self.listener.round_trip.unwrap_or(0.0);
        let voip = VoipMetrics::of(ssrc, &totals, &self.receiver.clusters(), &quality, packet, round_trip);
        Some((block, voip))
    }

    /// Handles a report of the other side.
    fn control(&mut self, now: Time, bytes: &[u8]) {
        let Some(report) = Compound::read(bytes) else { return };
        if let Some(sender) = report.sender {
            self.listener.last = Some((rtcp::middle(sender.ntp), now));
            if !std::mem::replace(&mut self.listener.placed, true) {
                self.listener.zero.get_or_insert(sender.rtp);
                self.receiver.set_origin(Origin { timestamp: sender.rtp, at: rtcp::moment(sender.ntp) });
            }
        }
        let own = report.blocks.iter().find(|block| block.ssrc == self.numbers.ssrc && block.last != 0);
        if let Some(block) = own {
            let trip = rtcp::middle(rtcp::ntp(now)).wrapping_sub(block.last).wrapping_sub(block.since);
            self.listener.round_trip = Some(f64::from(trip.cast_signed().max(0)) / 65_536.0);
        }
    }

    fn media(&mut self, now: Time, rtp: &Rtp, payload: u32, row: &mut Vec<f64>) {
        while now >= self.listener.window + self.config.window {
            if let Some(totals) = self.receiver.window() {
                self.listener.windows.push((self.listener.window, totals));
            }
            self.listener.window += self.config.window;
        }
        let zero = *self.listener.zero.get_or_insert(rtp.timestamp);
        let heard = match self.receiver.receive(now, rtp) {
            PacketFate::Played { at } => at.as_secs_f64(),
            PacketFate::Late | PacketFate::Duplicate => f64::NAN,
            PacketFate::Foreign => return,
        };
        self.listener.sequence = rtp::unwrapped_sequence(self.listener.sequence, rtp.sequence);
        let codec = self.sending.codec;
        let position = f64::from(rtp.timestamp.wrapping_sub(zero).cast_signed()) / f64::from(codec.rtp.clock);
        let noise = self.sending.is_noise(rtp.payload_type, payload);
        row.extend([self.listener.sequence as f64, position, heard, f64::from(u8::from(noise))]);
    }
}

impl App for Telephone {
    fn on(&mut self, now: Time, _: u16, event: Event, _: &mut Stream, actions: &mut Actions) {
        match event {
            Event::Start => actions.connect = true,
            Event::Connected if self.side == Side::Caller => self.begin(now, actions),
            Event::Timer => self.wake(now, actions),
            _ => {}
        }
    }

    fn arrived(
        &mut self,
        now: Time,
        _connection: u16,
        arrival: &Arrival<'_>,
        row: &mut Vec<f64>,
        _stream: &mut Stream,
        actions: &mut Actions,
    ) {
        if rtcp::is_control(arrival.content) {
            self.control(now, arrival.content);
        } else if let Ok((rtp, _, payload)) = Rtp::read(arrival.content, arrival.bytes as usize) {
            self.media(now, &rtp, payload as u32, row);
        }
        self.begin(now, actions);
    }

    fn writes(&mut self) -> Written {
        std::mem::take(&mut self.writes)
    }

    fn written(&self, datagram: &[u8]) -> usize {
        match rtcp::is_control(datagram) {
            true => datagram.len(),
            false => rtp::HEADER,
        }
    }

    fn report_incoming(&self, name: &str, lasted: Span, report: &mut Report) {
        let (codec, totals) = (self.sending.codec, self.receiver.totals());
        if totals.expected == 0 {
            if lasted >= SILENT {
                report.row(&CALL, name, &silent());
            }
            return;
        }
        let quality = totals.quality(codec, self.config.advantage.value() as f64);
        let values = [
            totals.expected as f64,
            totals.lost as f64,
            totals.late as f64,
            100.0 * (totals.loss() + totals.late_fraction()),
            totals.bursts.ratio(),
            totals.jitter(),
            totals.jitter_max,
            totals.delay(),
            totals.buffering(),
            quality.ie_eff,
            quality.r,
            quality.mos,
            quality.r_advantage,
            quality.mos_advantage,
            f64::from(u8::from(codec.assumed.is_some())),
            self.listener.round_trip.unwrap_or(f64::NAN),
        ];
        report.row(&CALL, name, &values);
        let last = self.receiver.window_so_far().map(|totals| (self.listener.window, totals));
        for (number, (begin, totals)) in self.listener.windows.iter().copied().chain(last).enumerate() {
            let quality = totals.quality(codec, 0.0);
            let values = [
                begin.as_secs_f64(),
                totals.expected as f64,
                totals.lost as f64,
                totals.late as f64,
                totals.jitter(),
                totals.delay(),
                quality.r,
                quality.mos,
            ];
            report.row(&WINDOWS, &format!("{name}.{number}"), &values);
        }
    }
}
