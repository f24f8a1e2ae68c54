//! Baseband frames with ACM: packets of several receivers share frames, each of one MODCOD.
//!
//! Packets leave the queue in its order while the transmitter is free and no frame is full. The
//! framing (GSE) puts each packet into the open frame of its MODCOD, whole or in fragments, so a
//! frame contains packets of all receivers with this MODCOD. Then the transmitter sends
//!
//! 1. a frame that [`PATIENCE`] others have overtaken, full or not,
//! 2. otherwise a full frame,
//! 3. otherwise, when the queue is empty, the open frame that has waited longest, filled up with
//!    padding.
//!
//! Under load, frames are full; without load, no packet waits for others. A frame carries the bytes
//! that EN 302 307-1 gives for its MODCOD ([`Modcod::frame_bytes`], long FECFRAMEs). A packet
//! arrives with the frame in which it ends.
//!
//! Deviations: data in a frame keeps its MODCOD, even if the receiver's MODCOD changes before the
//! frame is sent. The receiver's signal is compared with the MODCOD when the last frame of a packet
//! arrives, not for each fragment.

use super::Modcod;
use crate::framing::{self, Added, Framer};
use crate::transmitter::Transmitter;
use bentpipe_core::{Rate, Time};
use bentpipe_stage::{Held, Outbox, Packet};
use std::collections::VecDeque;

/// Number of frames that may overtake an open frame before it is sent partly filled.
const PATIENCE: u32 = 10;

/// A packet, stored with the frame in which it ends.
pub struct Ending {
    /// Number of the receiver of the packet.
    pub receiver: u16,
    /// The frames that contain a part of the packet.
    pub added: Added,
    /// The packet that ends in this frame.
    pub packet: Packet,
}

/// A frame that is being sent.
pub struct Sent {
    /// Time at which its last bit has been sent.
    pub at: Time,
    /// MODCOD of the frame.
    pub modcod: &'static Modcod,
    /// The packets that end in the frame.
    pub packets: Vec<Ending>,
}

/// The frames of one MODCOD.
struct Filling {
    modcod: &'static Modcod,
    framer: Box<dyn Framer>,
    /// True if a frame is open for more packets.
    open: bool,
    /// The packets that end in the open frame.
    ending: Vec<Ending>,
    /// Full frames that have not been sent.
    full: VecDeque<Vec<Ending>>,
    /// Number of frames sent since the oldest frame of this MODCOD was opened.
    overtaken: u32,
}

/// Returns the receiver of a packet and its MODCOD, or `None` if the signal is too weak for every
/// MODCOD.
pub type Choose<'a> = dyn FnMut(&Packet, &mut Outbox) -> (u16, Option<&'static Modcod>) + 'a;

impl Filling {
    fn is_empty(&self) -> bool {
        !self.open && self.full.is_empty()
    }
}

/// The frames of a link that have not been sent.
pub struct Frames {
    framing: framing::Config,
    fillings: Vec<Filling>,
    held: Held,
}

impl Frames {
    /// Creates the frames of a link with this framing; `None` if the framing has no baseband
    /// frames.
    pub fn new(framing: &framing::Config) -> Option<Frames> {
        framing.has_frames().then(|| Frames {
            framing: framing.clone(),
            fillings: Vec::new(),
            held: Held::default(),
        })
    }

    /// Puts a packet into the open frame of a MODCOD.
    fn add(&mut self, modcod: &'static Modcod, receiver: u16, packet: Packet) {
        self.held.add(&packet);
        let known = self.fillings.iter().position(|filling| filling.modcod.name == modcod.name);
        let place = known.unwrap_or_else(|| {
            let framer = self.framing.build(Some(modcod.frame_bytes())).expect("the framing has frames");
            let (ending, full) = (Vec::new(), VecDeque::new());
            self.fillings.push(Filling { modcod, framer, open: false, ending, full, overtaken: 0 });
            self.fillings.len() - 1
        });
        let filling = &mut self.fillings[place];
        let added = filling.framer.add(packet.size, filling.open);
        for _ in u32::from(!filling.open)..added.units {
            filling.full.push_back(std::mem::take(&mut filling.ending));
        }
        filling.open = true;
        let frames = Added { units: added.units + u32::from(added.shares), shares: false };
        filling.ending.push(Ending { receiver, added: frames, packet });
    }

    /// Returns true if a frame is to be sent before more packets are taken from the queue.
    fn is_due(&self) -> bool {
        self.fillings
            .iter()
            .any(|filling| !filling.full.is_empty() || (!filling.is_empty() && filling.overtaken >= PATIENCE))
    }

    /// Removes and returns the next frame to be sent.
    fn take(&mut self) -> Option<(&'static Modcod, Vec<Ending>)> {
        let rank = |filling: &Filling| match (filling.overtaken >= PATIENCE, filling.full.is_empty()) {
            (true, _) => 2,
            (false, false) => 1,
            (false, true) => 0,
        };
        let waiting = self.fillings.iter().enumerate().filter(|(_, filling)| !filling.is_empty());
        // Ties go to the last maximum, so the order of the first use of the MODCODs decides.
        let (next, _) = waiting.rev().max_by_key(|(_, filling)| (rank(filling), filling.overtaken))?;
        for (place, filling) in self.fillings.iter_mut().enumerate() {
            if place != next && !filling.is_empty() {
                filling.overtaken += 1;
            }
        }
        let filling = &mut self.fillings[next];
        filling.overtaken = 0;
        let packets = filling.full.pop_front().unwrap_or_else(|| {
            filling.open = false;
            std::mem::take(&mut filling.ending)
        });
        for Ending { packet, .. } in &packets {
            self.held.packets -= 1;
            self.held.bytes -= u64::from(packet.size);
        }
        Some((filling.modcod, packets))
    }

    /// Starts transmitting the next frame if the transmitter is free. `choose` returns the receiver
    /// of a packet and its MODCOD; without a MODCOD the packet is dropped as an outage. `symbols`
    /// is the symbol rate.
    pub fn send(
        &mut self,
        now: Time,
        transmitter: &mut Transmitter,
        symbols: Rate,
        choose: &mut Choose<'_>,
        out: &mut Outbox,
    ) -> Option<Sent> {
        if !transmitter.is_free(now) {
            return None;
        }
        while !self.is_due() {
            let Some(packet) = transmitter.pull(now, out) else { break };
            match choose(&packet, out) {
                (receiver, Some(modcod)) => self.add(modcod, receiver, packet),
                (_, None) => out.drop(packet, super::OUTAGE),
            }
        }
        let (modcod, packets) = self.take()?;
        transmitter.pace(modcod.rate(symbols));
        let sizes = packets.iter().map(|ending| ending.packet.size);
        let at = transmitter.send_frame(now, modcod.frame_bytes(), sizes);
        Some(Sent { at, modcod, packets })
    }

    /// Returns the packets in frames that have not been sent.
    pub fn held(&self) -> Held {
        self.held
    }

    /// Removes the packets in frames that have not been sent.
    pub fn drain(&mut self) -> Vec<Packet> {
        self.held = Held::default();
        let endings = self
            .fillings
            .drain(..)
            .flat_map(|filling| filling.full.into_iter().flatten().chain(filling.ending).collect::<Vec<_>>());
        endings.map(|ending| ending.packet).collect()
    }
}

/// Returns the bytes of packets per byte of frames with this MODCOD, for consecutive packets of
/// `bytes`; 1 if the framing has no frames.
pub fn efficiency(framing: &framing::Config, modcod: &Modcod, bytes: u32) -> f64 {
    match framing.has_frames() {
        true => framing.framed(Some(modcod.frame_bytes()), bytes).efficiency,
        false => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::modcod::DVB_S2;
    use super::*;

    fn frames() -> Frames {
        Frames::new(&serde_json::from_str(r#"{"gse": {}}"#).unwrap()).unwrap()
    }

    fn packet(number: u32, size: u32) -> Packet {
        Packet { number, size, ..Packet::default() }
    }

    /// Returns the MODCODs of all frames and the numbers of the packets that end in them.
    fn all(frames: &mut Frames) -> Vec<(&'static str, Vec<u32>)> {
        let numbers = |packets: Vec<Ending>| packets.iter().map(|ending| ending.packet.number).collect();
        std::iter::from_fn(|| frames.take())
            .map(|(modcod, packets)| (modcod.name, numbers(packets)))
            .collect()
    }

    #[test]
    fn packets_share_frames_of_their_modcod_and_continue_in_the_next() {
        // QPSK 1/4 has 1991 bytes. 1500 + 4 leave 487: 7 + 480 of the second packet, whose 1020
        // others take 3 + 1020 + 4 of the next frame. QPSK 1/2 has 4016: two packets, and 7 + 1001
        // of the third; 3 + 499 + 4 in the next.
        let mut frames = frames();
        for number in 0..3 {
            frames.add(&DVB_S2[0], 1, packet(2 * number, 1500));
            frames.add(&DVB_S2[3], 2, packet(2 * number + 1, 1500));
        }
        assert!(frames.is_due());
        assert_eq!(frames.held(), Held { packets: 6, bytes: 9000 });
        // Full frames first. The third packet of QPSK 1/4: 1991 - 1027 = 964 in the second frame,
        // the rest in the third.
        let expected = [
            ("QPSK 1/4", vec![0]),
            ("QPSK 1/2", vec![1, 3]),
            ("QPSK 1/4", vec![2]),
            ("QPSK 1/2", vec![5]),
            ("QPSK 1/4", vec![4]),
        ];
        assert_eq!(all(&mut frames), expected);
        assert_eq!(frames.held(), Held::default());
    }

    #[test]
    fn an_overtaken_frame_is_sent_incomplete() {
        let mut frames = frames();
        frames.add(&DVB_S2[3], 1, packet(1000, 40));
        for number in 0..40 {
            frames.add(&DVB_S2[0], 2, packet(number, 1500));
        }
        let order = all(&mut frames);
        let place = order.iter().position(|(_, numbers)| numbers.contains(&1000)).unwrap();
        assert_eq!(place, PATIENCE as usize);
        assert_eq!(order.iter().map(|(_, numbers)| numbers.len()).sum::<usize>(), 41);
    }

    #[test]
    fn drained_packets_are_complete() {
        let mut frames = frames();
        (0..7).for_each(|number| frames.add(&DVB_S2[number as usize % 2], 0, packet(number, 900)));
        let mut numbers: Vec<u32> = frames.drain().iter().map(|packet| packet.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
        assert!(frames.held() == Held::default() && frames.take().is_none());
    }
}
