//! The pseudo-code of RFC 9332, appendix A.2, line by line, as a second evaluation of the same
//! arrivals. Names are those of the RFC. It marks and drops by the deterministic `recur`, and
//! updates p' by a timer.

use bentpipe_stage::Ecn;
use std::collections::VecDeque;

/// An arrival: time in seconds, bytes, ECN field.
pub type Arrival = (f64, u32, Ecn);

/// Numbers of packets with one of the four ECN fields, by the value of the field on arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub marked: [u32; 4],
    pub dropped: [u32; 4],
}

/// A packet with its time stamp.
#[derive(Clone, Copy)]
struct Pkt {
    stamp: f64,
    bytes: u32,
    ecn: Ecn,
}

#[derive(Default)]
struct Fifo {
    pkts: VecDeque<Pkt>,
    count: f64,
}

impl Fifo {
    fn time(&self, now: f64) -> f64 {
        self.pkts.front().map_or(0.0, |pkt| now - pkt.stamp)
    }

    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        if self.count > 1.0 {
            self.count -= 1.0;
            return true;
        }
        false
    }
}

/// The parameters and state of appendix A.
struct DualPi2 {
    k: f64,
    target: f64,
    alpha: f64,
    beta: f64,
    p_cmax: f64,
    p_lmax: f64,
    min_th: f64,
    range: f64,
    th_len: usize,
    p: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    lq: Fifo,
    cq: Fifo,
    /// Bytes that left each queue since both have had packets, for a weighted round robin of 9 : 1.
    turn: (f64, f64),
}

impl DualPi2 {
    fn enqueue(&mut self, now: f64, bytes: u32, ecn: Ecn) {
        let pkt = Pkt { stamp: now, bytes, ecn };
        if (ecn as u8) % 2 == 1 {
            self.lq.pkts.push_back(pkt);
        } else {
            self.cq.pkts.push_back(pkt);
        }
    }

    fn scheduler_chooses_lq(&mut self) -> bool {
        let Some(classic) = self.cq.pkts.front() else {
            self.turn = (0.0, 0.0);
            return true;
        };
        if self.lq.pkts.is_empty() {
            self.turn = (0.0, 0.0);
            return false;
        }
        self.turn.0 < 9.0 * (self.turn.1 + f64::from(classic.bytes))
    }

    fn dequeue(&mut self, now: f64, counts: &mut Counts) -> Option<u32> {
        while !self.lq.pkts.is_empty() || !self.cq.pkts.is_empty() {
            if self.scheduler_chooses_lq() {
                let queued = self.lq.pkts.len();
                let pkt = self.lq.pkts.pop_front()?;
                if self.p_cl < self.p_lmax {
                    let native = if queued > self.th_len { self.laqm(now - pkt.stamp) } else { 0.0 };
                    let p_l = f64::max(native, self.p_cl);
                    if self.lq.recur(p_l) {
                        counts.marked[pkt.ecn as usize] += 1;
                    }
                } else {
                    if self.lq.recur(self.p_c) {
                        counts.dropped[pkt.ecn as usize] += 1;
                        continue;
                    }
                    if self.lq.recur(self.p_cl.min(1.0)) {
                        counts.marked[pkt.ecn as usize] += 1;
                    }
                }
                self.turn.0 += f64::from(pkt.bytes);
                return Some(pkt.bytes);
            }
            let pkt = self.cq.pkts.pop_front()?;
            if self.cq.recur(self.p_c) {
                if pkt.ecn == Ecn::NotEct || self.p_c >= self.p_cmax {
                    counts.dropped[pkt.ecn as usize] += 1;
                    continue;
                }
                counts.marked[pkt.ecn as usize] += 1;
            }
            self.turn.1 += f64::from(pkt.bytes);
            return Some(pkt.bytes);
        }
        None
    }

    fn laqm(&self, qdelay: f64) -> f64 {
        if qdelay >= self.min_th + self.range {
            1.0
        } else if qdelay > self.min_th {
            (qdelay - self.min_th) / self.range
        } else {
            0.0
        }
    }

    fn update(&mut self, now: f64) {
        let curq = f64::max(self.lq.time(now), self.cq.time(now));
        self.p += self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.p_cl = self.k * self.p;
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }
}

/// Sends arrivals through a link with the RFC's parameters for an RTT_max of 100 ms. Returns the
/// marks and drops.
pub fn evaluate(arrivals: &[Arrival], bits_per_second: f64) -> Counts {
    let (k, target, rtt_max) = (2.0, 0.015, 0.1);
    let t_update = f64::min(target, rtt_max / 3.0);
    let mut dualpi2 = DualPi2 {
        k,
        target,
        alpha: 0.1 * t_update / (rtt_max * rtt_max),
        beta: 0.3 / rtt_max,
        p_cmax: f64::min(1.0 / (k * k), 1.0),
        p_lmax: 1.0,
        min_th: 800e-6,
        range: 400e-6,
        th_len: 1,
        p: 0.0,
        p_cl: 0.0,
        p_c: 0.0,
        prevq: 0.0,
        lq: Fifo::default(),
        cq: Fifo::default(),
        turn: (0.0, 0.0),
    };
    let mut counts = Counts::default();
    let (mut free, mut timer) = (0.0, t_update);
    let mut arrivals = arrivals.iter().peekable();
    loop {
        let waiting = !dualpi2.lq.pkts.is_empty() || !dualpi2.cq.pkts.is_empty();
        let arrival = arrivals.peek().map_or(f64::INFINITY, |(at, ..)| *at);
        let departure = if waiting { free } else { f64::INFINITY };
        if arrival.min(departure) == f64::INFINITY {
            return counts;
        }
        if timer <= arrival.min(departure) {
            dualpi2.update(timer);
            timer += t_update;
        } else if departure < arrival {
            if let Some(bytes) = dualpi2.dequeue(departure, &mut counts) {
                free = departure + 8.0 * f64::from(bytes) / bits_per_second;
            }
        } else if let Some((at, bytes, ecn)) = arrivals.next() {
            dualpi2.enqueue(*at, *bytes, *ecn);
            free = free.max(*at);
        }
    }
}
