//! A stream of speech: packets of a codec from a talker's mouth to a listener's ear. The code
//! performs no I/O and receives the time as an argument, so applications, telephone exchanges and
//! programs with real sockets can use it.
//!
//! ```
//! use bentpipe_core::{Span, Streams, Time};
//! use bentpipe_voice::codec::find;
//! use bentpipe_voice::playout;
//! use bentpipe_voice::stream::{Clocks, Numbers, Origin, PacketFate, Receiver, Sender, SenderSettings};
//! use bentpipe_voice::talker::{p59, Side, Talker};
//!
//! let mut random = Streams::new(1, 0).stream("call");
//! let codec = find("G.729A").unwrap();
//! let settings = SenderSettings { codec, frames: 2, suppression: true, comfort_noise: true, skew: 0.0 };
//! let numbers = Numbers::draw(&mut random);
//! let spurts = p59::Config::default().spurts(Side::Caller, random);
//! let mut sender = Sender::new(settings, numbers, spurts, Time::ZERO);
//! let origin = Origin { timestamp: numbers.timestamp, at: Time::ZERO };
//! let mut receiver = Receiver::new(codec, 2, &playout::Config::default(), Clocks::default(), Some(origin));
//!
//! for _ in 0..100 {
//!     let due = sender.due().unwrap();
//!     let media = sender.send(); // 12 bytes of header, media.payload bytes of speech
//!     let fate = receiver.receive(due + Span::from_millis(270), &media.rtp);
//!     assert!(matches!(fate, PacketFate::Played { .. }));
//! }
//! let call = receiver.totals();
//! assert_eq!((call.expected, call.lost, call.late), (100, 0, 0));
//! // 270 ms in the network, 60 ms in the buffer, a packet of 20 ms, and 5 ms of look-ahead.
//! assert!((call.delay() - 0.355).abs() < 1e-6);
//! let quality = call.quality(codec, 0.0);
//! assert!(quality.mos > 2.5 && quality.mos < 3.5);
//! ```
//!
//! - A [`Sender`] converts the talk spurts of its side ([`talker`](super::talker)) to packets, each
//!   with its send time. Other sources of packets, such as a mixing bridge, use a [`Packetizer`]
//!   and specify the content of each packet.
//! - A [`Receiver`] processes the RTP header of each arriving packet and returns the packet's fate
//!   with its playout time. It needs no wakes, because playout times are known on arrival.
//!   [`Totals::quality`] rates the [`Totals`] of the complete stream or of a window of time.
//! - Time stamps: the first sample of a stream has the time stamp `Numbers::timestamp`. A receiver
//!   that knows the [`Origin`] of the time stamps can measure the delay from mouth to ear.
//!   Otherwise, the delay of the first packet counts as 0.

mod receiver;
mod sender;

pub use receiver::{Clocks, Origin, PacketFate, Quality, Receiver, Totals};
pub use sender::{Media, Numbers, Packetizer, Sender, SenderSettings};
