//! Parses arbitrary bytes as RTP and RTCP. The parsers must not panic, a payload must lie within
//! its datagram, and a receiver must accept any header.
#![no_main]

use bentpipe_core::{Span, Time};
use bentpipe_voice::codec::find;
use bentpipe_voice::playout;
use bentpipe_voice::rtcp::Compound;
use bentpipe_voice::rtp::Rtp;
use bentpipe_voice::stream::{Clocks, Receiver};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((_, begin, payload)) = Rtp::read(bytes, bytes.len()) {
        assert!(begin + payload <= bytes.len());
    }
    if let Some(compound) = Compound::read(bytes) {
        // A parsed packet that is written and parsed again must be the same.
        let again = Compound::read(&compound.write()).expect("a written packet can be parsed");
        assert_eq!(again.blocks.len(), compound.blocks.len());
        assert_eq!((again.ssrc, again.sender, again.voip, again.bye), (compound.ssrc, compound.sender, compound.voip, compound.bye));
    }
    let kinds = ["none", "fixed", "ramjee-1", "ramjee-2", "ramjee-3", "ramjee-4", "moon"];
    let kind = kinds[bytes.first().map_or(0, |byte| usize::from(*byte) % kinds.len())];
    let playout: playout::Config = serde_json::from_str(&format!("{{\"{kind}\": {{}}}}")).expect("all keys of a de-jitter buffer have defaults");
    let mut receiver = Receiver::new(find("G.711u").expect("G.711u is in the list of codecs"), 2, &playout, Clocks::default(), None);
    let mut now = Time::ZERO;
    for packet in bytes.chunks_exact(10) {
        now += Span::from_micros(u64::from(packet[0]) * 400);
        let rtp = Rtp {
            marker: packet[1] & 1 == 1,
            payload_type: if packet[1] & 2 == 2 { 13 } else { 0 },
            sequence: u16::from_be_bytes([packet[2], packet[3]]),
            timestamp: u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]),
            ssrc: u32::from(packet[8] & 1),
        };
        receiver.receive(now, &rtp);
        if packet[9] == 0 {
            receiver.window();
        }
    }
    let totals = receiver.totals();
    assert!(totals.lost >= 0 && totals.played <= totals.arrived);
    assert_eq!(totals.bursts.packets(), totals.expected);
});
