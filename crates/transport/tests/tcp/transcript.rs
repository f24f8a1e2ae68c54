//! Runs transcripts (`tests/tcp/*.txt`). Each transcript lists the events of one connection at one
//! end.
//!
//! ```text
//! # Comment, with the source of what is expected.
//! config {"delayed_ack": false}          the connection's configuration, JSON
//! peer 4294967000                        the other end's initial sequence number (default 1000000)
//! new                                    another connection, from the beginning
//! 0.000 listen | open | write N | close | stop  actions of the application
//! 0.000 reply N                          the application writes N bytes at its next data
//! 0.000 freeze | thaw | adapt {"at": "0 s", "rate": "1 Mbit/s", "round_trip": "1 s"}  a handover
//! 0.000 < S 0:0 win 65535 <mss 1460, sackOK, ws 7>   a segment arrives
//! 0.000 <CE . 1:1001 ack 1               ... in a packet marked by a queue (RFC 3168)
//! 0.000 <ECT1 . 1:1001 ack 1             ... in a packet with this ECN field, or ECT0
//! 0.000 <+ . 1:1001 ack 1                ... with another, before the application runs
//! 0.000 > S. 0:0 ack 1 win 65535         a segment leaves, at this time and in this order
//! 0.000 >ECT0 . 1:1001 ack 1             ... in a packet with this ECN field, ECT1 or NotECT
//! 0.000 state cwnd=2 ca=open             state at this time
//! 0.000 event connected                  the event was reported to the application
//! 0.000 no-event acknowledged            the event was not reported, or not repeated
//! ```
//!
//! Times are seconds. Segments are written as in tcpdump: flags (`.` is ACK, `E` ECE, `W` CWR, `A`
//! AE; `P`, PSH, is compared only in transcripts that have it), positions counted from the initial
//! sequence number of their direction, `sack` blocks as `a:b`. All departing segments must be
//! listed; `snack OFFSET+SIZE/BITS` is SCPS-TP's negative acknowledgment in units of a segment,
//! `scps` its option of a SYN. `qs N` is a Quick-Start request and `granted N` the answer to one.
//! `acc0 A/B/C` is the AccECN option of order 0 with the counters of ECT(0), CE and ECT(1), `acc1
//! C/B/A` that of order 1. `win`, `ts` and the options in angle brackets are compared if they are
//! given.

use super::reno::Reno;
use bentpipe_congestion::interface::INFINITE_SSTHRESH;
use bentpipe_core::{Span, Time};
use bentpipe_stage::packet::quick_start::QuickStart;
use bentpipe_stage::packet::segment::{
    EcnBytes, EcnOrder, SackBlocks, Segment, SegmentFlags, SegmentOptions, Snack, Timestamps,
};
use bentpipe_stage::Ecn;
use bentpipe_transport::tcp::connection::Connection;
use bentpipe_transport::tcp::handover::{Adapt, Path, Signal};
use bentpipe_transport::tcp::Config;
use std::collections::VecDeque;

const OURS: u32 = 5_000_000;
const THEIRS: u32 = 1_000_000;

#[test]
fn transcripts_are_reproduced() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tcp");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    assert!(files.len() >= 15, "{} transcripts", files.len());
    let mut failed = Vec::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if let Err(message) = play(&std::fs::read_to_string(file).unwrap()) {
            failed.push(format!("{name}: {message}"));
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

struct Player {
    connection: Connection,
    ours: u32,
    theirs: u32,
    now: Time,
    sent: VecDeque<(Time, Segment, Ecn)>,
    events: Vec<String>,
    received: u64,
    /// Bytes that the application writes at its next event of data.
    reply: u64,
    /// True if the flag PSH is compared.
    with_push: bool,
}

fn play(text: &str) -> Result<(), String> {
    let mut config = Config { initial_sequence: None, ..Config::default() };
    let mut theirs = THEIRS;
    let mut player: Option<Player> = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap().trim();
        let at = |message: String| format!("line {}: {line}\n    {message}", number + 1);
        if line.is_empty() {
            continue;
        }
        if let Some(json) = line.strip_prefix("config ") {
            config = serde_json::from_str(json).map_err(|error| at(error.to_string()))?;
            continue;
        }
        if let Some(initial) = line.strip_prefix("peer ") {
            theirs = initial.parse().unwrap();
            continue;
        }
        if line == "new" {
            let ended = player.take().ok_or_else(|| at("nothing has happened".to_owned()))?;
            ended.nothing_left().map_err(at)?;
            continue;
        }
        let player = player.get_or_insert_with(|| Player::new(&config, theirs, text.contains(" P. ")));
        player.line(line).map_err(at)?;
    }
    player.ok_or("nothing happens")?.nothing_left()
}

impl Player {
    fn new(config: &Config, theirs: u32, with_push: bool) -> Player {
        let ours = config.initial_sequence.map_or(OURS, |initial| initial.value() as u32);
        Player {
            connection: Connection::new(config, Box::new(Reno::default()), ours, 1),
            ours,
            theirs,
            now: Time::ZERO,
            sent: VecDeque::new(),
            events: Vec::new(),
            received: 0,
            reply: 0,
            with_push,
        }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (time, what) = line.split_once(' ').ok_or("no time")?;
        let time = Time::ZERO + Span::from_secs_f64(time.parse().map_err(|_| "no time")?);
        self.advance(time);
        let (verb, rest) = what.trim().split_once(' ').unwrap_or((what.trim(), ""));
        match verb {
            ">" => return self.expect(time, rest.trim(), None),
            ">ECT0" => return self.expect(time, rest.trim(), Some(Ecn::Ect0)),
            ">ECT1" => return self.expect(time, rest.trim(), Some(Ecn::Ect1)),
            ">NotECT" => return self.expect(time, rest.trim(), Some(Ecn::NotEct)),
            "state" => return rest.split_whitespace().try_for_each(|pair| self.check(pair)),
            "no-event" => return self.no_event(rest),
            "event" => {
                let seen = self.events.iter().position(|event| event == rest);
                let index = seen.ok_or_else(|| format!("the application was told {:?}", self.events))?;
                self.events.remove(index);
                return Ok(());
            }
            _ => self.nothing_left()?,
        }
        match verb {
            "listen" => self.connection.listen(),
            "open" => self.connection.open(),
            "write" => self.connection.send(rest.parse().map_err(|_| "no number")?),
            "reply" => self.reply = rest.parse().map_err(|_| "no number")?,
            "close" => self.connection.close(),
            "stop" => self.connection.stop(),
            "freeze" => self.connection.signal(self.now, &Signal::Freeze),
            "thaw" => self.connection.signal(self.now, &Signal::Thaw),
            "adapt" => {
                let path = serde_json::from_str::<Adapt>(rest).map_err(|error| error.to_string())?;
                let path = Path { rate: path.rate, round_trip: path.round_trip };
                self.connection.signal(self.now, &Signal::Adapt(path));
            }
            "<" | "<CE" | "<ECT0" | "<ECT1" | "<+" => {
                let segment = self.parse(rest.trim())?;
                if verb == "<+" {
                    self.connection.hold_reading();
                }
                let field = match verb {
                    "<CE" => Ecn::Ce,
                    "<ECT0" => Ecn::Ect0,
                    "<ECT1" => Ecn::Ect1,
                    _ => Ecn::NotEct,
                };
                self.connection.receive_marked(self.now, &segment, field);
                if verb != "<+" {
                    self.connection.read();
                }
            }
            _ => return Err(format!("what is {verb}?")),
        }
        self.settle();
        Ok(())
    }

    /// Lets timers expire up to `time`.
    fn advance(&mut self, time: Time) {
        while self.connection.next_wake() <= time {
            assert!(self.connection.next_wake() >= self.now, "a timer in the past");
            self.now = self.connection.next_wake();
            self.connection.wake(self.now);
            self.settle();
        }
        self.now = time;
    }

    fn settle(&mut self) {
        use bentpipe_transport::tcp::connection::Event;
        if self.connection.receiver().must_acknowledge_first() {
            if let Some(segment) = self.connection.next_segment(self.now) {
                self.sent.push_back((self.now, segment, self.connection.ecn_field()));
            }
        }
        let reads = !self.connection.receiver().holds_reading();
        while let Some(event) = reads.then(|| self.connection.next_event()).flatten() {
            match event {
                Event::Connected => self.events.push("connected".to_owned()),
                Event::Received(bytes) => {
                    self.received += bytes;
                    self.connection.send(std::mem::take(&mut self.reply));
                }
                Event::AllAcknowledged => self.events.push("acknowledged".to_owned()),
                Event::PeerClosed => self.events.push("peer-closed".to_owned()),
                Event::Closed => self.events.push("closed".to_owned()),
                Event::Failed(failure) => self.events.push(format!("failed {failure:?}")),
            }
        }
        while let Some(segment) = self.connection.next_segment(self.now) {
            self.sent.push_back((self.now, segment, self.connection.ecn_field()));
        }
    }

    fn no_event(&self, event: &str) -> Result<(), String> {
        match self.events.iter().any(|seen| seen == event) {
            true => Err(format!("the application was told {:?}", self.events)),
            false => Ok(()),
        }
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.sent.front() {
            Some((time, segment, _)) => {
                Err(format!("not expected: {} {}", time.as_secs_f64(), self.print(segment)))
            }
            None => Ok(()),
        }
    }

    fn expect(&mut self, time: Time, text: &str, field: Option<Ecn>) -> Result<(), String> {
        let (sent_at, segment, sent_field) = self.sent.pop_front().ok_or("nothing was sent")?;
        if field.is_some_and(|field| field != sent_field) {
            return Err(format!("sent with {sent_field:?}"));
        }
        let late = sent_at.as_secs_f64() - time.as_secs_f64();
        if late.abs() > 0.000_501 {
            return Err(format!("sent at {}", sent_at.as_secs_f64()));
        }
        let printed = self.print(&segment);
        let words = |text: &str| -> Vec<String> {
            let text = text.split('<').next().unwrap();
            let mut words = text.split_whitespace();
            let mut kept = Vec::new();
            while let Some(word) = words.next() {
                match word {
                    "win" | "ts" => drop(words.next()),
                    _ => kept.push(word.to_owned()),
                }
            }
            kept
        };
        if words(&printed) != words(text) {
            return Err(format!("sent: {printed}"));
        }
        // The given parts of the rest must match.
        let after = |text: &str, key: &str| -> Option<String> {
            let mut words = text.split_whitespace().skip_while(|word| *word != key);
            words.next().and_then(|_| words.next()).map(str::to_owned)
        };
        for key in ["win", "ts"] {
            let wanted = after(text, key);
            if wanted.is_some() && wanted != after(&printed, key) {
                return Err(format!("sent: {printed}"));
            }
        }
        match text.split_once('<') {
            Some((_, options)) if !printed.ends_with(&format!("<{options}")) => {
                Err(format!("sent: {printed}"))
            }
            _ => Ok(()),
        }
    }

    fn print(&self, segment: &Segment) -> String {
        let flags = [
            (SegmentFlags::SYN, "S"),
            (SegmentFlags::FIN, "F"),
            (SegmentFlags::RST, "R"),
            (SegmentFlags::PSH, "P"),
            (SegmentFlags::ACK, "."),
            (SegmentFlags::ECE, "E"),
            (SegmentFlags::CWR, "W"),
            (SegmentFlags::AE, "A"),
        ];
        let flags: String = flags
            .iter()
            .filter(|(flag, _)| {
                segment.flags.contains(*flag) && (self.with_push || *flag != SegmentFlags::PSH)
            })
            .map(|(_, letter)| *letter)
            .collect();
        let start = segment.sequence.wrapping_sub(self.ours);
        let mut text = format!("{flags} {start}:{}", start.wrapping_add(u32::from(segment.payload)));
        if segment.flags.contains(SegmentFlags::ACK) {
            text += &format!(" ack {}", segment.acknowledgment.wrapping_sub(self.theirs));
        }
        text += &format!(" win {}", segment.window);
        if let Some(stamps) = segment.timestamps {
            text += &format!(" ts {stamps:?}");
        }
        if let Some(options) = &segment.options {
            let blocks = options.sack.as_slice();
            if !blocks.is_empty() {
                text += " sack";
            }
            for (left, right) in blocks {
                let relative = |number: u32| number.wrapping_sub(self.theirs);
                text += &format!(" {}:{}", relative(*left), relative(*right));
            }
            if let Some(snack) = &options.snack {
                let bit = |bit: u8| if snack.vector >> bit & 1 == 1 { '1' } else { '0' };
                let bits: String = (0..snack.bits).map(bit).collect();
                text += &format!(" snack {}+{}/{bits}", snack.offset, snack.size);
            }
            let mut list = Vec::new();
            list.extend(options.snack_permitted.then(|| "scps".to_owned()));
            list.extend(options.mss.map(|mss| format!("mss {mss}")));
            list.extend(options.sack_permitted.then(|| "sackOK".to_owned()));
            list.extend(options.window_scale.map(|scale| format!("ws {scale}")));
            list.extend(options.quick_start.map(|request| format!("qs {}", request.rate)));
            list.extend(options.granted.map(|rate| format!("granted {rate}")));
            list.extend(options.ecn_bytes.map(|counters| {
                let order = if counters.order == EcnOrder::Ect0First { "acc0" } else { "acc1" };
                let fields: Vec<String> = counters.fields().iter().map(u32::to_string).collect();
                format!("{order} {}", fields.join("/"))
            }));
            if !list.is_empty() {
                text += &format!(" <{}>", list.join(", "));
            }
        }
        text
    }

    fn parse(&self, text: &str) -> Result<Segment, String> {
        let (text, list) = text.split_once('<').unwrap_or((text, ""));
        let mut words = text.split_whitespace().peekable();
        let mut segment = Segment { window: 1 << 20, ..Segment::default() };
        for letter in words.next().ok_or("no flags")?.chars() {
            segment.flags = segment.flags.with(match letter {
                'S' => SegmentFlags::SYN,
                'F' => SegmentFlags::FIN,
                'R' => SegmentFlags::RST,
                'P' => SegmentFlags::PSH,
                '.' => SegmentFlags::ACK,
                'E' => SegmentFlags::ECE,
                'W' => SegmentFlags::CWR,
                'A' => SegmentFlags::AE,
                _ => return Err(format!("what is the flag {letter}?")),
            });
        }
        let range = |word: &str| -> Result<(u32, u32), String> {
            let (start, end) = word.split_once(':').ok_or("no range")?;
            Ok((start.parse().map_err(|_| "no number")?, end.parse().map_err(|_| "no number")?))
        };
        let (start, end) = range(words.next().ok_or("no positions")?)?;
        segment.sequence = self.theirs.wrapping_add(start);
        segment.payload = (end - start) as u16;
        let mut options = SegmentOptions::default();
        while let Some(word) = words.next() {
            let mut number = || -> Result<u32, String> {
                words.next().and_then(|word| word.parse().ok()).ok_or_else(|| "no number".to_owned())
            };
            match word {
                "ack" => segment.acknowledgment = self.ours.wrapping_add(number()?),
                "win" => segment.window = number()?,
                "sack" => {
                    while let Some(block) = words.next_if(|word| word.contains(':')) {
                        let (left, right) = range(block)?;
                        options.sack.push(self.ours.wrapping_add(left), self.ours.wrapping_add(right));
                    }
                }
                "snack" => {
                    let (hole, bits) =
                        words.next().and_then(|word| word.split_once('/')).ok_or("no snack")?;
                    let (offset, size) = hole.split_once('+').ok_or("no hole")?;
                    let number = |text: &str| text.parse().map_err(|_| "no number".to_owned());
                    let vector = bits.bytes().rev().fold(0, |sum, bit| sum << 1 | u128::from(bit - b'0'));
                    let (offset, size, bits) = (number(offset)?, number(size)?, bits.len() as u8);
                    options.snack = Some(Snack { offset, size, vector, bits });
                }
                "ts" => {
                    let (value, echo) = words.next().and_then(|word| word.split_once('/')).ok_or("no ts")?;
                    let number = |text: &str| text.parse().map_err(|_| "no number".to_owned());
                    segment.timestamps = Some(Timestamps::new(number(value)?, number(echo)?));
                }
                _ => return Err(format!("what is {word}?")),
            }
        }
        for option in list.trim_end_matches('>').split(',').map(str::trim).filter(|option| !option.is_empty())
        {
            match option.split_once(' ') {
                None if option == "scps" => options.snack_permitted = true,
                None => options.sack_permitted = true,
                Some(("mss", value)) => options.mss = value.parse().ok(),
                Some(("granted", value)) => options.granted = value.parse().ok(),
                Some((order @ ("acc0" | "acc1"), value)) => {
                    let mut fields = Vec::new();
                    for field in value.split('/') {
                        fields.push(field.parse().map_err(|_| "no counter")?);
                    }
                    let count = fields.len();
                    fields.resize(3, 0);
                    options.ecn_bytes = Some(match order {
                        "acc0" => {
                            EcnBytes::new(EcnOrder::Ect0First, [fields[0], fields[1], fields[2]], count)
                        }
                        _ => EcnBytes::new(EcnOrder::Ect1First, [fields[2], fields[1], fields[0]], count),
                    });
                }
                Some(("qs", value)) => {
                    let rate = value.parse().map_err(|_| "no rate")?;
                    options.quick_start = Some(QuickStart { rate, missed: false });
                }
                Some((_, value)) => options.window_scale = value.parse().ok(),
            }
        }
        if options != (SegmentOptions { sack: SackBlocks::default(), ..Default::default() }) {
            segment.options = Some(Box::new(options));
        }
        Ok(segment)
    }

    fn check(&self, pair: &str) -> Result<(), String> {
        let (key, wanted) = pair.split_once('=').ok_or("no value")?;
        let sender = self.connection.sender();
        let state = &sender.state;
        let found = match key {
            "cwnd" => state.snd_cwnd.to_string(),
            "ssthresh" if state.snd_ssthresh == INFINITE_SSTHRESH => "infinite".to_owned(),
            "ssthresh" => state.snd_ssthresh.to_string(),
            "ca" => ["open", "disorder", "cwr", "recovery", "loss"][state.ca_state as usize].to_owned(),
            "inflight" => sender.in_flight().to_string(),
            "out" => state.packets_out.to_string(),
            "sacked" => state.sacked_out.to_string(),
            "lost" => state.lost_out.to_string(),
            "retrans" => state.retrans_out.to_string(),
            "rto" => format!("{:.3}", sender.estimator().rto().as_secs_f64()),
            "srtt" => format!("{:.3}", sender.estimator().srtt_seconds()),
            "delivered" => state.delivered.to_string(),
            "delivered-ce" => state.delivered_ce.to_string(),
            "mss" => state.mss_cache.to_string(),
            "timeouts" => sender.counters.timeouts.to_string(),
            "retransmissions" => sender.counters.retransmissions.to_string(),
            "received" => self.received.to_string(),
            "phase" => format!("{:?}", self.connection.phase()),
            _ => return Err(format!("what is {key}?")),
        };
        if found == wanted {
            Ok(())
        } else {
            Err(format!("{key} is {found}"))
        }
    }
}
