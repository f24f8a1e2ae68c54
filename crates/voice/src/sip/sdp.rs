//! Session descriptions (SDP, RFC 4566): one audio stream, as an offer or an answer (RFC 3264).

use std::net::IpAddr;

/// An audio stream over RTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    /// Address for incoming media.
    pub address: IpAddr,
    /// UDP port for incoming media; 0 refuses the stream.
    pub port: u16,
    /// RTP payload types, the preferred one first.
    pub formats: Vec<Format>,
}

/// An RTP payload type and its encoding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    /// The payload type, 0 to 127.
    pub number: u8,
    /// The name of its encoding, as registered for RTP.
    pub encoding: String,
    /// Clock rate: ticks of its time stamps per second.
    pub clock: u32,
}

/// Static payload types (RFC 3551, table 4), which need no `rtpmap`, for the codecs that are
/// implemented.
const STATIC: [(u8, &str); 5] = [(0, "PCMU"), (3, "GSM"), (4, "G723"), (8, "PCMA"), (18, "G729")];

impl Format {
    /// Creates a format at 8000 Hz. An encoding without a static payload type has number 97.
    pub fn of(encoding: &str) -> Format {
        let known = STATIC.iter().find(|(_, name)| name.eq_ignore_ascii_case(encoding));
        Format { number: known.map_or(97, |(number, _)| *number), encoding: encoding.to_owned(), clock: 8000 }
    }
}

impl Session {
    /// Returns the description as text; `id` names the session.
    pub fn text(&self, id: u64) -> String {
        let family = if self.address.is_ipv4() { "IP4" } else { "IP6" };
        let Session { address, port, formats } = self;
        let numbers: String = formats.iter().map(|format| format!(" {}", format.number)).collect();
        let maps: String = formats
            .iter()
            .map(|Format { number, encoding, clock }| format!("a=rtpmap:{number} {encoding}/{clock}\r\n"))
            .collect();
        format!(
            "v=0\r\no=- {id} {id} IN {family} {address}\r\ns=-\r\nc=IN {family} {address}\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP{numbers}\r\n{maps}a=sendrecv\r\n"
        )
    }

    /// Parses a description. Returns its first valid audio stream, if any.
    pub fn read(body: &[u8]) -> Option<Session> {
        let text = std::str::from_utf8(body).ok()?;
        let (mut common, mut own, mut media, mut maps) = (None, None, None, Vec::new());
        let mut audio = false;
        for line in text.lines() {
            let Some((kind, value)) = line.trim_end().split_once('=') else { continue };
            match kind {
                "m" if media.is_some() => break,
                "m" => {
                    audio = value.starts_with("audio ");
                    media = audio.then(|| stream(value)).flatten();
                }
                "c" if media.is_some() => own = address(value),
                "c" if !audio => common = address(value),
                "a" if media.is_some() => maps.extend(value.strip_prefix("rtpmap:").and_then(map)),
                _ => {}
            }
        }
        let (port, numbers) = media?;
        let format = |number: u8| {
            let mapped = maps.iter().find(|format: &&Format| format.number == number).cloned();
            mapped.or_else(|| {
                let (_, name) = STATIC.iter().find(|(known, _)| *known == number)?;
                Some(Format { number, encoding: (*name).to_owned(), clock: 8000 })
            })
        };
        let formats: Vec<_> = numbers.into_iter().filter_map(format).collect();
        let address = own.or(common)?;
        (!formats.is_empty()).then_some(Session { address, port, formats })
    }

    /// Returns the first format of this offer that is among `known`.
    pub fn choose(&self, known: &[&str]) -> Option<&Format> {
        self.formats.iter().find(|format| {
            format.clock == 8000 && known.iter().any(|name| name.eq_ignore_ascii_case(&format.encoding))
        })
    }
}

/// Returns port and payload types of an `m=` line.
fn stream(value: &str) -> Option<(u16, Vec<u8>)> {
    let mut words = value.split_ascii_whitespace().skip(1);
    let port = words.next()?.split('/').next()?.parse().ok()?;
    words.next().filter(|protocol| protocol.starts_with("RTP/AVP"))?;
    Some((port, words.filter_map(|number| number.parse().ok().filter(|number| *number < 128)).collect()))
}

fn address(value: &str) -> Option<IpAddr> {
    value.split_ascii_whitespace().nth(2)?.split('/').next()?.parse().ok()
}

fn map(value: &str) -> Option<Format> {
    let (number, rest) = value.split_once(' ')?;
    let mut parts = rest.trim().split('/');
    let number = number.parse().ok().filter(|number| *number < 128)?;
    Some(Format { number, encoding: parts.next()?.to_owned(), clock: parts.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_sessions_are_parsed_unchanged() {
        let formats = vec![Format::of("PCMU"), Format::of("iLBC")];
        let session = Session { address: "192.0.2.1".parse().unwrap(), port: 4000, formats };
        let text = session.text(7);
        assert!(text.contains("m=audio 4000 RTP/AVP 0 97\r\n") && text.contains("a=rtpmap:97 iLBC/8000"));
        assert_eq!(Session::read(text.as_bytes()), Some(session));
    }

    #[test]
    fn the_first_audio_stream_is_read_with_its_own_address_and_static_types() {
        let text = "v=0\r\nc=IN IP4 192.0.2.1\r\nm=video 1 RTP/AVP 31\r\nc=IN IP4 192.0.2.9\r\n";
        assert_eq!(Session::read(text.as_bytes()), None);
        let text = format!(
            "{text}m=audio 5000/2 RTP/AVP 111 8 101 999\nc=IN IP4 192.0.2.2/127\na=rtpmap:111 opus/48000/2\n"
        );
        let session = Session::read(text.as_bytes()).unwrap();
        assert_eq!((session.address, session.port), ("192.0.2.2".parse().unwrap(), 5000));
        let names: Vec<_> = session.formats.iter().map(|format| (format.number, &*format.encoding)).collect();
        assert_eq!(names, [(111, "opus"), (8, "PCMA")]);
        assert_eq!(session.choose(&["pcmu", "pcma"]).unwrap().number, 8);
        assert_eq!(session.choose(&["GSM"]), None);
        for bad in ["", "m=audio x RTP/AVP 0", "m=audio 1 RTP/AVP 0", "c=IN IP4 192.0.2.1\nm=audio 1 TCP 0"] {
            assert_eq!(Session::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
