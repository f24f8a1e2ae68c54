//! Facts of one direction of a link: its properties in numbers.

use super::acm::{self, Modcod};
use super::framing::Framed;
use super::series::{self, Playback};
use super::{arq, framing, Config, Ends};
use bentpipe_core::{Span, Time};
use bentpipe_stage::facts::{Access, Course, Hop, Traffic};

impl Config {
    /// Returns the hop over the direction between these ends; results call it `part`.
    pub fn facts(&self, part: &str, ends: Ends<'_>, traffic: Traffic) -> Hop {
        let frames = self.acm.as_ref().filter(|_| self.framing.has_frames());
        let clear = frames.map(|acm| acm.in_clear_sky(None).unwrap_or(acm.most_robust()));
        let framed = self.framing.framed(clear.map(Modcod::frame_bytes), traffic.bytes);
        let hop = self.framed(part, ends, traffic, framed, self.framing.longest());
        hop.within(if frames.is_some() { 1.0 } else { framed.efficiency })
    }

    /// Returns the hop over the direction with retransmission of frames. Its loss is that of a
    /// frame.
    pub fn repeating(&self, part: &str, ends: Ends<'_>, traffic: Traffic) -> Hop {
        let frames = arq::Frames::of(&self.framing);
        let framed = frames.framed(traffic.bytes);
        let below = Config { framing: framing::Config::default(), ..self.clone() };
        below.framed(part, ends, traffic, framed, frames.longest()).within(framed.efficiency)
    }

    /// Returns the hop, with the rate of the units in which packets travel.
    fn framed(&self, part: &str, ends: Ends<'_>, traffic: Traffic, framed: Framed, longest: u32) -> Hop {
        // Quick-Start changes the start of a flow, which belongs to the facts of the flow.
        let Config {
            rate,
            delay,
            jitter,
            reorder,
            queue,
            framing,
            error,
            quick_start: _,
            holds,
            trace,
            slots,
            acm,
        } = self;
        let packets = rate.bytes_in(traffic.run) / u64::from(traffic.bytes.max(1));
        let mut hop = Hop {
            part: part.to_owned(),
            rate_bit_s: Course::constant(rate.bits_per_second() as f64),
            delay_s: Course::constant(delay.as_secs_f64()),
            loss: framed.loss(error, traffic.bytes, packets),
            queue: queue.facts(**rate, traffic.dscp),
            access: Vec::new(),
            shared: Vec::new(),
            notes: error.notes(),
        };
        if let Some(trace) = trace {
            follow(trace.build(**rate, *delay), trace, traffic.run, &mut hop);
        }
        if let Some(slots) = slots {
            let open = slots.open();
            hop.rate_bit_s = hop.rate_bit_s.map(|rate| rate * open);
            let holes =
                if open < 1.0 { format!(", with a hole every {}", slots.every) } else { String::new() };
            hop.notes.push(format!("its slots vary the rate, of which this is the mean{holes}"));
        }
        if let Some(acm) = acm {
            let symbols = rate.bits_per_second() as f64;
            let of = |modcod: &Modcod| {
                symbols * modcod.efficiency * acm::frames::efficiency(framing, modcod, traffic.bytes)
            };
            let played = acm.course(None, &[ends.to], ends.from, traffic.run, of);
            hop.rate_bit_s = played.rate;
            hop.access.extend(played.acm.map(Access::Acm));
            hop.notes.extend(played.notes);
        }
        if jitter.mean() > 0.0 {
            // The effect of a queue's order is unknown; keeping the order adds a little to the
            // mean.
            hop.delay_s = hop.delay_s.map(|delay| delay + jitter.mean());
            let order = if *reorder { ", which reorders packets" } else { "" };
            hop.notes.push(format!(
                "its jitter ({}) varies the delay, of which this is the mean{order}",
                jitter.kind()
            ));
        }
        if let Some(most) = holds {
            let most = most.value();
            hop.notes.push(format!("it holds at most {most} packets, those on their way included"));
        }
        if framing.idles() {
            let frame = framed.unit.map_or(Span::ZERO, |unit| rate.span_of(u64::from(unit)));
            hop.notes.push(format!(
                "a packet waits up to {frame} for the end of an idle frame, which is not in its delay"
            ));
        }
        if traffic.bytes > longest {
            hop.notes.push(format!("packets of {} B are longer than the framing carries", traffic.bytes));
        }
        hop.shared.push((part.to_owned(), hop.rate_bit_s.mean));
        hop
    }
}

/// Applies rate, delay and loss of a trace to a hop.
fn follow(mut playback: Playback, trace: &series::Config, run: Span, hop: &mut Hop) {
    let end = Time::ZERO + run;
    let (mut at, mut loss) = (Time::ZERO, hop.loss);
    let (mut rate, mut delay) = (hop.rate_bit_s.start, hop.delay_s.start);
    let (mut rates, mut delays, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let next = playback.next().filter(|next| *next < end);
        let until = next.unwrap_or(end);
        if until > at {
            let seconds = until.since(at).as_secs_f64();
            rates.push((rate, seconds));
            delays.push((delay, seconds));
            losses.push((loss, seconds));
        }
        let Some(next) = next else { break };
        at = next;
        if let Some(sample) = playback.take(next) {
            (rate, delay) = (sample.rate.bits_per_second() as f64, sample.delay.as_secs_f64());
            loss = sample.error.map_or(loss, |error| error.expected_loss(1, 0.0));
        }
    }
    hop.rate_bit_s = Course::of(rates).unwrap_or(hop.rate_bit_s);
    hop.delay_s = Course::of(delays).unwrap_or(hop.delay_s);
    let losses = Course::of(losses);
    hop.loss = losses.map_or(hop.loss, |course| course.mean);
    let varying = [("rate", hop.rate_bit_s.varies()), ("delay", hop.delay_s.varies())];
    let varying = varying.into_iter().chain([("error", losses.is_some_and(|course| course.varies()))]);
    for (key, _) in varying.filter(|(key, varies)| *varies && trace.drives(key)) {
        hop.notes.push(format!(
            "its trace varies the {}, of which this is the mean",
            key.replace("error", "loss")
        ));
    }
}
