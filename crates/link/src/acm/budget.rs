//! Link budget: the Es/N0 of a path from the powers, gains and losses on it.
//!
//! For each leg, uplink and downlink, with Boltzmann's constant k (-228.599 dBW/K/Hz) and
//! everything else in dB:
//!
//! | | | |
//! | --- | --- | --- |
//! | free space | L = 20 log10(4 pi d f / c) | ITU-R P.525, equation 3 |
//! | antenna | G = 10 log10(eta (pi D f / c)^2) | aperture efficiency eta, diameter D |
//! | pointing | 12 (theta / theta3)^2, theta3 = 70 deg c / (f D) | main lobe, ITU-R S.465 |
//! | noise | C/N0 = EIRP - L - losses + G/T - k | |
//! | | Es/N0 = C/N0 - 10 log10(symbol rate) | |
//! | interference | each C/I as a noise of its own | in the bandwidth of the symbol rate |
//!
//! The noises of all legs and interferences add up. The implementation loss is subtracted from the
//! sum.
//!
//! ```toml
//! [network.sat.forward.acm.budget]
//! symbol_rate = "30 MBd"
//! down.eirp_dbw = 54.0
//! down.gt_db_k = 14.0
//! down.frequency = "19.7 GHz"
//! down.distance = "37500 km"
//! down.losses_db = { rain = 2.0 }
//! interference_db = { "adjacent satellite" = 22.0 }
//! implementation_db = 1.0
//! ```

use super::{Modcod, Rule};
use bentpipe_core::{math, Angle, Distance, Fraction, Frequency, Problems, Real};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, value::MapAccessDeserializer, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// A power, gain or loss in dB, from -300 to 300.
pub type Level = Real<-300_000, 300_000>;

/// A link budget: a table, or comma-separated rows of `key,value` with the keys of the table
/// (`down.eirp_dbw,54`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Budget(Table);

/// A link budget: powers, gains and losses from which the Es/N0 follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkBudget")]
pub struct Table {
    /// Symbol rate of the carrier, such as "30 MBd".
    pub symbol_rate: Frequency,
    /// The leg to the satellite. Its noise is neglected if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Leg>,
    /// The leg from the satellite. Its noise is neglected if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Leg>,
    /// Carrier to interference ratios in dB by name, for example of adjacent satellites,
    /// intermodulation and the other polarisation. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interference_db: BTreeMap<String, Level>,
    /// Implementation loss of modulator and demodulator in dB, relative to theory. Default 0 dB.
    #[serde(default = "none")]
    pub implementation_db: Level,
    /// Required Es/N0 in dB. The margin is the excess of the budget over it; a negative margin
    /// gives a warning. If unset, the threshold of the most robust MODCOD plus the margin of `acm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_esn0_db: Option<Level>,
}

/// One leg of a link budget: a transmitter, free space and a receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BudgetLeg")]
pub struct Leg {
    /// Frequency of the carrier, for example "19.7 GHz".
    pub frequency: Frequency,
    /// Slant range: the distance between transmitter and receiver, from which the free-space loss
    /// follows.
    pub distance: Distance,
    /// Equivalent isotropically radiated power of the carrier in dBW, output back-off included.
    /// Give either this or `power_dbw` and `transmit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eirp_dbw: Option<Level>,
    /// Power of the carrier at the transmitting antenna, in dBW. Needs `transmit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_dbw: Option<Level>,
    /// Antenna of the transmitter, which gives the EIRP together with `power_dbw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit: Option<Antenna>,
    /// Figure of merit of the receiver (G/T) in dB/K. Give either this or `noise_k` and `receive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gt_db_k: Option<Level>,
    /// System noise temperature of the receiver in kelvin. Needs `receive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_k: Option<Real<100, 1_000_000_000>>,
    /// Antenna of the receiver, which gives G/T together with `noise_k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<Antenna>,
    /// Further losses in dB by name: atmosphere, rain, feeder, polarisation, pointing, antenna
    /// pattern towards the receiver. Default none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses_db: BTreeMap<String, Level>,
}

/// An antenna, by its gain or by its diameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Antenna {
    /// Gain in dBi. Give either this or `diameter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_dbi: Option<Level>,
    /// Diameter of a parabolic reflector, which gives the gain. Give either this or `gain_dbi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter: Option<Distance>,
    /// Aperture efficiency: the collected fraction of the power that reaches the dish, 0 to 1.
    /// Default 0.65, typical of parabolic antennas.
    #[serde(default = "efficiency")]
    pub efficiency: Fraction,
    /// Angle between the antenna's axis and the direction of the other end. Default 0 deg; needs
    /// `diameter`.
    #[serde(default = "on_axis")]
    pub pointing_error: Angle,
}

fn none() -> Level {
    Level::thousandths(0)
}

fn efficiency() -> Fraction {
    Fraction::thousandths(650)
}

fn on_axis() -> Angle {
    Angle::from_degrees(0.0)
}

/// The speed of light in m/s.
const LIGHT: f64 = 299_792_458.0;
/// Boltzmann's constant in J/K (SI, exact).
const BOLTZMANN: f64 = 1.380_649e-23;

fn db(ratio: f64) -> f64 {
    10.0 * math::log10(ratio)
}

/// A line of a link budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name of the line, such as "Downlink: Free space".
    pub name: String,
    /// Value of the line; losses are negative.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'static str,
    /// True if the value is the result of the previous lines.
    pub result: bool,
}

/// A link budget in printable form, with its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sheet {
    /// The lines of the budget, in order.
    pub lines: Vec<Line>,
    /// Es/N0 in dB that results from the budget.
    pub esn0_db: f64,
    /// Required Es/N0 in dB.
    pub required_db: f64,
    /// Margin in dB: the excess over the required Es/N0, or negative.
    pub margin_db: f64,
    /// Name of the MODCOD that the Es/N0 allows; `None` in an outage.
    pub modcod: Option<&'static str>,
}

impl Sheet {
    /// Returns a warning if the margin is negative.
    pub fn warning(&self) -> Option<String> {
        let Sheet { esn0_db, required_db, margin_db, .. } = self;
        (*margin_db < 0.0).then(|| {
            format!("the margin is gone: the Es/N0 is {esn0_db:.2} dB, {:.2} dB below the {required_db:.2} dB that the link needs", -margin_db)
        })
    }
}

fn given(name: impl Into<String>, value: f64, unit: &'static str) -> Line {
    Line { name: name.into(), value, unit, result: false }
}

fn result(name: impl Into<String>, value: f64, unit: &'static str) -> Line {
    Line { name: name.into(), value, unit, result: true }
}

impl Antenna {
    /// Returns the gain on the axis, in dBi.
    fn gain(&self, frequency: Frequency) -> f64 {
        let by_size = |diameter: Distance| {
            let across = std::f64::consts::PI * diameter.metres() * frequency.hertz() / LIGHT;
            db(self.efficiency.value() * across * across)
        };
        self.gain_dbi
            .map(Level::value)
            .or(self.diameter.map(by_size))
            .expect("the configuration has been checked")
    }

    /// Returns the pointing loss, in dB.
    fn pointing(&self, frequency: Frequency) -> f64 {
        let loss = |diameter: Distance| {
            let beam = 70.0 * LIGHT / frequency.hertz() / diameter.metres();
            12.0 * (self.pointing_error.degrees() / beam).powi(2)
        };
        self.diameter.map_or(0.0, loss)
    }

    fn lines(&self, name: &str, frequency: Frequency) -> [Line; 2] {
        let gain = given(format!("{name} antenna gain"), self.gain(frequency), "dBi");
        [gain, given(format!("{name} antenna pointing"), -self.pointing(frequency), "dB")]
    }

    fn check(&self, problems: &mut Problems) {
        match (self.gain_dbi, self.diameter) {
            (Some(_), None) if self.pointing_error != on_axis() => {
                problems.add(
                    "pointing_error",
                    "has no effect without the diameter; allowed: with diameter, or as one of losses_db",
                );
            }
            (Some(_), None) => {}
            (None, Some(diameter)) if diameter.metres() > 0.0 && self.efficiency.value() > 0.0 => {}
            (None, Some(diameter)) => problems.add(
                "diameter",
                format!("{diameter} with efficiency {}; allowed: both above 0", self.efficiency.value()),
            ),
            _ => problems.add("", "needs either gain_dbi or diameter"),
        }
    }
}

impl Leg {
    fn free_space(&self) -> f64 {
        2.0 * db(4.0 * std::f64::consts::PI * self.distance.metres() * self.frequency.hertz() / LIGHT)
    }

    /// Returns the lines of the leg; the last one is C/N0.
    fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        match (self.eirp_dbw, self.power_dbw, &self.transmit) {
            (Some(eirp), ..) => lines.push(given("EIRP", eirp.value(), "dBW")),
            (None, Some(power), Some(antenna)) => {
                lines.push(given("Power", power.value(), "dBW"));
                lines.extend(antenna.lines("Transmit", self.frequency));
                let eirp = lines.iter().map(|line| line.value).sum();
                lines.push(result("EIRP", eirp, "dBW"));
            }
            _ => unreachable!("the configuration has been checked"),
        }
        let mut ratio = lines.last().map_or(0.0, |line| line.value);
        let from = lines.len();
        lines.push(given("Free space", -self.free_space(), "dB"));
        lines.extend(self.losses_db.iter().map(|(name, loss)| given(name, -loss.value(), "dB")));
        match (self.gt_db_k, self.noise_k, &self.receive) {
            (Some(merit), ..) => lines.push(given("G/T", merit.value(), "dB/K")),
            (None, Some(noise), Some(antenna)) => {
                lines.extend(antenna.lines("Receive", self.frequency));
                lines.push(given("System noise temperature", -db(noise.value()), "dB(1/K)"));
            }
            _ => unreachable!("the configuration has been checked"),
        }
        lines.push(given("Boltzmann's constant", -db(BOLTZMANN), "dB(K Hz/W)"));
        ratio += lines[from..].iter().map(|line| line.value).sum::<f64>();
        lines.push(result("C/N0", ratio, "dB Hz"));
        lines
    }

    fn check(&self, problems: &mut Problems) {
        match (self.eirp_dbw, self.power_dbw, &self.transmit) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => {}
            _ => problems.add("", "needs either eirp_dbw, or power_dbw and transmit"),
        }
        match (self.gt_db_k, self.noise_k, &self.receive) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => {}
            _ => problems.add("", "needs either gt_db_k, or noise_k and receive"),
        }
        if self.distance.metres() <= 0.0 {
            problems.add("distance", format!("{} is out of range; allowed: above 0 m", self.distance));
        }
        for (key, antenna) in [("transmit", &self.transmit), ("receive", &self.receive)] {
            if let Some(antenna) = antenna {
                problems.within(key, |problems| antenna.check(problems));
            }
        }
    }
}

impl Budget {
    /// Returns the budget line by line; the last line is the Es/N0.
    pub fn lines(&self) -> Vec<Line> {
        let symbols = db(self.0.symbol_rate.hertz());
        let (mut lines, mut noise) = (Vec::new(), 0.0);
        let mut add = |ratio: f64| noise += math::powf(10f64, -ratio / 10.0);
        for (name, leg) in [("Uplink", &self.0.up), ("Downlink", &self.0.down)] {
            let Some(leg) = leg else { continue };
            let own = leg.lines();
            let density = own.last().expect("a leg ends in its C/N0").value;
            lines.extend(own.into_iter().map(|line| Line { name: format!("{name}: {}", line.name), ..line }));
            lines.push(given(format!("{name}: symbol rate"), -symbols, "dB(1/Bd)"));
            lines.push(result(format!("{name}: Es/N0"), density - symbols, "dB"));
            add(density - symbols);
        }
        for (name, ratio) in &self.0.interference_db {
            lines.push(given(format!("C/I: {name}"), ratio.value(), "dB"));
            add(ratio.value());
        }
        lines.push(given("Implementation", -self.0.implementation_db.value(), "dB"));
        lines.push(result("Es/N0", -db(noise) - self.0.implementation_db.value(), "dB"));
        lines
    }

    /// Returns the Es/N0 in dB that results from the budget.
    pub fn esn0_db(&self) -> f64 {
        self.lines().last().expect("a budget ends in its Es/N0").value
    }

    /// Returns the printable budget for a link that can use the MODCODs of `list` with a margin.
    pub fn sheet(&self, list: &[&'static Modcod], rule: Rule) -> Sheet {
        let lines = self.lines();
        let esn0_db = lines.last().expect("a budget ends in its Es/N0").value;
        let min = list.iter().map(|modcod| modcod.threshold_db).fold(f64::INFINITY, f64::min);
        let required_db = self.0.required_esn0_db.map_or(min + rule.margin, Level::value);
        let modcod = Rule { hysteresis: 0.0, ..rule }.choose(list, None, esn0_db).map(|modcod| modcod.name);
        Sheet { lines, esn0_db, required_db, margin_db: esn0_db - required_db, modcod }
    }

    /// Adds the problems of this budget.
    pub fn check(&self, problems: &mut Problems) {
        if self.0.up.is_none() && self.0.down.is_none() {
            problems.add("", "has neither up nor down; allowed: at least one leg");
        }
        for (key, leg) in [("up", &self.0.up), ("down", &self.0.down)] {
            if let Some(leg) = leg {
                problems.within(key, |problems| leg.check(problems));
            }
        }
    }

    /// Reads comma-separated rows of `key,value`. Lines that start with # are comments.
    ///
    /// # Errors
    /// Returns the faulty line and the allowed values.
    pub fn parse(text: &str) -> Result<Budget, String> {
        let mut root = serde_json::Map::new();
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            if line.is_empty()
                || line.starts_with('#')
                || (root.is_empty() && line.replace(' ', "") == "key,value")
            {
                continue;
            }
            let row = line.split_once(',').map(|(key, value)| (key.trim(), value.trim()));
            let Some((key, value)) = row.filter(|(key, value)| !key.is_empty() && !value.is_empty()) else {
                return Err(format!(
                    "line {number}: \"{line}\"; allowed: a key and a value, such as down.eirp_dbw,54"
                ));
            };
            let value = match value.parse::<f64>() {
                Ok(value) if value.is_finite() => value.into(),
                Ok(_) => return Err(format!("line {number}: {key} is {value}; allowed: a finite number")),
                Err(_) => serde_json::Value::from(value),
            };
            let (mut table, mut path) = (&mut root, key.split('.').peekable());
            while let Some(part) = path.next() {
                if path.peek().is_none() {
                    if table.insert(part.to_owned(), value).is_some() {
                        return Err(format!("line {number}: {key} occurs twice; allowed: once"));
                    }
                    break;
                }
                let next = table.entry(part).or_insert_with(|| serde_json::Map::new().into());
                table =
                    next.as_object_mut().ok_or_else(|| format!("line {number}: {key} is below a value"))?;
            }
            // Rows are read one by one, so that an error has the line of its row. Missing keys are
            // found at the end.
            if let Err(error) = serde_json::from_value::<Table>(root.clone().into()) {
                let error = error.to_string();
                if !error.starts_with("missing field") {
                    return Err(format!("line {number}: {key}: {}", in_words(&error)));
                }
            }
        }
        serde_json::from_value::<Table>(root.into()).map(Budget).map_err(|error| in_words(&error.to_string()))
    }
}

impl JsonSchema for Budget {
    fn schema_name() -> Cow<'static, str> {
        "LinkBudgetOrRows".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Table>();
        let file = json_schema!({
            "type": "object",
            "properties": {"file": {"type": "string"}},
            "required": ["file"],
            "additionalProperties": false,
        });
        json_schema!({
            "description": "A link budget as a table, or comma-separated rows of key and value; the text itself, or the file that holds it",
            "anyOf": [table, {"type": "string"}, file],
        })
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Budget, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = Budget;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table with symbol_rate, up and down, or { file = \"budget.csv\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Budget, E> {
                Budget::parse(text).map_err(E::custom)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Budget, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(Budget)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

/// Rewords an error of serde.
fn in_words(error: &str) -> String {
    let (kind, rest) = error.split_once([':', '`']).unwrap_or((error, ""));
    match (kind, rest.split_once(", expected ")) {
        ("invalid type", Some((found, expected))) => {
            let found = found.trim().trim_start_matches("floating point ").trim_start_matches("string ");
            format!("expected {expected}, found {}", found.replace('`', ""))
        }
        ("unknown field ", Some((key, expected))) => {
            let allowed = expected.trim_start_matches("one of ").replace('`', "");
            format!("unknown key \"{}\"; allowed: {allowed}", key.replace('`', ""))
        }
        ("missing field ", _) => format!("missing key \"{}\"", rest.trim_end_matches('`')),
        _ => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Modcods;
    use super::*;
    use bentpipe_core::Span;
    use std::collections::BTreeSet;

    fn value(budget: &Budget, name: &str) -> f64 {
        let lines = budget.lines();
        lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name} in {lines:#?}")).value
    }

    #[test]
    fn published_budgets_are_reproduced() {
        let folder = format!("{}/../../tests/authorities/budgets", env!("CARGO_MANIFEST_DIR"));
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}.csv")).unwrap();
        let expected = read("expected");
        let mut seen = BTreeSet::new();
        for row in expected.lines().skip(1) {
            let [name, line, published] = row.split(',').collect::<Vec<_>>()[..] else { panic!("{row}") };
            let budget = Budget::parse(&read(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut problems = Problems::default();
            budget.check(&mut problems);
            assert_eq!(problems.into_vec(), [], "{name}");
            let rule = Rule { margin: 1.0, hysteresis: 0.0, delay: Span::ZERO };
            let found = match line {
                "margin" => budget.sheet(&Modcods::DvbS2.list(), rule).margin_db,
                line => value(&budget, line),
            };
            let published: f64 = published.parse().unwrap();
            assert!((found - published).abs() <= 0.1, "{name}, {line}: {found}, published {published}");
            seen.insert(name);
        }
        assert_eq!(seen.len(), 9, "{seen:?}");
    }

    #[test]
    fn antennas_and_pointing_match_values_by_hand() {
        let text = "symbol_rate,1 MBd\ndown.frequency,12 GHz\ndown.distance,38000 km\ndown.eirp_dbw,50\ndown.noise_k,100\n\
                    down.receive.diameter,0.6 m\ndown.receive.efficiency,0.6\ndown.receive.pointing_error,1 deg\n";
        let budget = Budget::parse(text).unwrap();
        // Wavelength 24.98 mm: (pi 24.02)^2 0.6 = 3416; beam 70 / 24.02 = 2.915 deg, 12 / 2.915^2 =
        // 1.41 dB.
        assert!((value(&budget, "Downlink: Receive antenna gain") - 35.33).abs() < 0.01);
        assert!((value(&budget, "Downlink: Receive antenna pointing") + 1.412).abs() < 0.002);
        assert!((value(&budget, "Downlink: Free space") + 205.63).abs() < 0.01);
    }

    #[test]
    fn noises_add_up() {
        let leg = r#"{"frequency": "14 GHz", "distance": "36000 km", "eirp_dbw": 50.0, "gt_db_k": 5.0}"#;
        let read = |text: &str| serde_json::from_str::<Budget>(text).unwrap();
        let one = read(&format!(r#"{{"symbol_rate": "10 MBd", "up": {leg}}}"#));
        let both = read(&format!(
            r#"{{"symbol_rate": "10 MBd", "up": {leg}, "down": {leg}, "implementation_db": 1.0}}"#
        ));
        assert!((one.esn0_db() - both.esn0_db() - 4.0103).abs() < 1e-4);
        let ratio = one.esn0_db();
        let disturbed = read(&format!(
            r#"{{"symbol_rate": "10 MBd", "up": {leg}, "interference_db": {{"other": {ratio}}}}}"#
        ));
        assert!((one.esn0_db() - disturbed.esn0_db() - 3.0103).abs() < 1e-4);
        // Table and rows give the same budget.
        assert_eq!(read(&serde_json::to_string(&both).unwrap()), both);
    }

    #[test]
    fn an_invalid_row_is_refused_with_its_line() {
        for (text, words) in [
            ("symbol_rate,30 Mbit/s\n", "line 1: symbol_rate"),
            ("# by hand\nsymbol_rate,30 MBd\ndown.eirp,3\n", "line 3: down.eirp"),
            ("symbol_rate,30 MBd\nsymbol_rate,30 MBd\n", "line 2: symbol_rate occurs twice"),
            ("symbol_rate,30 MBd\nimplementation_db,nan\n", "line 2"),
            ("symbol_rate\n", "line 1"),
            ("implementation_db,1\n", "missing key \"symbol_rate\""),
        ] {
            let error = Budget::parse(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let mut problems = Problems::default();
        Budget::parse("symbol_rate,1 MBd\ndown.frequency,1 GHz\ndown.distance,0 km\ndown.eirp_dbw,1\n")
            .unwrap()
            .check(&mut problems);
        assert_eq!(problems.count(), 2, "no receiver, no distance");
    }
}
