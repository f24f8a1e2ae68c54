use super::expression::{Scope, State};
use super::{parse, Function, Query};
use crate::measure::{Measure, Value};
use bentpipe_core::{Span, Time};
use proptest::prelude::*;

fn motes() -> Vec<String> {
    ["m1", "m2", "m3"].map(str::to_owned).to_vec()
}

fn read(text: &str) -> Query {
    parse(text, &motes()).unwrap_or_else(|wrong| panic!("{text}: {wrong}"))
}

fn measure(mote: u16, seconds: u64, values: [f32; 5]) -> Measure {
    Measure { mote, time: Time::ZERO + Span::from_secs(seconds), values }
}

/// Values of the items for a measure, worked out by hand.
#[test]
fn expressions_have_the_values_of_arithmetic() {
    let measures = [measure(1, 90, [100.0, -60.5, 3.0, 0.25, 40.0])];
    for (written, expected) in [
        ("light", "100"),
        ("node", "m2"),
        ("time", "90"),
        ("light + 2 * temperature", "-21"),
        ("(light + 2) * temperature", "-6171"),
        ("-temperature / 2", "30.25"),
        ("abs(temperature)", "60.5"),
        ("sqrt(magnetism)", "0.5"),
        ("time - INTERVAL '1' MINUTE", "30"),
        ("light > 99 AND NOT audio < 40", "true"),
        ("light > 100 OR node = 'm1'", "false"),
        ("node <> 'm1'", "true"),
        ("light BETWEEN 100 AND 200", "true"),
        ("light NOT BETWEEN 100 AND 200", "false"),
        ("sqrt(temperature)", "null"),
        ("sqrt(temperature) <> 1", "false"),
    ] {
        let query = read(&format!("SELECT {written} AS x FROM motes"));
        let scope = Scope { measures: &measures, ..Scope::default() };
        assert_eq!(query.items[0].expression.value(scope, &motes()).to_string(), expected, "{written}");
        assert_eq!(query.items[0].name, "x");
    }
}

#[test]
fn clauses_become_parts_of_the_query() {
    let query = read(
        "select node, avg(light), max(light) - min(light) as spread, avg(light) from motes \
         where light > 10 and audio < 50 group by node, hop(time, interval '5' second, 20) having count(*) > 2",
    );
    let grouping = query.grouping.unwrap();
    assert_eq!((grouping.step, grouping.size), (Span::from_secs(5), Span::from_secs(20)));
    assert_eq!((grouping.node, query.conditions.len(), query.items.len()), (Some(0), 2, 4));
    // The second average is the first.
    assert_eq!(query.aggregates.len(), 4);
    let query = read(
        "SELECT a.light - b.light FROM m1 AS a JOIN m2 b ON abs(a.time - b.time) <= 0.5 WHERE a.light > 1",
    );
    assert_eq!((query.within, query.conditions.len()), (Some(Span::from_millis(500)), 2));
    assert_eq!(read("SELECT m1.light FROM m1, m2 WHERE m1.time = m2.time").within, Some(Span::ZERO));
    assert_eq!(read("SELECT * FROM m3").items.len(), 7);
}

/// What cannot be done is refused, with what is allowed.
#[test]
fn refusals_say_what_is_allowed() {
    for (written, why) in [
        ("", "statements"),
        ("SELEC light", "Expected"),
        ("SELECT light", "no FROM"),
        ("SELECT light FROM m9", "m9"),
        ("SELECT colour FROM motes", "colour"),
        ("SELECT m2.light FROM m1", "m2"),
        ("SELECT light FROM m1, m2", "ambiguous"),
        ("SELECT m1.light FROM m1, m2", "no bound in time"),
        ("SELECT a.light FROM m1 a LEFT JOIN m2 b ON a.time = b.time", "join"),
        ("SELECT a.light FROM m1 a JOIN m2 a ON a.time = a.time", "called a"),
        ("SELECT 1 FROM m1, m2, m3", "3 streams"),
        ("SELECT avg(light) FROM motes", "window"),
        ("SELECT light FROM motes GROUP BY node", "window"),
        ("SELECT light FROM motes GROUP BY TUMBLE(time, 10)", "outside"),
        ("SELECT node, avg(light) FROM motes GROUP BY TUMBLE(time, 10)", "outside"),
        ("SELECT avg(light) FROM motes GROUP BY TUMBLE(light, 10)", "time"),
        ("SELECT avg(light) FROM motes GROUP BY TUMBLE(time, 0)", "length"),
        ("SELECT avg(light) FROM motes GROUP BY HOP(time, 10, 5)", "shorter"),
        ("SELECT avg(light) FROM motes GROUP BY HOP(time, 0.001, 500)", "1000 times"),
        ("SELECT avg(light) FROM motes GROUP BY TUMBLE(time, 10), TUMBLE(time, 5)", "second"),
        ("SELECT avg(max(light)) FROM motes GROUP BY TUMBLE(time, 10)", "another"),
        ("SELECT light FROM motes WHERE avg(light) > 2", "aggregate"),
        ("SELECT light FROM motes WHERE light", "a number"),
        ("SELECT light FROM motes WHERE node > 'm1'", "a mote"),
        ("SELECT light FROM motes WHERE node = 'm7'", "m7"),
        ("SELECT light + (audio > 2) FROM motes", "a condition"),
        ("SELECT median(light) FROM motes", "median"),
        ("SELECT avg(DISTINCT light) FROM motes GROUP BY TUMBLE(time, 10)", "DISTINCT"),
        ("SELECT DISTINCT light FROM motes", "DISTINCT"),
        ("SELECT light FROM motes ORDER BY light", "ORDER"),
        ("SELECT light FROM motes LIMIT 3", "LIMIT"),
        ("SELECT light FROM motes TABLESAMPLE (3)", "allowed"),
        ("SELECT light FROM (SELECT * FROM motes)", "allowed"),
        ("SELECT light FROM motes UNION SELECT light FROM motes", "combines"),
        ("DELETE FROM motes", "not a query"),
        ("SELECT light FROM motes; SELECT light FROM motes", "2 statements"),
        ("SELECT window_start FROM motes WHERE window_start > 2", "window_start"),
    ] {
        let wrong = parse(written, &motes()).expect_err(written);
        assert!(wrong.contains(why) && wrong.contains("allowed: "), "{written}: {wrong}");
    }
}

/// Nesting as deep as the text allows ends in an answer and not in an overflow of the stack.
#[test]
fn deep_nesting_is_refused_or_read() {
    for inner in ["(", "NOT ", "- ", "abs("] {
        let text = format!("SELECT {} light FROM motes", inner.repeat(2000));
        assert!(parse(&text, &motes()).is_err(), "{inner}");
    }
    let long = |terms| format!("SELECT {} FROM motes", vec!["light"; terms].join(" + "));
    assert!(parse(&long(1000), &motes()).unwrap_err().contains("allowed: "));
    let query = read(&long(140));
    let measures = [measure(0, 0, [1.0; 5])];
    let scope = Scope { measures: &measures, ..Scope::default() };
    assert_eq!(query.items[0].expression.value(scope, &motes()), Value::Number(140.0));
}

proptest! {
    /// Whatever the order in which groups are merged, aggregates are those of all values.
    #[test]
    fn aggregates_can_be_merged(values in proptest::collection::vec(-1e4_f64..1e4, 1..60), cut in 0_usize..60) {
        let cut = cut.min(values.len());
        let (front, back) = values.split_at(cut);
        let merge = |values: &[f64]| values.iter().map(|value| State::of(*value)).reduce(State::merged);
        let state = match (merge(back), merge(front)) {
            (Some(a), Some(b)) => a.merged(b),
            (a, b) => a.or(b).unwrap(),
        };
        let count = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let mean = sum / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        for (function, expected) in [
            (Function::Count, count),
            (Function::Sum, sum),
            (Function::Avg, mean),
            (Function::Min, values.iter().copied().fold(f64::INFINITY, f64::min)),
            (Function::Max, values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            (Function::Stddev, (squares / count).sqrt()),
        ] {
            let ours = state.value(function);
            prop_assert!((ours - expected).abs() <= 1e-9 * (1.0 + expected.abs()) * 1e3, "{function:?} {ours} {expected}");
        }
    }

    /// Any text gives a query or a reason.
    #[test]
    fn any_text_is_answered(text in "(SELECT|avg|\\(|\\)|light|FROM|motes|,|WHERE|[0-9. '<>=*+-]| ){0,30}") {
        if let Err(wrong) = parse(&text, &motes()) {
            prop_assert!(wrong.contains("allowed: "), "{wrong}");
        }
    }
}
