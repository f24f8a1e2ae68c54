//! The signalling of SIP and IAX2 for programs with sockets of their own.

use bentpipe_core::{Streams, Time};
use bentpipe_voice::iax2;
use bentpipe_voice::sip::registrar::Registrar;
use bentpipe_voice::sip::sdp::{Format, Session};
use bentpipe_voice::sip::{Agent, Call, Event, Identity, Out, Timers};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use std::net::SocketAddr;

/// A SIP user agent over UDP. Its caller passes the time in nanoseconds, and fetches its actions
/// with `take`.
#[pyclass]
pub struct SipAgent {
    agent: Agent,
    out: Out,
}

fn at(nanoseconds: u64) -> Time {
    Time::from_nanos(nanoseconds)
}

fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("\"{text}\" is not an address and a port")))
}

/// Result of `take`: datagrams with their destinations, and events as JSON.
type Taken<'py> = (Vec<(String, Bound<'py, PyBytes>)>, Vec<String>);

#[pymethods]
impl SipAgent {
    #[new]
    fn new(user: &str, listens: &str, seed: u64) -> PyResult<SipAgent> {
        let me = Identity { user: user.to_owned(), address: address(listens)?, tcp: false };
        let mut agent = Agent::new(me, Timers::default(), Streams::new(seed, 0).stream("sip"));
        agent.registrar = Some(Registrar::default());
        Ok(SipAgent { agent, out: Out::default() })
    }

    fn invite(&mut self, now: u64, user: &str, uri: &str, to: &str, body: &str) -> PyResult<u32> {
        let Call(call) = self.agent.invite(at(now), user, uri, address(to)?, body, &mut self.out);
        Ok(call)
    }

    fn ring(&mut self, now: u64, call: u32) {
        self.agent.ring(at(now), Call(call), &mut self.out);
    }

    fn answer(&mut self, now: u64, call: u32, body: &str) {
        self.agent.answer(at(now), Call(call), body, &mut self.out);
    }

    fn refuse(&mut self, now: u64, call: u32, status: u16) {
        self.agent.refuse(at(now), Call(call), status, &mut self.out);
    }

    fn hang_up(&mut self, now: u64, call: u32) {
        self.agent.hang_up(at(now), Call(call), &mut self.out);
    }

    fn register(&mut self, now: u64, to: &str, seconds: u32) -> PyResult<()> {
        self.agent.register(at(now), address(to)?, seconds, &mut self.out);
        Ok(())
    }

    fn receive(&mut self, now: u64, from: &str, bytes: &[u8]) -> PyResult<()> {
        self.agent.receive(at(now), address(from)?, bytes, &mut self.out);
        Ok(())
    }

    fn wake(&mut self, now: u64) {
        if self.agent.next_wake() <= at(now) {
            self.agent.wake(at(now), &mut self.out);
        }
    }

    fn next_wake(&self) -> Option<u64> {
        Some(self.agent.next_wake()).filter(|wake| *wake < Time::MAX).map(Time::as_nanos)
    }

    /// Returns contact and address of a registered user.
    fn registered(&self, now: u64, user: &str) -> Option<(String, String)> {
        let binding = self.agent.registrar.as_ref()?.find(at(now), user)?;
        Some((binding.contact.clone(), binding.address.to_string()))
    }

    fn take<'py>(&mut self, py: Python<'py>) -> Taken<'py> {
        let Out { send, events, .. } = std::mem::take(&mut self.out);
        let send = send.into_iter().map(|(to, bytes)| (to.to_string(), PyBytes::new(py, &bytes)));
        (send.collect(), events.iter().map(said).collect())
    }
}

fn said(event: &Event) -> String {
    let value = match event {
        Event::Incoming { call, from, to, offer } => {
            json!({"event": "incoming", "call": call.0, "from": from, "to": to, "session": session(offer)})
        }
        Event::Progress { call, status } => json!({"event": "progress", "call": call.0, "status": status}),
        Event::Answered { call, answer } => {
            json!({"event": "answered", "call": call.0, "session": session(answer)})
        }
        Event::Acknowledged { call } => json!({"event": "acknowledged", "call": call.0}),
        Event::Failed { call, status } => json!({"event": "failed", "call": call.0, "status": status}),
        Event::Ended { call, by_other } => json!({"event": "ended", "call": call.0, "by_other": by_other}),
        Event::Registered { status } => json!({"event": "registered", "status": status}),
    };
    value.to_string()
}

/// One end of IAX2. Its caller passes the time in nanoseconds, and fetches datagrams, events and
/// speech with `take`.
#[pyclass]
#[derive(Default)]
pub struct IaxExchange {
    exchange: iax2::Exchange,
    out: iax2::Out,
    /// The speech that has arrived: call, time stamp in ms, and the encoded frames.
    heard: Vec<(u16, u32, Vec<u8>)>,
}

/// Result of `IaxExchange.take`: datagrams with their destinations, events as JSON, and speech.
type TakenIax<'py> = (Vec<(String, Bound<'py, PyBytes>)>, Vec<String>, Vec<(u16, u32, Bound<'py, PyBytes>)>);

#[pymethods]
impl IaxExchange {
    #[new]
    fn new() -> IaxExchange {
        IaxExchange::default()
    }

    fn call(&mut self, now: u64, peer: &str, to: &str, user: &str, encoding: &str) -> PyResult<Option<u16>> {
        let codec = encoded(encoding)?;
        Ok(self.exchange.call(at(now), address(peer)?, to, user, codec, &mut self.out).map(|call| call.0))
    }

    fn choose(&mut self, call: u16, encoding: &str) -> PyResult<()> {
        self.exchange.choose(iax2::Call(call), encoded(encoding)?);
        Ok(())
    }

    fn ring(&mut self, now: u64, call: u16) {
        self.exchange.ring(at(now), iax2::Call(call), &mut self.out);
    }

    fn answer(&mut self, now: u64, call: u16) {
        self.exchange.answer(at(now), iax2::Call(call), &mut self.out);
    }

    fn refuse(&mut self, now: u64, call: u16, cause: u8) {
        self.exchange.refuse(at(now), iax2::Call(call), cause, &mut self.out);
    }

    fn hang_up(&mut self, now: u64, call: u16) {
        self.exchange.hang_up(at(now), iax2::Call(call), &mut self.out);
    }

    fn register(&mut self, now: u64, call: u16, user: &str, seconds: u16, date: u32) {
        self.exchange.register(at(now), iax2::Call(call), user, (seconds, date), &mut self.out);
    }

    fn voice(&mut self, now: u64, call: u16, payload: &[u8]) {
        self.exchange.voice(at(now), iax2::Call(call), payload, 0, &mut self.out);
    }

    fn receive(&mut self, now: u64, from: &str, bytes: &[u8]) -> PyResult<()> {
        self.exchange.receive(at(now), address(from)?, bytes, &mut self.out);
        for event in &self.out.events {
            if let iax2::Event::Voice { call, timestamp, at, bytes: length, .. } = event {
                let payload = bytes[*at..*at + *length as usize].to_vec();
                self.heard.push((call.0, *timestamp, payload));
            }
        }
        self.out.events.retain(|event| !matches!(event, iax2::Event::Voice { .. }));
        Ok(())
    }

    fn wake(&mut self, now: u64) {
        if self.exchange.next_wake() <= at(now) {
            self.exchange.wake(at(now), &mut self.out);
        }
    }

    fn next_wake(&self) -> Option<u64> {
        Some(self.exchange.next_wake()).filter(|wake| *wake < Time::MAX).map(Time::as_nanos)
    }

    fn take<'py>(&mut self, py: Python<'py>) -> TakenIax<'py> {
        let iax2::Out { send, events, .. } = std::mem::take(&mut self.out);
        let send = send.into_iter().map(|sending| (sending.to.to_string(), PyBytes::new(py, &sending.bytes)));
        let heard = std::mem::take(&mut self.heard).into_iter();
        let heard = heard.map(|(call, timestamp, payload)| (call, timestamp, PyBytes::new(py, &payload)));
        (send.collect(), events.iter().filter_map(said_by_iax2).collect(), heard.collect())
    }
}

/// Returns the codec of IAX2 for an encoding's name in RTP.
fn encoded(encoding: &str) -> PyResult<iax2::frame::Codec> {
    iax2::frame::Codec::of(encoding)
        .ok_or_else(|| PyValueError::new_err(format!("IAX2 has no number for \"{encoding}\"")))
}

fn said_by_iax2(event: &iax2::Event) -> Option<String> {
    use iax2::Event;
    let value = match event {
        Event::Incoming { call, from, to, codec, capability } => {
            // The codec that the caller prefers, or bentpipe's first codec that the caller can
            // decode.
            let names = ["PCMU", "PCMA"];
            let can =
                |name: &&&str| iax2::frame::Codec::of(name).is_some_and(|codec| codec.0 & capability.0 != 0);
            let first = codec.encoding().filter(|name| names.contains(name));
            let encoding = first.or_else(|| names.iter().find(can).copied());
            json!({"event": "incoming", "call": call.0, "from": from, "to": to, "encoding": encoding})
        }
        Event::Progress { call, ringing } => {
            json!({"event": "progress", "call": call.0, "ringing": ringing})
        }
        Event::Answered { call } => json!({"event": "answered", "call": call.0}),
        Event::Failed { call, cause } => json!({"event": "failed", "call": call.0, "status": cause}),
        Event::Ended { call, by_other } => {
            json!({"event": "ended", "call": call.0, "by_other": by_other})
        }
        Event::Registering { call, user, address, seconds } => json!({
            "event": "registering", "call": call.0, "user": user, "address": address.to_string(), "seconds": seconds
        }),
        Event::Voice { .. } | Event::Lag { .. } => return None,
    };
    Some(value.to_string())
}

/// Returns the media address in a session description, and its first encoding that bentpipe can
/// mix; `None` for both if there is none.
fn session(body: &[u8]) -> serde_json::Value {
    let Some(session) = Session::read(body) else { return serde_json::Value::Null };
    let chosen = session.choose(&["PCMU", "PCMA"]);
    json!({
        "address": session.address.to_string(),
        "port": session.port,
        "encoding": chosen.map(|format| format.encoding.to_uppercase()),
        "payload_type": chosen.map(|format| format.number),
    })
}

/// Returns a session description that expects media there in these encodings.
#[pyfunction]
pub fn session_description(host: &str, port: u16, encodings: Vec<String>) -> PyResult<String> {
    let address = host.parse().map_err(|_| PyValueError::new_err(format!("\"{host}\" is not an address")))?;
    let formats = encodings.iter().map(|encoding| Format::of(encoding)).collect();
    Ok(Session { address, port, formats }.text(u64::from(port)))
}
