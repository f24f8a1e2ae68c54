//! The sender of a stream. It determines the content, the send times and the numbering of packets
//! (RFC 3550, RFC 3551).
//!
//! Packet k contains the speech from k P to (k + 1) P after the beginning of the call, where P is
//! the duration of its frames. It is sent when its last sample and the codec's look-ahead are
//! available. With silence suppression, a packet without speech is not sent. If comfort noise is
//! enabled, the first packet after speech is comfort noise, which is repeated at the codec's
//! interval. With silence suppression, the first packet of a talk spurt has the marker bit (RFC
//! 3551, section 4.1).

use crate::codec::Codec;
use crate::rtp::Rtp;
use crate::talker::{Spurt, Spurts};
use bentpipe_core::{Span, Stream, Time};

/// Settings of a sender: codec, packets, silence suppression and clock.
#[derive(Clone, Copy, Debug)]
pub struct SenderSettings {
    /// The codec in which the speech is sent.
    pub codec: &'static Codec,
    /// Number of codec frames in a packet.
    pub frames: u32,
    /// True if packets without speech are not sent.
    pub suppression: bool,
    /// True if silence begins with comfort noise. Only with silence suppression.
    pub comfort_noise: bool,
    /// Skew of the sender's clock. A skew of 1e-6 means that the clock runs one part per million
    /// too fast.
    pub skew: f64,
}

impl SenderSettings {
    /// Returns the duration of the speech in a packet.
    pub fn packet(&self) -> Span {
        Span::from_secs_f64(self.codec.frame_ms * f64::from(self.frames) / 1e3)
    }

    /// Returns the size of the RTP payload of a packet of speech, in bytes.
    pub fn payload(&self) -> u32 {
        self.codec.payload(self.frames)
    }

    /// Returns true if a packet with this payload type and size contains comfort noise. Comfort
    /// noise is recognised by its payload type if the codec has a separate one, and otherwise by
    /// its size.
    pub fn is_noise(&self, payload_type: u8, payload: u32) -> bool {
        payload_type != self.codec.rtp.payload_type
            || payload == self.codec.rtp.noise.bytes && payload != self.payload()
    }
}

/// The initial numbers of a stream, which are random (RFC 3550, section 5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Numbers {
    /// Sequence number of the first packet.
    pub sequence: u16,
    /// Time stamp of the first sample of the call.
    pub timestamp: u32,
    /// Identifier of the source (SSRC).
    pub ssrc: u32,
}

impl Numbers {
    /// Draws the numbers from a random stream.
    pub fn draw(stream: &mut Stream) -> Numbers {
        let (one, other) = (stream.bits(), stream.bits());
        Numbers { sequence: one as u16, timestamp: (one >> 32) as u32, ssrc: other as u32 }
    }
}

/// A packet of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Media {
    /// The RTP header of the packet.
    pub rtp: Rtp,
    /// Size of the payload in bytes.
    pub payload: u32,
    /// True if the packet contains comfort noise instead of speech.
    pub noise: bool,
}

/// Numbers the packets of a stream and sets their time stamps and marker bits.
#[derive(Clone, Copy, Debug)]
pub struct Packetizer {
    codec: &'static Codec,
    frames: u32,
    numbers: Numbers,
    /// True if the last packet contained speech.
    speaking: bool,
    suppression: bool,
}

impl Packetizer {
    /// Creates the packetizer before the first packet. With `suppression`, the stream pauses during
    /// silence, so marker bits are set.
    pub fn new(codec: &'static Codec, frames: u32, suppression: bool, numbers: Numbers) -> Packetizer {
        Packetizer { codec, frames, numbers, speaking: false, suppression }
    }

    /// Returns the packet with the speech of period `period`. Periods have the duration of a packet
    /// and are numbered from the beginning of the call.
    pub fn speech(&mut self, period: u64) -> Media {
        let marker = self.suppression && !self.speaking;
        self.speaking = true;
        let payload = self.codec.payload(self.frames);
        Media { rtp: self.number(period, marker, self.codec.rtp.payload_type), payload, noise: false }
    }

    /// Returns a packet with comfort noise for period `period`.
    pub fn noise(&mut self, period: u64) -> Media {
        self.speaking = false;
        let noise = self.codec.rtp.noise;
        Media { rtp: self.number(period, false, noise.payload_type), payload: noise.bytes, noise: true }
    }

    /// Returns true if the last packet contained speech.
    pub fn is_speaking(&self) -> bool {
        self.speaking
    }

    /// Records silence: the next packet begins a talk spurt.
    pub fn silence(&mut self) {
        self.speaking = false;
    }

    fn number(&mut self, period: u64, marker: bool, payload_type: u8) -> Rtp {
        let Numbers { sequence, timestamp, ssrc } = self.numbers;
        self.numbers.sequence = sequence.wrapping_add(1);
        let units = (period as u32).wrapping_mul(self.frames * self.codec.frame_units());
        Rtp { marker, payload_type, sequence, timestamp: timestamp.wrapping_add(units), ssrc }
    }
}

/// The next packet of a sender.
#[derive(Clone, Copy)]
struct Next {
    period: u64,
    noise: bool,
}

/// A sender of a talker's speech.
pub struct Sender {
    sending: SenderSettings,
    packetizer: Packetizer,
    spurts: Spurts,
    /// The talk spurt at or after the next packet.
    spurt: Option<Spurt>,
    start: Time,
    packet: Span,
    next: Option<Next>,
    /// Number of periods between repetitions of comfort noise, if it is repeated.
    repeats: Option<u64>,
}

impl Sender {
    /// Creates a sender whose call begins at `start`.
    pub fn new(sending: SenderSettings, numbers: Numbers, mut spurts: Spurts, start: Time) -> Sender {
        let packet = sending.packet();
        let every = sending.codec.rtp.noise.every_ms;
        let repeats = (every > 0.0).then(|| (every / 1e3 / packet.as_secs_f64()).round().max(1.0) as u64);
        let packetizer = Packetizer::new(sending.codec, sending.frames, sending.suppression, numbers);
        let spurt = spurts.next();
        let mut sender = Sender { sending, packetizer, spurts, spurt, start, packet, next: None, repeats };
        sender.next = match sending.suppression {
            true => sender.speech_from(0),
            false => Some(Next { period: 0, noise: false }),
        };
        sender
    }

    /// Returns the time at which the next packet is sent; `None` if there are no further packets.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        self.next.map(|next| self.time_of(next.period))
    }

    /// Returns the packet that is due now, and schedules the next one.
    pub fn send(&mut self) -> Media {
        let Next { period, noise } = self.next.expect("`send` is called only when a packet is due");
        let media = match noise {
            true => self.packetizer.noise(period),
            false => self.packetizer.speech(period),
        };
        self.next = match self.sending.suppression {
            true => self.after(period, noise),
            false => Some(Next { period: period + 1, noise: false }),
        };
        media
    }

    /// Returns the time at which the packet of a period is sent, by the true clock.
    fn time_of(&self, period: u64) -> Time {
        let ahead = Span::from_secs_f64(self.sending.codec.rtp.lookahead_ms / 1e3);
        let since = self.packet * (period + 1) + ahead;
        if self.sending.skew == 0.0 {
            return self.start + since;
        }
        self.start + Span::from_secs_f64(since.as_secs_f64() / (1.0 + self.sending.skew))
    }

    /// Returns the next packet of speech in or after this period.
    fn speech_from(&mut self, period: u64) -> Option<Next> {
        let begin = self.packet * period;
        while self.spurt.is_some_and(|spurt| spurt.end <= begin) {
            self.spurt = self.spurts.next();
        }
        let spurt = self.spurt?;
        let first = (spurt.begin.as_nanos() / self.packet.as_nanos()).max(period);
        Some(Next { period: first, noise: false })
    }

    /// Returns the next packet after the packet of period `period`.
    fn after(&mut self, period: u64, noise: bool) -> Option<Next> {
        let speech = self.speech_from(period + 1);
        if speech.is_some_and(|next| next.period == period + 1) {
            return speech;
        }
        self.packetizer.silence();
        if !self.sending.comfort_noise {
            return speech;
        }
        let quiet = match (noise, self.repeats) {
            (false, _) => Some(period + 1),
            (true, Some(repeats)) => Some(period + repeats),
            (true, None) => None,
        };
        match (quiet, speech) {
            (Some(quiet), Some(speech)) if speech.period <= quiet => Some(speech),
            (Some(quiet), _) => Some(Next { period: quiet, noise: true }),
            (None, speech) => speech,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::find;

    fn sent(
        sending: SenderSettings,
        spurts: &[(u64, u64)],
        until_ms: u64,
    ) -> Vec<(u64, bool, bool, u16, u32)> {
        let spurts: Vec<Spurt> = spurts
            .iter()
            .map(|(begin, end)| Spurt { begin: Span::from_millis(*begin), end: Span::from_millis(*end) })
            .collect();
        let numbers = Numbers { sequence: 65_534, timestamp: 0, ssrc: 7 };
        let mut sender = Sender::new(sending, numbers, Box::new(spurts.into_iter()), Time::ZERO);
        let mut all = Vec::new();
        while let Some(due) = sender.due().filter(|due| due.as_nanos() <= until_ms * 1_000_000) {
            let media = sender.send();
            all.push((
                due.as_nanos() / 1_000_000,
                media.rtp.marker,
                media.noise,
                media.rtp.sequence,
                media.rtp.timestamp,
            ));
        }
        all
    }

    #[test]
    fn packets_of_speech_are_numbered_marked_and_timed() {
        let sending = SenderSettings {
            codec: find("G.711u").unwrap(),
            frames: 2,
            suppression: true,
            comfort_noise: false,
            skew: 0.0,
        };
        // The periods 20 to 60 ms and 100 to 120 ms contain speech. The second talk spurt extends
        // over two periods.
        assert_eq!(
            sent(sending, &[(20, 60), (110, 121)], 1000),
            [
                (40, true, false, 65_534, 160),
                (60, false, false, 65_535, 320),
                (120, true, false, 0, 800),
                (140, false, false, 1, 960),
            ]
        );
        let noisy = SenderSettings { comfort_noise: true, ..sending };
        let noise = sent(noisy, &[(20, 60), (110, 121)], 1000);
        assert_eq!(noise.iter().map(|packet| packet.0).collect::<Vec<_>>(), [40, 60, 80, 120, 140, 160]);
        assert_eq!(
            noise.iter().map(|packet| packet.2).collect::<Vec<_>>(),
            [false, false, true, false, false, true]
        );
        let all = sent(SenderSettings { suppression: false, ..sending }, &[], 100);
        assert_eq!(
            all.iter().map(|packet| (packet.0, packet.1)).collect::<Vec<_>>(),
            [20, 40, 60, 80, 100].map(|at| (at, false))
        );
    }

    #[test]
    fn comfort_noise_is_repeated_at_the_codec_s_interval_under_clock_skew() {
        let codec = find("AMR-12.2").unwrap();
        let sending = SenderSettings { codec, frames: 1, suppression: true, comfort_noise: true, skew: 0.0 };
        // A packet is sent 25 ms after the beginning of its period: after a frame of 20 ms and a
        // look-ahead of 5 ms. Comfort noise is sent at once and then every 160 ms.
        let times: Vec<u64> =
            sent(sending, &[(0, 20), (400, 420)], 900).iter().map(|packet| packet.0).collect();
        assert_eq!(times, [25, 45, 205, 365, 425, 445, 605, 765]);
        // With a clock that is 0.1 % fast, 1000 s of speech are sent in 999.001 s.
        let fast = SenderSettings { suppression: false, skew: 1e-3, ..sending };
        let last = sent(fast, &[], 999_001).last().unwrap().4;
        assert_eq!(last, (50_000 - 2) * 160);
    }
}
