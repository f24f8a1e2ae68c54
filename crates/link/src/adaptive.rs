//! Adaptive coding and modulation on a link between two nodes: the part of [`super::Link`] that
//! adapts.
//!
//! A packet waits in the queue until its transmission starts. It is then sent with the MODCOD that
//! the loop of the receiver has chosen ([`super::acm`]). A packet that arrives below the threshold
//! of its MODCOD is lost. In an outage nothing is sent, and packets wait in the queue, whose
//! discipline limits their number.

use super::acm::frames::{Ending, Frames};
use super::acm::{self, Adaptation, Modcod};
use super::config::{Config, Ends};
use super::framing::{Added, Unit};
use super::transmitter::Transmitter;
use bentpipe_core::{Probe, Rate, Time};
use bentpipe_stage::{Held, Outbox, Packet};
use std::collections::VecDeque;

/// A packet whose transmission has started, the time at which it will have been sent, and its
/// units.
pub(super) struct Started {
    pub packet: Packet,
    pub sent: Time,
    pub added: Option<Added>,
}

/// The part of a link that adapts to the signal.
pub(super) struct Adaptive {
    /// Symbol rate, expressed as the bit rate at one bit per symbol.
    pub symbols: Rate,
    pub adaptation: Adaptation,
    frames: Option<Frames>,
    /// The MODCODs of the packets in flight.
    flying: VecDeque<&'static Modcod>,
    /// Number of packets of the last transmission.
    last: usize,
}

impl Adaptive {
    /// Creates the adaptive part of a link with ACM; `None` without ACM.
    pub fn new(config: &Config, ends: Ends<'_>, probe: Option<Probe>) -> Option<Box<Adaptive>> {
        let acm = config.acm.as_ref()?;
        Some(Box::new(Adaptive {
            symbols: *config.rate,
            adaptation: acm.adaptation(None, &[ends.to], ends.from, probe),
            frames: Frames::new(&config.framing),
            flying: VecDeque::new(),
            last: 0,
        }))
    }

    /// Starts the next transmission if the transmitter is free and a MODCOD is usable.
    pub fn begin(&mut self, now: Time, transmitter: &mut Transmitter, out: &mut Outbox) -> Vec<Started> {
        let modcod = self.adaptation.at(now);
        self.adaptation.record(now, out);
        let Some(modcod) = modcod else { return Vec::new() };
        let begun: Vec<Started> = match &mut self.frames {
            Some(frames) => {
                let sent = frames.send(now, transmitter, self.symbols, &mut |_, _| (0, Some(modcod)), out);
                let Some(sent) = sent else { return Vec::new() };
                self.flying.extend(std::iter::repeat_n(sent.modcod, sent.packets.len()));
                let begin =
                    |Ending { packet, added, .. }| Started { packet, sent: sent.at, added: Some(added) };
                sent.packets.into_iter().map(begin).collect()
            }
            None => {
                let mut rate = |_: &Packet, _: &mut Outbox| Some(modcod.rate(self.symbols));
                let Some((packet, sent)) = transmitter.begin_at(now, out, acm::OUTAGE, &mut rate) else {
                    return Vec::new();
                };
                self.flying.push_back(modcod);
                vec![Started { packet, sent, added: transmitter.framed().map(|(_, added)| added) }]
            }
        };
        self.last = begun.len();
        begun
    }

    /// Returns the start of the next transmission, as far as is known now.
    pub fn next_begin(&self, transmitter: &Transmitter) -> Option<Time> {
        let framed = self.held().packets > 0;
        let begin = if framed { Some(transmitter.free_at()) } else { transmitter.next_begin() };
        match self.adaptation.current() {
            Some(_) => begin,
            None => begin.and_then(|_| self.adaptation.next()),
        }
    }

    /// Returns the MODCOD of the first packet in flight, which arrives now, and true if the
    /// receiver decodes it.
    pub fn arrives(&mut self, now: Time) -> (Option<&'static Modcod>, bool) {
        let Some(modcod) = self.flying.pop_front() else { return (None, true) };
        let receives = self.adaptation.signal(now) >= modcod.threshold_db;
        if !receives {
            self.adaptation.lose();
        }
        (Some(modcod), receives)
    }

    /// Returns the unit of packets with a MODCOD, if it depends on the MODCOD.
    pub fn unit(&self, modcod: &Modcod) -> Option<Unit> {
        self.frames.as_ref().map(|_| Unit { bytes: modcod.frame_bytes(), merges: false })
    }

    /// Returns the number of packets whose transmission has started but not ended.
    pub fn unsent(&self, now: Time, transmitter: &Transmitter) -> usize {
        if transmitter.is_free(now) {
            0
        } else {
            self.last
        }
    }

    /// Returns the packets in frames that have not been sent.
    pub fn held(&self) -> Held {
        self.frames.as_ref().map_or(Held::default(), Frames::held)
    }

    /// Stops sending: takes back the last `unsent` packets in flight. Returns the packets waiting
    /// in frames.
    pub fn cut(&mut self, unsent: usize) -> Vec<Packet> {
        self.flying.truncate(self.flying.len() - unsent);
        self.last = 0;
        self.frames.as_mut().map_or(Vec::new(), Frames::drain)
    }

    /// Removes the first packets in flight.
    pub fn lose(&mut self, count: usize) {
        self.flying.drain(..count);
    }
}
