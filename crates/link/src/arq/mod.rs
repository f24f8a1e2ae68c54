//! Retransmission on a link: go-back-n by the rules of COP-1 (CCSDS 232.1-B), in frames of
//! Proximity-1 (211.0-B), in both directions.
//!
//! Each packet is one frame with a number. The sender (FOP-1) keeps the frames that are not
//! acknowledged, at most `window` of them. The receiver (FARM-1) accepts the frame that it expects,
//! V(R), and discards every other. After each frame it sends a report. The report contains N(R) =
//! V(R), which acknowledges all frames before it, and the retransmit flag, which is set if a frame
//! was discarded since the last accepted one. Then:
//!
//! - A report that acknowledges frames removes them from the sender, and ends a retransmission in
//!   progress.
//! - A report with the retransmit flag begins a retransmission, unless one is in progress: the
//!   sender goes back to the first unacknowledged frame and retransmits everything from there.
//! - A timer runs from the end of each frame. When it expires, the sender also goes back. The timer
//!   covers the cases without a report: a lost frame with no frame after it, a lost retransmission,
//!   and lost reports.
//!
//! Packets therefore arrive complete and in order, whichever frames and reports are lost, as long
//! as some frames cross in both directions. They wait in the link's queue until the window is open
//! and the frame before them has been sent.
//!
//! Let R frames be sent between the end of a lost frame and its retransmission, and let frames be
//! lost with probability p. The link then carries (1 - p) / (1 + p R) of its frame rate, as long as
//! the window does not close and losses are rare: a frame that is lost twice waits for the timer.
//!
//! Bytes: 3 of sync marker, 5 of header, the packet, 4 of CRC-32. A report is a frame with a
//! control word (PLCW) of 2 bytes. With a framing of kind `space`, the packet has its own header,
//! and the link's code protects the frame ([`Frames`]). The link's rate counts all these bytes, and
//! its errors affect these frames. Reports have priority over data.
//!
//! Sources: CCSDS 232.1-B-2, Communications Operation Procedure-1, from published excerpts: the
//! windows (K <= PW, W even and at most 254, that is K <= 127; 5.1.12 and 6.1.8), the receiver's
//! reaction to N(S) equal to V(R), in the positive and in the negative window (figure 6-1), the
//! reset of the retransmit flag (6.1), and the start of a retransmission by a report with the flag
//! or by the timer (5.1). The state table of FOP-1 was not available. CCSDS 211.0-B, Proximity-1
//! Space Link Protocol - Data Link Layer, from general knowledge.
//!
//! Deviations: a report follows each frame, and none is sent without one. The procedure is
//! initialised at the start. There is no Transmission_Limit, after which it would give up. Numbers
//! do not wrap after 255; this makes no difference for a window of up to 127 frames over a link
//! that keeps the order, and the lockout area is never reached. A frame contains one packet, and a
//! packet longer than a frame's data is dropped, not segmented.
//!
//! ```toml
//! framing = { kind = "space", frame = "proximity-1", code = { kind = "convolutional" } }
//! error = { kind = "coded", eb_n0_db = 3.0, code = { kind = "convolutional" } }
//! arq = { window = 60 }
//! ```

mod frames;

pub use frames::{refused, Frames};

use super::{framing, Link, TOO_LONG};
use crate::queue;
use crate::queue::buffer::{Buffer, Effects};
use bentpipe_core::{Column, Count, FlowId, Report, Span, Stream, Table, Time, Whole};
use bentpipe_stage::{Body, Change, Content, Held, Outbox, Packet, Payload, Port, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Retransmission of lost frames: go-back-n by COP-1 (CCSDS 232.1-B) in frames of Proximity-1, in
/// both directions. Packets arrive complete and in order. Each packet takes 12 bytes more, and the
/// link also carries reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Arq")]
pub struct Config {
    /// Window: maximum number of unacknowledged frames (FOP_Sliding_Window_Width), 1 to 127.
    /// Default 127.
    pub window: Count<1, 127>,
    /// Timer: time from the end of an unacknowledged frame to its retransmission (T1_Initial). If
    /// unset, the delays of both directions plus the time of the longest frame so far and of a
    /// report in the other direction, evaluated when the frame is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer: Option<Span>,
}

impl Default for Config {
    fn default() -> Config {
        Config { window: Count::new(127), timer: None }
    }
}

/// Counters of the retransmissions of a link's direction.
pub static REPORT: Table = Table {
    name: "arq",
    entity: "link",
    about: "at the end of the run, by each direction of a link with retransmissions",
    columns: &[
        Column::whole("frames", "1", "frames with packets that were sent for the first time"),
        Column::whole("retransmissions", "1", "frames that were retransmitted"),
        Column::whole("delivered", "1", "packets that were delivered"),
        Column::whole(
            "discarded",
            "1",
            "frames that the receiver discarded since one before them was missing",
        ),
        Column::whole("duplicates", "1", "frames that the receiver had accepted before"),
        Column::whole("reports", "1", "reports that the receiver sent over the other direction"),
        Column::whole("timeouts", "1", "retransmissions that the timer began"),
        Column::whole("arq_drops", "packets", "packets dropped by the queue"),
        Column::whole(
            "arq_queue_max",
            "packets",
            "maximum number of packets that waited for their first transmission",
        ),
    ],
};

/// A frame with its packet's number; the packet stays with the sender.
#[derive(Clone, Copy, Debug)]
struct Frame(u64);

/// A report of the receiver (PLCW).
#[derive(Clone, Copy, Debug)]
struct Control {
    /// N(R), the number of the frame that the receiver expects.
    expects: u64,
    /// The retransmit flag, set after a discarded frame.
    retransmit: bool,
}

impl Payload for Frame {
    fn content(&self) -> Content {
        Content::Signalling
    }
}

impl Payload for Control {
    fn content(&self) -> Content {
        Content::Signalling
    }
}

#[derive(Clone, Copy, Default)]
struct Counters {
    frames: u64,
    retransmissions: u64,
    delivered: u64,
    discarded: u64,
    duplicates: u64,
    reports: u64,
    timeouts: u64,
    drops: u64,
    queue_max: u64,
}

/// An unacknowledged frame: its packet, unless that has been delivered, and its size in bytes.
struct Unacknowledged {
    packet: Option<Whole<Packet>>,
    bytes: u32,
}

/// The sender and the receiver of packets in one direction.
struct Direction {
    name: String,
    frames: Frames,
    waiting: Box<dyn Buffer>,
    stream: Stream,
    /// NN(R), the number of the first unacknowledged frame, and the frames from there to V(S).
    first: u64,
    kept: VecDeque<Unacknowledged>,
    /// Number of the next frame to send; less than V(S) in a retransmission.
    next: u64,
    /// True if a retransmission has begun and nothing has been acknowledged since.
    retransmitting: bool,
    expires: Option<Time>,
    /// Size of the longest frame sent so far.
    longest: u32,
    /// V(R), the number of the frame that the receiver expects, its retransmit flag, and whether a
    /// report is due.
    expects: u64,
    retransmit: bool,
    to_report: bool,
    counters: Counters,
}

impl Direction {
    fn new(name: &str, config: &super::Config, stream: Stream) -> Direction {
        Direction {
            name: name.to_owned(),
            frames: Frames::of(&config.framing),
            waiting: config.queue.build(*config.rate).buffer(),
            stream,
            first: 0,
            kept: VecDeque::new(),
            next: 0,
            retransmitting: false,
            expires: None,
            longest: 0,
            expects: 0,
            retransmit: false,
            to_report: false,
            counters: Counters::default(),
        }
    }

    fn keep(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        let mut effects = Effects::new(&mut self.stream, out);
        self.waiting.enqueue(now, packet, &mut effects);
        self.counters.drops += effects.drops;
        self.counters.queue_max = self.counters.queue_max.max(self.waiting.held().packets);
    }

    /// Returns V(S), the number of the next new frame.
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Returns the time from which a frame can be sent, if there is one.
    fn ready(&self, window: u64) -> Option<Time> {
        if self.next < self.end() {
            return Some(Time::ZERO);
        }
        let open = (self.kept.len() as u64) < window;
        self.waiting.head(Time::ZERO).filter(|_| open).map(|head| head.at)
    }

    /// Returns the number and the size of the frame to send now.
    fn take(&mut self, now: Time, window: u64, out: &mut Outbox) -> Option<(u64, u32)> {
        if self.ready(window)? > now {
            return None;
        }
        if self.next == self.end() {
            let mut effects = Effects::new(&mut self.stream, out);
            let packet = self.waiting.dequeue(now, &mut effects);
            self.counters.drops += effects.drops;
            let (packet, _) = packet?;
            let bytes = self.frames.packet(packet.size);
            self.kept.push_back(Unacknowledged { packet: Some(Whole::new(packet)), bytes });
            self.counters.frames += 1;
        } else {
            self.counters.retransmissions += 1;
        }
        let number = self.next;
        self.next += 1;
        let bytes = self.kept[(number - self.first) as usize].bytes;
        self.longest = self.longest.max(bytes);
        Some((number, bytes))
    }

    fn go_back(&mut self) {
        (self.next, self.retransmitting, self.expires) = (self.first, true, None);
    }

    /// Handles an arriving report at the sender (FOP-1).
    fn reported(&mut self, control: Control) {
        if control.expects > self.first {
            self.kept.drain(..(control.expects - self.first) as usize);
            self.first = control.expects;
            self.next = self.next.max(self.first);
            self.retransmitting = false;
        }
        if self.kept.is_empty() {
            self.expires = None;
        } else if control.retransmit && !self.retransmitting {
            self.go_back();
        }
    }

    /// Handles an arriving frame at the receiver (FARM-1). Returns its packet if the frame is
    /// accepted.
    fn accept(&mut self, number: u64) -> Option<Packet> {
        self.to_report = true;
        if number != self.expects {
            self.retransmit |= number > self.expects;
            self.counters.discarded += u64::from(number > self.expects);
            self.counters.duplicates += u64::from(number < self.expects);
            return None;
        }
        (self.expects, self.retransmit) = (number + 1, false);
        self.counters.delivered += 1;
        // The sender still has every unacknowledged frame.
        let kept = self.kept.get_mut((number - self.first) as usize)?;
        kept.packet.take().map(Whole::into_inner)
    }
}

/// A link with retransmissions in both directions. Input port 0 takes packets from the link's
/// `from`, input port 1 those from its `to`. Output port 0 leads to `to`, output port 1 to `from`.
/// Output ports 2 and 3 lead to the input ports of the same numbers, for frames that have crossed
/// the link.
pub struct Arq {
    window: u64,
    timer: Option<Span>,
    links: [Link; 2],
    directions: [Direction; 2],
}

/// Returns the configuration of the underlying link, which sends frames. The queue is in front of
/// the procedure, and the procedure makes the frames.
pub fn below(config: &super::Config) -> super::Config {
    let queue = queue::Config::Unlimited(Default::default());
    super::Config { queue, framing: framing::Config::default(), ..config.clone() }
}

impl Arq {
    /// Creates the stage from one link per direction, made from the configuration of [`below`],
    /// with their names and the streams of their queues.
    pub fn new(
        config: &Config,
        links: [Link; 2],
        configs: [&super::Config; 2],
        names: [&str; 2],
        streams: [Stream; 2],
    ) -> Arq {
        let [forward, back] = links;
        let [one, other] = streams;
        Arq {
            window: config.window.value(),
            timer: config.timer,
            links: [forward.leaving_by(Port(2)), back.leaving_by(Port(3))],
            directions: [
                Direction::new(names[0], configs[0], one),
                Direction::new(names[1], configs[1], other),
            ],
        }
    }

    /// Sends everything that may be sent now in both directions.
    fn proceed(&mut self, now: Time, out: &mut Outbox) {
        for side in [0, 1] {
            while self.links[side].free_at() <= now {
                let report = &mut self.directions[1 - side];
                let (body, bytes) = if std::mem::take(&mut report.to_report) {
                    report.counters.reports += 1;
                    let control = Control { expects: report.expects, retransmit: report.retransmit };
                    (Body::layer(control), self.directions[side].frames.report())
                } else if let Some((number, bytes)) = self.directions[side].take(now, self.window, out) {
                    (Body::layer(Frame(number)), bytes)
                } else {
                    break;
                };
                let frame = body.of::<Frame>().is_some();
                let packet =
                    Packet { birth: now, size: bytes, flow: FlowId(u32::MAX), body, ..Packet::default() };
                out.create_held(&packet);
                self.links[side].receive(now, Port(0), packet, out);
                if frame {
                    let wait = self.timer.unwrap_or_else(|| self.round_trip(side));
                    self.directions[side].expires = Some(self.links[side].free_at() + wait);
                }
            }
        }
    }

    /// Returns the longest time from the end of a frame to its report.
    fn round_trip(&self, side: usize) -> Span {
        let [there, back] = [&self.links[side], &self.links[1 - side]];
        let report = self.directions[1 - side].frames.report();
        // The report waits for the frame in transmission.
        let bytes = self.directions[1 - side].longest.max(report) + report;
        there.delay() + back.delay() + back.rate().span_of(u64::from(bytes))
    }

    /// Returns the time of the next action of a side, if any.
    fn next(&self, side: usize) -> Option<Time> {
        let direction = &self.directions[side];
        let report = self.directions[1 - side].to_report.then_some(Time::ZERO);
        let ready = report.or_else(|| direction.ready(self.window));
        let ready = ready.map(|at| at.max(self.links[side].free_at()));
        let next = [ready, direction.expires, self.links[side].next_wake()].into_iter().flatten().min();
        next.filter(|at| *at < Time::MAX)
    }
}

impl Stage for Arq {
    fn receive(&mut self, now: Time, port: Port, packet: Packet, out: &mut Outbox) {
        let number = usize::from(port.0);
        if number < 2 {
            if packet.size > self.directions[number].frames.longest() {
                return out.drop(packet, TOO_LONG);
            }
            self.directions[number].keep(now, packet, out);
        } else {
            let packet = out.consume(packet);
            if let Some(Frame(frame)) = packet.body.of() {
                if let Some(packet) = self.directions[number - 2].accept(*frame) {
                    out.send(Port(port.0 - 2), packet);
                }
            } else if let Some(control) = packet.body.of::<Control>() {
                // The report is about the other direction.
                self.directions[3 - number].reported(*control);
            }
        }
        self.proceed(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outbox) {
        let mut crossed = false;
        for link in &mut self.links {
            if link.next_wake().is_some_and(|at| at <= now) {
                link.wake(now, out);
                crossed = true;
            }
        }
        // Frames that have crossed return through an input port, so a timer handles a report that
        // arrives at its time first.
        for direction in self.directions.iter_mut().filter(|_| !crossed) {
            if direction.expires.is_some_and(|at| at <= now) {
                direction.counters.timeouts += 1;
                direction.go_back();
            }
        }
        self.proceed(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        [self.next(0), self.next(1)].into_iter().flatten().min()
    }

    fn change(&mut self, now: Time, change: Change<'_>, out: &mut Outbox) {
        let (before, after) = change.of::<Vec<[super::Config; 2]>>();
        for side in [0, 1] {
            let (before, after) = (&before[0][side], &after[0][side]);
            if before == after {
                continue;
            }
            let inner = [below(before), below(after)];
            self.links[side].change(now, Change::new(&inner[0], &inner[1]), out);
            let direction = &mut self.directions[side];
            direction.waiting.set_rate(*after.rate);
            if before.queue != after.queue {
                let queue = after.queue.build(*after.rate).buffer();
                let waiting = std::mem::replace(&mut direction.waiting, queue).drain();
                waiting.into_iter().for_each(|packet| direction.keep(now, packet, out));
            }
        }
    }

    fn held(&self) -> Held {
        let mut held = Held::default();
        let links = self.links.iter().map(Stage::held);
        for one in links.chain(self.directions.iter().map(|direction| direction.waiting.held())) {
            held.packets += one.packets;
            held.bytes += one.bytes;
        }
        for kept in self.directions.iter().flat_map(|direction| &direction.kept) {
            kept.packet.iter().for_each(|packet| packet.read(|packet| held.add(packet)));
        }
        held
    }

    fn finish(&mut self, now: Time, out: &mut Outbox) {
        self.links.iter_mut().for_each(|link| link.finish(now, out));
    }

    fn report(&self, now: Time, report: &mut Report) {
        for (link, Direction { name, counters, .. }) in self.links.iter().zip(&self.directions) {
            link.report(now, report);
            let Counters { frames, retransmissions, delivered, discarded, duplicates, .. } = counters;
            let Counters { reports, timeouts, drops, queue_max, .. } = counters;
            let values = [frames, retransmissions, delivered, discarded, duplicates, reports, timeouts];
            let values: Vec<f64> =
                values.into_iter().chain([drops, queue_max]).map(|count| *count as f64).collect();
            report.row(&REPORT, name, &values);
        }
    }
}
