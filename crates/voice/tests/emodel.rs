//! Tests of the E-model by comparison with computed rows of G.107, published ratings, and tables of
//! G.113.

use bentpipe_voice::codec::find;
use bentpipe_voice::emodel::{
    burst_ratio, category, effective, mos, InvalidParameter, Parameters, CATEGORIES, SYMBOLS,
};
use std::collections::BTreeMap;

/// Returns the rows of a table. Each row maps the column names of the first line to values.
fn rows(text: &'static str) -> Vec<BTreeMap<&'static str, f64>> {
    let mut lines = text.lines().map(|line| line.split(','));
    let names: Vec<&str> = lines.next().expect("the table has a first line").collect();
    let number = |value: &str| value.parse().expect("a cell is a number");
    lines.map(|values| names.iter().copied().zip(values.map(number)).collect()).collect()
}

#[test]
fn each_part_of_each_rating_matches_the_recommendation() {
    let rows = rows(include_str!("../../../tests/authorities/voip/g107_emodel.csv"));
    assert_eq!(rows.len(), 154);
    for (number, row) in rows.iter().enumerate() {
        let mut call = Parameters::default();
        for symbol in SYMBOLS.iter().filter(|symbol| row.contains_key(symbol.name)) {
            call.set(symbol.name, row[symbol.name]).unwrap();
        }
        for (name, value) in call.rate().parts() {
            let expected = row[name];
            assert!((value - expected).abs() <= 1e-6, "row {number}: {name} is {value}, not {expected}");
        }
    }
}

#[test]
fn a_call_with_default_values_is_rated_as_published() {
    let rating = Parameters::default().rate();
    assert!((rating.r - 93.206).abs() < 1e-3, "{}", rating.r);
    assert!(Parameters::default().beyond().is_empty());
    // The worked example of a lecture: G.729A, 2 % loss, 150 ms of delay.
    let call = Parameters { ie: 11.0, bpl: 19.0, ppl: 2.0, ..Parameters::with_delay(150.0) };
    assert!((call.rate().r - 70.5).abs() < 0.05 && (call.rate().mos - 3.62).abs() < 0.005);
}

#[test]
fn opinions_match_the_table_of_categories() {
    // The columns good_or_better and poor_or_worse use other scales.
    for row in include_str!("../../../tests/authorities/voip/g107_quality_bands.csv").lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let (r, score): (f64, f64) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
        assert!((mos(r) - score).abs() < 0.0061, "{r}: {}", mos(r));
        assert_eq!(category(r), cells[4]);
    }
    assert_eq!((mos(-3.0), mos(0.0), mos(100.0), mos(120.0)), (1.0, 1.0, 4.5, 4.5));
    assert_eq!(category(49.9), CATEGORIES[5].1);
}

#[test]
fn impairment_by_losses_and_bursts_follows_the_formula() {
    // The columns are the codec, the loss, the value in the table, and the value of the formula.
    for row in include_str!("../../../tests/authorities/voip/g113_ie_against_loss_1999.csv").lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let Ok(expected) = cells[3].parse::<f64>() else { continue };
        let (ie, bpl) = match cells[0] {
            name if name.starts_with("G.711 no PLC") => (0.0, 4.3),
            "G.711+PLC random" => (0.0, 25.1),
            "G.729A+VAD" => (11.0, 19.0),
            "G.723.1+VAD 6.3" => (15.0, 16.1),
            "GSM-EFR" => (5.0, 10.0),
            other => panic!("{other}"),
        };
        let value = effective(ie, bpl, cells[1].parse().unwrap(), 1.0);
        assert!((value - expected).abs() < 0.006, "{row}: {value}");
    }
    for row in rows(include_str!("../../../tests/authorities/voip/g107_burst_ratio.csv")) {
        let ratio = burst_ratio(row["p_good_to_lost"], row["q_lost_to_good"]);
        assert!((ratio - row["burst_ratio"]).abs() < 1e-6, "{row:?}: {ratio}");
    }
    // Bursts reduce the quality, here with 5 % loss and G.711 with concealment.
    assert!(effective(0.0, 25.1, 5.0, 2.0) > effective(0.0, 25.1, 5.0, 1.0));
}

#[test]
fn values_for_which_the_equations_are_not_defined_are_refused() {
    let mut call = Parameters::default();
    assert_eq!(call.set("Ppl", 101.0), Err(InvalidParameter::Undefined(0.0, 100.0)));
    assert!(call.set("T", f64::NAN).is_err() && call.set("BurstR", 0.0).is_err());
    assert_eq!(call.set("Delay", 1.0), Err(InvalidParameter::Unknown));
    assert_eq!(call, Parameters::default());
    call.set("Ta", 620.0).unwrap();
    let beyond: Vec<&str> = call.beyond().iter().map(|(symbol, _)| symbol.name).collect();
    assert_eq!(beyond, ["Ta"]);
    // At both ends of every range that the recommendation permits, the rating is finite.
    for symbol in SYMBOLS {
        for value in [symbol.permitted.0, symbol.permitted.1] {
            let mut call = Parameters::with_delay(300.0);
            call.set(symbol.name, value).unwrap();
            let rating = call.rate();
            assert!(rating.r.is_finite() && (0.98..=4.5).contains(&rating.mos), "{} {value}", symbol.name);
        }
    }
}

#[test]
fn packet_sizes_of_the_codecs_match_the_reference() {
    // codec, rate_kbps, packet_ms, payload_bytes, ...
    let mut compared = 0;
    for row in include_str!("../../../tests/authorities/voip/codec_bandwidth.csv").lines().skip(1) {
        let row = row.replace("\"AMR 12.2 (octet-aligned, one frame)\"", "AMR-12.2");
        let cells: Vec<&str> = row.split(',').collect();
        let name = match cells[0] {
            "G.711" => "G.711u",
            "iLBC 20 ms" => "iLBC-20",
            "iLBC 30 ms" => "iLBC-30",
            "G.729" => "G.729A",
            "G.723.1 6.3" => "G.723.1",
            other => other,
        };
        let Some(codec) = find(name) else { continue };
        let frames = cells[2].parse::<f64>().unwrap() / codec.frame_ms;
        assert_eq!(f64::from(codec.payload(frames as u32)), cells[3].parse::<f64>().unwrap(), "{row}");
        compared += 1;
    }
    assert_eq!(compared, 9);
}
