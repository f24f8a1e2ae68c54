//! SIP messages (RFC 3261, section 7): a parser and a writer.
//!
//! The parser accepts the forms that sections 7.3 and 25 permit: folded lines, compact names, and
//! several values of a header field in one line. It refuses all other input with a reason, and
//! never panics. Header fields keep their order. [`Address`], [`Via`] and [`Sequence`] parse the
//! values that transactions and dialogs need.

use std::fmt;

/// Maximum size of a message in bytes: the size of a UDP datagram.
pub const LARGEST: usize = 65_535;

/// Maximum number of header fields in a message.
const MAX_FIELDS: usize = 256;

/// The reason why a message is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParseError {
    /// The message ends before the empty line after the header fields, or before the end of its
    /// body.
    Incomplete,
    /// The message is longer than [`LARGEST`], or has too many header fields.
    TooLong,
    /// The start line is neither a request line nor a status line of SIP/2.0.
    StartLine,
    /// A header field is not `Name: value` in UTF-8.
    Field,
    /// The mandatory header field with this name (section 8.1.1) is missing or malformed.
    Missing(&'static str),
    /// Content-Length is not a number, or is larger than the data.
    Length,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Incomplete => f.write_str("the message is not complete"),
            ParseError::TooLong => {
                write!(f, "the message is longer than {LARGEST} bytes or {MAX_FIELDS} header fields")
            }
            ParseError::StartLine => f.write_str("the first line is not one of SIP/2.0"),
            ParseError::Field => f.write_str("a header field is not \"name: value\""),
            ParseError::Missing(name) => write!(f, "the header field {name} is missing or cannot be read"),
            ParseError::Length => f.write_str("Content-Length is not the length of the body"),
        }
    }
}

/// The first line of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// A request: its method and its URI.
    Request {
        /// The method, such as INVITE.
        method: String,
        /// The URI to which the request is addressed.
        uri: String,
    },
    /// A response: its status code and its reason phrase.
    Response {
        /// The status code, 100 to 699.
        status: u16,
        /// The reason phrase, such as "Busy Here".
        reason: String,
    },
}

/// A request or a response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The first line, which distinguishes requests from responses.
    pub start: Start,
    /// Header fields without Content-Length: names in the long form with the usual capitals, and
    /// values.
    pub fields: Vec<(String, String)>,
    /// The body, which follows the header fields.
    pub body: Vec<u8>,
}

impl Message {
    /// Creates a request without header fields.
    pub fn request(method: &str, uri: &str) -> Message {
        let start = Start::Request { method: method.to_owned(), uri: uri.to_owned() };
        Message { start, fields: Vec::new(), body: Vec::new() }
    }

    /// Creates a response to `request` (section 8.2.6): with the same Via, From, To, Call-ID, CSeq
    /// and Record-Route. If To has no tag, `tag` is added to it.
    pub fn response(request: &Message, status: u16, tag: &str) -> Message {
        let start = Start::Response { status, reason: phrase(status).to_owned() };
        let mut message = Message { start, fields: Vec::new(), body: Vec::new() };
        for (name, value) in &request.fields {
            let to = name == "To" && status > 100 && tag_of(value).is_none();
            match name.as_str() {
                "To" if to && !tag.is_empty() => message.push(name, &format!("{value};tag={tag}")),
                "Via" | "From" | "To" | "Call-ID" | "CSeq" => message.push(name, value),
                "Record-Route" if (101..300).contains(&status) => message.push(name, value),
                _ => {}
            }
        }
        message
    }

    /// Appends a header field at the end.
    pub fn push(&mut self, name: &str, value: &str) {
        self.fields.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the same message with a header field.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Message {
        self.push(name, value);
        self
    }

    /// Returns the same message with a body of a content type.
    #[must_use]
    pub fn with_body(mut self, kind: &str, body: &str) -> Message {
        self.push("Content-Type", kind);
        body.as_bytes().clone_into(&mut self.body);
        self
    }

    /// Returns the first value of a header field.
    pub fn field<'a>(&'a self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Returns all values of a header field, from the top.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl DoubleEndedIterator<Item = &'a str> + use<'a, 'n> {
        let same = self.fields.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        same.map(|(_, value)| value.as_str())
    }

    /// Returns the method of the request, or of the request that the response answers. Empty if
    /// CSeq cannot be read.
    pub fn method(&self) -> &str {
        match &self.start {
            Start::Request { method, .. } => method,
            Start::Response { .. } => {
                self.field("CSeq").and_then(Sequence::read).map_or("", |sequence| sequence.method)
            }
        }
    }

    /// Returns the status of a response.
    pub fn status(&self) -> Option<u16> {
        match self.start {
            Start::Response { status, .. } => Some(status),
            Start::Request { .. } => None,
        }
    }

    /// Returns the topmost Via, which names the sender of the request.
    pub fn via(&self) -> Option<Via<'_>> {
        self.field("Via").and_then(Via::read)
    }

    /// Returns the sequence number in CSeq; 0 if it cannot be read.
    pub fn number(&self) -> u32 {
        self.field("CSeq").and_then(Sequence::read).map_or(0, |sequence| sequence.number)
    }

    /// Returns the tag of the header field `name` (From or To), if any.
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.field(name).and_then(tag_of)
    }

    /// Returns the bytes of the message, with a Content-Length.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = match &self.start {
            Start::Request { method, uri } => format!("{method} {uri} SIP/2.0\r\n"),
            Start::Response { status, reason } => format!("SIP/2.0 {status} {reason}\r\n"),
        };
        for (name, value) in &self.fields {
            text.extend([name, ": ", value, "\r\n"]);
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Parses a datagram with one message. Without a Content-Length, the body ends with the
    /// datagram (section 18.3).
    ///
    /// # Errors
    /// Returns the reason why the datagram is not a message.
    pub fn read(bytes: &[u8]) -> Result<Message, ParseError> {
        let (mut message, head, length) = Message::head(bytes)?;
        let rest = &bytes[head..];
        let body = match length {
            Some(length) => rest.get(..length).ok_or(ParseError::Length)?,
            None => rest,
        };
        body.clone_into(&mut message.body);
        message.checked()
    }

    /// Parses the first message of a stream. Returns the message and the number of bytes that were
    /// read. A message over TCP must have a Content-Length (section 20.14). Empty lines before the
    /// message are skipped.
    ///
    /// # Errors
    /// Returns [`ParseError::Incomplete`] if more bytes are needed. Any other error means that the
    /// remaining stream cannot be parsed.
    pub fn read_stream(bytes: &[u8]) -> Result<(Message, usize), ParseError> {
        let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let (mut message, head, length) = Message::head(&bytes[blank..])?;
        let (from, length) = (blank + head, length.ok_or(ParseError::Missing("Content-Length"))?);
        if length > LARGEST {
            return Err(ParseError::TooLong);
        }
        let body = bytes.get(from..from + length).ok_or(ParseError::Incomplete)?;
        body.clone_into(&mut message.body);
        Ok((message.checked()?, from + length))
    }

    /// Parses the message up to the empty line. Returns the message without its body, the number of
    /// bytes read, and Content-Length.
    fn head(bytes: &[u8]) -> Result<(Message, usize, Option<usize>), ParseError> {
        let within = &bytes[..bytes.len().min(LARGEST)];
        let end = within.windows(4).position(|four| four == b"\r\n\r\n");
        let end =
            end.ok_or(if bytes.len() > LARGEST { ParseError::TooLong } else { ParseError::Incomplete })?;
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| ParseError::Field)?;
        let mut lines = text.split("\r\n");
        let start = start(lines.next().unwrap_or_default())?;
        let (mut fields, mut length): (Vec<(String, String)>, _) = (Vec::new(), None);
        for line in lines {
            if line.starts_with([' ', '\t']) {
                let (_, value) = fields.last_mut().ok_or(ParseError::Field)?;
                value.push(' ');
                value.push_str(line.trim());
                continue;
            }
            let (name, value) = line.split_once(':').ok_or(ParseError::Field)?;
            let (name, value) = (name.trim_end(), value.trim());
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(ParseError::Field);
            }
            if fields.len() == MAX_FIELDS {
                return Err(ParseError::TooLong);
            }
            fields.push((long_form(name), value.to_owned()));
        }
        let mut split = Vec::new();
        for (name, value) in fields {
            match name.as_str() {
                "Content-Length" => length = Some(value.parse().map_err(|_| ParseError::Length)?),
                "Via" | "Contact" | "Route" | "Record-Route" => {
                    split.extend(values(&value).map(|value| (name.clone(), value.to_owned())));
                }
                _ => split.push((name, value)),
            }
        }
        Ok((Message { start, fields: split, body: Vec::new() }, end + 4, length))
    }

    /// Refuses a message that lacks mandatory header fields (section 8.1.1).
    fn checked(self) -> Result<Message, ParseError> {
        let missing = |name: &'static str| Err(ParseError::Missing(name));
        if self.field("Call-ID").is_none_or(str::is_empty) {
            return missing("Call-ID");
        }
        for name in ["From", "To"] {
            if self.field(name).and_then(Address::read).is_none() {
                return missing(if name == "From" { "From" } else { "To" });
            }
        }
        let Some(sequence) = self.field("CSeq").and_then(Sequence::read) else { return missing("CSeq") };
        if matches!(&self.start, Start::Request { method, .. } if method != sequence.method) {
            return missing("CSeq");
        }
        if self.via().is_none() {
            return missing("Via");
        }
        Ok(self)
    }
}

fn start(line: &str) -> Result<Start, ParseError> {
    let wrong = ParseError::StartLine;
    if let Some(rest) = line.strip_prefix("SIP/2.0 ") {
        let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let status = status.parse().ok().filter(|status| is_status(*status)).ok_or(wrong)?;
        return Ok(Start::Response { status, reason: reason.to_owned() });
    }
    let (method, rest) = line.split_once(' ').ok_or(wrong)?;
    let uri = rest.strip_suffix(" SIP/2.0").ok_or(wrong)?;
    let good = !method.is_empty() && method.bytes().all(is_token) && !uri.is_empty() && !uri.contains(' ');
    good.then(|| Start::Request { method: method.to_owned(), uri: uri.to_owned() }).ok_or(wrong)
}

fn is_status(status: u16) -> bool {
    (100..700).contains(&status)
}

/// Returns true for a character of a token (section 25.1).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&byte)
}

/// Returns the name of a header field in its long form (section 7.3.3) and with the usual capitals.
fn long_form(name: &str) -> String {
    const NAMES: [(&str, &str); 14] = [
        ("v", "Via"),
        ("f", "From"),
        ("t", "To"),
        ("i", "Call-ID"),
        ("m", "Contact"),
        ("l", "Content-Length"),
        ("c", "Content-Type"),
        ("e", "Content-Encoding"),
        ("s", "Subject"),
        ("k", "Supported"),
        ("", "CSeq"),
        ("", "Route"),
        ("", "Record-Route"),
        ("", "Expires"),
    ];
    let known = NAMES
        .iter()
        .find(|(short, long)| name.eq_ignore_ascii_case(short) || name.eq_ignore_ascii_case(long));
    known.map_or(name, |(_, long)| long).to_owned()
}

/// Returns the comma-separated values of a header field. Commas within quotes and angle brackets
/// are not separators.
fn values(list: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped, mut angle) = (false, false, false);
    let parts = list.split(move |character| {
        if escaped {
            escaped = false;
            return false;
        }
        match character {
            '\\' => escaped = quoted,
            '"' if !angle => quoted = !quoted,
            '<' if !quoted => angle = true,
            '>' if !quoted => angle = false,
            ',' => return !quoted && !angle,
            _ => {}
        }
        false
    });
    parts.map(str::trim).filter(|value| !value.is_empty())
}

/// The value of From, To, Contact or Route: a URI, and the parameters of the header field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address<'a> {
    /// The URI, with its own parameters.
    pub uri: &'a str,
    parameters: &'a str,
}

impl<'a> Address<'a> {
    /// Reads `"name" <uri>;parameters` or `uri;parameters`: without brackets, the parameters belong
    /// to the header field (section 20).
    pub fn read(value: &'a str) -> Option<Address<'a>> {
        let mut rest = value.trim();
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = quoted.find(|character| {
                let ends = character == '"' && !escaped;
                escaped = character == '\\' && !escaped;
                ends
            })?;
            rest = quoted[end + 1..].trim_start();
        }
        let (uri, parameters) = match rest.find('<') {
            Some(open) => {
                let close = open + rest[open..].find('>')?;
                (&rest[open + 1..close], &rest[close + 1..])
            }
            None => rest.split_at(rest.find(';').unwrap_or(rest.len())),
        };
        let uri = uri.trim();
        (!uri.is_empty() && !uri.contains([' ', '<', '"'])).then_some(Address { uri, parameters })
    }

    /// Returns a parameter of the header field, empty if it has no value.
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        parameter(self.parameters, name)
    }

    /// Returns the user of the URI, if any: the part before the `@`.
    pub fn user(&self) -> Option<&'a str> {
        self.uri.split_once(':')?.1.split_once('@').map(|(user, _)| user)
    }

    /// Returns host and port of the URI, without its parameters.
    pub fn host(&self) -> &'a str {
        let rest = self.uri.split_once(':').map_or(self.uri, |(_, rest)| rest);
        let rest = rest.split_once('@').map_or(rest, |(_, host)| host);
        rest.split([';', '?']).next().unwrap_or_default()
    }
}

/// Returns a parameter from `;name=value;name`.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split(';').find_map(|parameter| {
        let (known, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        known.trim().eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn tag_of(value: &str) -> Option<&str> {
    Address::read(value)?.parameter("tag").filter(|tag| !tag.is_empty())
}

/// The value of a Via: the transport protocol and the sender of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Via<'a> {
    /// The transport protocol, such as UDP.
    pub transport: &'a str,
    /// Host and port of the sender (sent-by).
    pub sent_by: &'a str,
    parameters: &'a str,
}

impl<'a> Via<'a> {
    /// Reads `SIP/2.0/UDP host:port;parameters`.
    pub fn read(value: &'a str) -> Option<Via<'a>> {
        let (protocol, rest) = value.trim().split_once([' ', '\t'])?;
        let mut parts = protocol.split('/');
        let sip = parts.next()?.eq_ignore_ascii_case("SIP") && parts.next()? == "2.0";
        let transport = parts.next()?;
        let (sent_by, parameters) = rest.split_at(rest.find(';').unwrap_or(rest.len()));
        let sent_by = sent_by.trim();
        let good = sip && parts.next().is_none() && !transport.is_empty() && !sent_by.is_empty();
        good.then_some(Via { transport, sent_by, parameters })
    }

    /// Returns a parameter, empty if it has no value.
    pub fn parameter(&self, name: &str) -> Option<&'a str> {
        parameter(self.parameters, name)
    }

    /// Returns the branch, which names the transaction (section 17.1.3).
    pub fn branch(&self) -> &'a str {
        self.parameter("branch").unwrap_or_default()
    }
}

/// The value of a CSeq header field (section 20.16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence<'a> {
    /// Number of the request in its dialog, less than 2^31.
    pub number: u32,
    /// The method of the request to which the message belongs.
    pub method: &'a str,
}

impl<'a> Sequence<'a> {
    /// Reads a value of the form `number METHOD`.
    pub fn read(value: &'a str) -> Option<Sequence<'a>> {
        let (number, method) = value.trim().split_once([' ', '\t'])?;
        let (number, method) = (number.parse().ok()?, method.trim());
        let good = number < 1 << 31 && !method.is_empty() && method.bytes().all(is_token);
        good.then_some(Sequence { number, method })
    }
}

/// Returns the reason phrase of a status (section 21).
pub fn phrase(status: u16) -> &'static str {
    match status {
        100 => "Trying",
        180 => "Ringing",
        183 => "Session Progress",
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        415 => "Unsupported Media Type",
        480 => "Temporarily Unavailable",
        481 => "Call/Transaction Does Not Exist",
        486 => "Busy Here",
        487 => "Request Terminated",
        488 => "Not Acceptable Here",
        500 => "Server Internal Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        600 => "Busy Everywhere",
        603 => "Decline",
        _ => match status / 100 {
            1 => "Progress",
            2 => "Success",
            3 => "Redirection",
            4 => "Request Failure",
            5 => "Server Failure",
            _ => "Global Failure",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The INVITE of RFC 3261, section 24.2, message F1, with a folded line, compact names and two
    /// values of Via in one field.
    const INVITE: &str = "INVITE sip:bob@biloxi.com SIP/2.0\r\n\
        v: SIP/2.0/TCP pc33.atlanta.com;branch=z9hG4bKnashds8 , SIP/2.0/UDP other;received=192.0.2.1\r\n\
        Max-Forwards: 70\r\n\
        To: \"Bob, \\\"B\\\" <x>\" <sip:bob@biloxi.com>\r\n\
        f: Alice\r\n\t<sip:alice@atlanta.com>;tag=1928301774\r\n\
        Call-ID: a84b4c76e66710\r\n\
        CSEQ: 314159 INVITE\r\n\
        m: <sip:alice@pc33.atlanta.com;transport=tcp>\r\n\
        l: 4\r\n\r\nbody";

    #[test]
    fn a_request_is_parsed_in_all_forms_of_the_standard() {
        let message = Message::read(INVITE.as_bytes()).unwrap();
        assert_eq!(message.method(), "INVITE");
        assert_eq!(message.number(), 314_159);
        let via = message.via().unwrap();
        assert_eq!((via.transport, via.sent_by, via.branch()), ("TCP", "pc33.atlanta.com", "z9hG4bKnashds8"));
        assert_eq!(message.all("Via").count(), 2);
        assert_eq!(message.tag("From"), Some("1928301774"));
        assert_eq!(message.tag("To"), None);
        let to = Address::read(message.field("To").unwrap()).unwrap();
        assert_eq!((to.uri, to.user(), to.host()), ("sip:bob@biloxi.com", Some("bob"), "biloxi.com"));
        let contact = Address::read(message.field("Contact").unwrap()).unwrap();
        assert_eq!((contact.host(), contact.parameter("transport")), ("pc33.atlanta.com", None));
        assert_eq!(message.body, b"body");
        // A written message is read back unchanged.
        assert_eq!(Message::read(&message.bytes()).unwrap(), message);
    }

    #[test]
    fn a_response_repeats_the_fields_of_its_transaction_and_dialog() {
        let request = Message::read(INVITE.as_bytes()).unwrap();
        let response = Message::response(&request, 180, "a6c85cf");
        let read = Message::read(&response.bytes()).unwrap();
        assert_eq!((read.status(), read.method(), read.number()), (Some(180), "INVITE", 314_159));
        assert_eq!((read.tag("From"), read.tag("To")), (Some("1928301774"), Some("a6c85cf")));
        assert_eq!(read.all("Via").collect::<Vec<_>>(), request.all("Via").collect::<Vec<_>>());
        // 100 has no tag (section 8.2.6.2).
        assert_eq!(Message::response(&request, 100, "a6c85cf").tag("To"), None);
    }

    #[test]
    fn a_stream_is_split_into_messages_by_content_length() {
        let two = format!("\r\n{INVITE}{INVITE}");
        for end in 0..two.len() {
            let read = Message::read_stream(&two.as_bytes()[..end]);
            match end < INVITE.len() + 2 {
                true => assert_eq!(read, Err(ParseError::Incomplete), "{end}"),
                false => assert_eq!(read.unwrap().1, INVITE.len() + 2),
            }
        }
    }

    #[test]
    fn malformed_messages_are_refused_with_the_reason() {
        let with = |from: &str, to: &str| Message::read(INVITE.replace(from, to).as_bytes()).unwrap_err();
        assert_eq!(with(" SIP/2.0\r\n", " HTTP/1.1\r\n"), ParseError::StartLine);
        assert_eq!(with("INVITE sip", "INV ITE sip"), ParseError::StartLine);
        assert_eq!(with("l: 4", "l: 5"), ParseError::Length);
        assert_eq!(with("l: 4", "l: -4"), ParseError::Length);
        assert_eq!(with("\r\n\r\n", "\r\n"), ParseError::Incomplete);
        assert_eq!(with("Max-Forwards: 70", "Max Forwards: 70"), ParseError::Field);
        assert_eq!(with("Max-Forwards: 70", "Max-Forwards"), ParseError::Field);
        assert_eq!(with("314159 INVITE", "314159 BYE"), ParseError::Missing("CSeq"));
        assert_eq!(with("314159 INVITE", "2147483648 INVITE"), ParseError::Missing("CSeq"));
        assert_eq!(with("a84b4c76e66710", ""), ParseError::Missing("Call-ID"));
        assert_eq!(with("<sip:bob@biloxi.com>", ""), ParseError::Missing("To"));
        assert_eq!(with("SIP/2.0/TCP", "SIP/3.0/TCP"), ParseError::Missing("Via"));
    }
}
