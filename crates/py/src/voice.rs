//! The quality of calls, as JSON.

use bentpipe_models::voice::codec::CODECS;
use bentpipe_models::voice::emodel::{category, mos, Parameters, Refused, SYMBOLS};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::{json, Map, Value};

/// The symbols of the E-model and the codecs that are known, as JSON.
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
        })
    });
    json!({"symbols": symbols.collect::<Vec<_>>(), "codecs": codecs.collect::<Vec<_>>()}).to_string()
}

/// Rates a call by the E-model, as JSON. Symbols that are not given have their default values.
#[pyfunction]
pub fn emodel(values: Vec<(String, f64)>) -> PyResult<String> {
    let mut call = Parameters::default();
    for (symbol, value) in values {
        call.set(&symbol, value).map_err(|refused| match refused {
            Refused::Unknown => PyKeyError::new_err(symbol),
            Refused::Undefined(least, most) if most.is_finite() => PyValueError::new_err(format!(
                "{symbol} = {value} is not allowed; allowed: {least} to {most}"
            )),
            Refused::Undefined(least, _) if least.is_finite() => PyValueError::new_err(format!(
                "{symbol} = {value} is not allowed; allowed: {least} and above"
            )),
            Refused::Undefined(..) => {
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
