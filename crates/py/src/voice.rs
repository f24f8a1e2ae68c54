//! The quality of calls, as JSON.

use bentpipe_core::{Span, Time};
use bentpipe_voice::codec::{find, CODECS};
use bentpipe_voice::emodel::{category, mos, InvalidParameter, Parameters, SYMBOLS};
use bentpipe_voice::playout;
use bentpipe_voice::rtp::Rtp;
use bentpipe_voice::stream::{Clocks, Origin, Receiver};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::{json, Map, Value};

/// Returns the symbols of the E-model and the codecs that are known, as JSON.
#[pyfunction]
pub fn voice() -> String {
    let symbols = SYMBOLS.iter().map(|symbol| {
        let (name, unit, about) = (symbol.name, symbol.unit, symbol.about);
        json!({"name": name, "unit": unit, "default": symbol.default, "permitted": symbol.permitted, "about": about})
    });
    let codecs = CODECS.iter().map(|codec| {
        json!({
            "name": codec.name,
            "frame_ms": codec.frame_ms,
            "frame_bytes": codec.frame_bytes,
            "Ie": codec.ie,
            "Bpl": codec.bpl,
            "assumed": codec.assumed,
            "source": codec.source,
            "packet_ms": codec.frame_ms * f64::from(codec.usual_frames()),
            "packet_bytes": codec.payload(codec.usual_frames()),
            "lookahead_ms": codec.rtp.lookahead_ms,
            "payload_type": codec.rtp.payload_type,
            "units": codec.frame_units() * codec.usual_frames(),
        })
    });
    json!({"symbols": symbols.collect::<Vec<_>>(), "codecs": codecs.collect::<Vec<_>>()}).to_string()
}

/// Rates a call by the E-model, as JSON. Missing symbols have their default values.
#[pyfunction]
pub fn emodel(values: Vec<(String, f64)>) -> PyResult<String> {
    let mut call = Parameters::default();
    for (symbol, value) in values {
        call.set(&symbol, value).map_err(|refused| match refused {
            InvalidParameter::Unknown => PyKeyError::new_err(symbol),
            InvalidParameter::Undefined(least, most) if most.is_finite() => PyValueError::new_err(format!(
                "{symbol} = {value} is not allowed; allowed: {least} to {most}"
            )),
            InvalidParameter::Undefined(least, _) if least.is_finite() => PyValueError::new_err(format!(
                "{symbol} = {value} is not allowed; allowed: {least} and above"
            )),
            InvalidParameter::Undefined(..) => {
                PyValueError::new_err(format!("{symbol} = {value} is not allowed; allowed: a finite number"))
            }
        })?;
    }
    let rating = call.rate();
    let mut said: Map<String, Value> =
        rating.parts().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let bare = rating.r - call.a;
    said.insert("A".to_owned(), json!(call.a));
    said.insert("without_advantage".to_owned(), json!({"R": bare, "MOS": mos(bare)}));
    said.insert("category".to_owned(), json!(category(rating.r)));
    let beyond = call.beyond().into_iter().map(|(symbol, value)| {
        let (least, most) = symbol.permitted;
        let (name, unit) = (symbol.name, if symbol.unit == "1" { "" } else { symbol.unit });
        let text =
            format!("{name} = {value} {unit} lies outside the range of G.107, {least} to {most} {unit}");
        text.replace("  ", " ").trim_end().to_owned()
    });
    said.insert("beyond".to_owned(), json!(beyond.collect::<Vec<_>>()));
    Ok(Value::Object(said).to_string())
}

/// Returns the quality of a stream of RTP packets for a listener with the usual de-jitter buffer,
/// and its rating by the E-model, as JSON. A packet is its number and its arrival in seconds after
/// the first sample was spoken; packets are in the order of their arrival.
#[pyfunction]
pub fn hear(codec: &str, packets: Vec<(u32, f64)>) -> PyResult<String> {
    let codec = find(codec).ok_or_else(|| PyKeyError::new_err(codec.to_owned()))?;
    let frames = codec.usual_frames();
    let units = codec.frame_units() * frames;
    let origin = Origin { timestamp: 0, at: Time::ZERO };
    let usual = playout::Config::default();
    let mut receiver = Receiver::new(codec, frames, &usual, Clocks::default(), Some(origin));
    for (number, arrival) in packets {
        if !(0.0..1e9).contains(&arrival) {
            return Err(PyValueError::new_err(format!("an arrival at {arrival} s; allowed: 0 to 1e9 s")));
        }
        let rtp = Rtp {
            marker: number == 0,
            payload_type: codec.rtp.payload_type,
            sequence: number as u16,
            timestamp: number.wrapping_mul(units),
            ssrc: 1,
        };
        receiver.receive(Time::ZERO + Span::from_secs_f64(arrival), &rtp);
    }
    let totals = receiver.totals();
    let quality = totals.quality(codec, 0.0);
    Ok(json!({
        "expected": totals.expected,
        "lost": totals.lost,
        "late": totals.late,
        "loss": 100.0 * (totals.loss() + totals.late_fraction()),
        "burst_ratio": totals.bursts.ratio(),
        "jitter": totals.jitter(),
        "jitter_max": totals.jitter_max,
        "delay": totals.delay(),
        "buffering": totals.buffering(),
        "ie_eff": quality.ie_eff,
        "r": quality.r,
        "mos": quality.mos,
    })
    .to_string())
}
