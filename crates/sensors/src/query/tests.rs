use super::expression::{Scope, State, Written};
use super::read::read as statement;
use super::statement::{joined, Item, Statement, Stream};
use super::{parse, Function, Query};
use crate::measure::{Measure, Value};
use bentpipe_core::{Span, Time};
use proptest::prelude::*;

fn motes() -> Vec<String> {
    ["m1", "m2", "m3"].map(str::to_owned).to_vec()
}

fn read(text: &str) -> Query {
    parse(text, &motes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn measure(mote: u16, seconds: u64, values: [f32; 5]) -> Measure {
    Measure { mote, time: Time::ZERO + Span::from_secs(seconds), values }
}

/// The expected values of the expressions are calculated by hand.
#[test]
fn expressions_match_calculations_by_hand() {
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
    // Both averages are the same aggregate.
    assert_eq!(query.aggregates.len(), 4);
    let query = read(
        "SELECT a.light - b.light FROM m1 AS a JOIN m2 b ON abs(a.time - b.time) <= 0.5 WHERE a.light > 1",
    );
    assert_eq!((query.within, query.conditions.len()), (Some(Span::from_millis(500)), 2));
    assert_eq!(read("SELECT m1.light FROM m1, m2 WHERE m1.time = m2.time").within, Some(Span::ZERO));
    assert_eq!(read("SELECT * FROM m3").items.len(), 7);
}

/// Invalid queries are refused, with a message that names the allowed alternatives.
#[test]
fn invalid_queries_are_refused_with_the_reason() {
    for (written, reason) in [
        ("", "statements"),
        ("SELEC light", "expected SELECT, found SELEC at line 1, column 1"),
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
        ("SELECT light FROM motes\nWHERE light > 2 LIMIT 3", "LIMIT 3, at line 2, column 17"),
        ("SELECT light FROM motes WHERE light % 2 = 1", "found % at line 1, column 37"),
        ("SELECT light FROM motes WHERE light IS NULL", "IS NULL, at line 1, column 37"),
        ("SELECT light light light FROM motes", "found light at line 1, column 20"),
        ("SELECT light + FROM motes", "expected an expression, found FROM at line 1, column 16"),
        ("SELECT (light FROM motes", "expected an operator or ), found FROM at line 1, column 15"),
        ("SELECT light BETWEEN 1 OR 2 FROM motes", "expected AND behind BETWEEN, found OR"),
        ("SELECT 10L FROM motes", "found L at line 1, column 10"),
        ("SELECT INTERVAL '10' YEAR FROM motes", "found YEAR"),
        ("SELECT INTERVAL 'ten' SECOND FROM motes", "'ten'"),
        ("SELECT motes.* FROM motes", "motes.*"),
        ("SELECT abs(*) FROM motes", "abs(*)"),
        ("SELECT light AS FROM motes", "found motes"),
        ("SELECT light FROM motes AS", "expected a name behind AS, found the end at line 1, column 27"),
        ("SELECT light FROM motes WHERE node = 'm1", "at line 1, column 38 has no end"),
        ("SELECT light /* FROM /* motes */", "the comment at line 1, column 14 has no end"),
        ("SELECT é, light FROM motes WHERE ½", "found ½ at line 1, column 34"),
        ("DELETE FROM motes", "not a query"),
        ("SELECT light FROM motes; SELECT light FROM motes", "2 statements"),
        ("SELECT window_start FROM motes WHERE window_start > 2", "window_start"),
    ] {
        let wrong = parse(written, &motes()).expect_err(written);
        assert!(wrong.contains(reason) && wrong.contains("allowed: "), "{written}: {wrong}");
    }
}

/// The deepest nesting in a query of permitted length causes no stack overflow.
#[test]
fn deep_nesting_is_refused_or_read() {
    for inner in ["(", "NOT ", "- ", "abs("] {
        let text = format!("SELECT {} light FROM motes", inner.repeat(2000));
        assert!(parse(&text, &motes()).is_err(), "{inner}");
    }
    let nested = |deep| format!("SELECT {}light{} FROM motes", "(".repeat(deep), ")".repeat(deep));
    read(&nested(16));
    let wrong = parse(&nested(17), &motes()).unwrap_err();
    assert_eq!(wrong, "the query nests too deep at line 1, column 25; allowed: 16 deep");
    let long = |terms| format!("SELECT {} FROM motes", vec!["light"; terms].join(" + "));
    assert!(parse(&long(1000), &motes()).unwrap_err().contains("allowed: "));
    let query = read(&long(140));
    let measures = [measure(0, 0, [1.0; 5])];
    let scope = Scope { measures: &measures, ..Scope::default() };
    assert_eq!(query.items[0].expression.value(scope, &motes()), Value::Number(140.0));
}

/// Operators have the same precedence as in SQL.
#[test]
fn operators_bind_as_in_sql() {
    for (plain, nested) in [
        ("light - audio - 1 > 0", "((light - audio) - 1) > 0"),
        ("light + audio * 2 > 0", "(light + (audio * 2)) > 0"),
        ("-light * audio > 0", "((-light) * audio) > 0"),
        ("light / audio / 2 > 0", "((light / audio) / 2) > 0"),
        ("light > 1 OR audio > 2 AND time > 3", "(light > 1) OR ((audio > 2) AND (time > 3))"),
        ("NOT light > 1 AND audio > 2", "(NOT (light > 1)) AND (audio > 2)"),
        ("NOT NOT light > 1 OR audio > 2", "(NOT (NOT (light > 1))) OR (audio > 2)"),
        (
            "light NOT BETWEEN 1 + 1 AND 3 AND audio > 2",
            "(NOT (light BETWEEN (1 + 1) AND 3)) AND (audio > 2)",
        ),
        ("light BETWEEN audio AND 2 * 3 OR time > 3", "(light BETWEEN audio AND (2 * 3)) OR (time > 3)"),
    ] {
        let [plain, nested] = [plain, nested].map(|condition| {
            let query = read(&format!("SELECT * FROM motes WHERE {condition}"));
            query.conditions
        });
        assert_eq!(plain, nested);
    }
}

/// Names may be quoted, words may be in lower case, and comments may be anywhere.
#[test]
fn equivalent_texts_parse_to_the_same_query() {
    let query = read("SELECT abs(m2.light) AS x FROM m2 WHERE m2.node <> 'm1'");
    for same in [
        "select ABS ( m2 . light )x from m2 where m2.node!='m1';",
        ";;SELECT abs(\"m2\".`light`) \"x\" FROM \"m2\" /* a /* nested */ comment */ WHERE m2.node <> -- to the end\n'm1' ; ;",
        "SELECT abs(m2.LIGHT) AS 'x', FROM (`m2`) WHERE m2.node <> 'm1'",
    ] {
        assert_eq!(read(same), query, "{same}");
    }
    // The name of a column without an alias is the text of its expression.
    let names = |text: &str| read(text).items.into_iter().map(|item| item.name).collect::<Vec<_>>();
    let text = "select light*2,- -( light ), interval '1' hours, time 'a ''b''', not light between 1 and 2 FROM motes";
    assert_eq!(
        names(text),
        ["light * 2", "- -(light)", "INTERVAL '1' HOURS", "a 'b'", "NOT light BETWEEN 1 AND 2"]
    );
}

/// Formats a statement.
fn printed(statement: &Statement) -> String {
    let item = |item: &Item| match item {
        Item::All => "*".to_owned(),
        Item::Term(term, None) => term.to_string(),
        Item::Term(term, Some(name)) => format!("{term} AS {name}"),
    };
    let stream = |(index, stream): (usize, &Stream)| {
        let before = match (index, &stream.on) {
            (0, _) => "",
            (_, None) => ", ",
            (_, Some(_)) => " JOIN ",
        };
        let alias = stream.alias.iter().map(|alias| format!(" AS {alias}")).collect::<String>();
        let on = stream.on.iter().map(|on| format!(" ON {on}")).collect::<String>();
        format!("{before}{}{alias}{on}", stream.name)
    };
    let items: Vec<String> = statement.items.iter().map(item).collect();
    let mut text = format!("SELECT {} FROM ", items.join(", "));
    text.extend(statement.streams.iter().enumerate().map(stream));
    text.extend(statement.condition.iter().map(|condition| format!(" WHERE {condition}")));
    if !statement.groups.is_empty() {
        text += &format!(" GROUP BY {}", joined(&statement.groups, ", "));
    }
    text.extend(statement.having.iter().map(|having| format!(" HAVING {having}")));
    text
}

/// Returns a strategy for texts of expressions. Most of them are valid.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = "light|TIME|a\\.audio|\"b\"\\.`time`|[0-9]{1,3}|[0-9]\\.[0-9]?|\\.5|2e-3|INTERVAL '1' minute|interval 7 second";
    leaf.prop_recursive(4, 30, 3, |inner| {
        let between = ("(NOT )?between", inner.clone(), inner.clone());
        prop_oneof![
            (inner.clone(), "[-+*/]|<=|>|<>|!=|==|=", inner.clone())
                .prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (inner.clone(), "(and|OR)( not)?", inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            (inner.clone(), between).prop_map(|(a, (op, b, c))| format!("{a} {op} {b} and {c}")),
            ("[-+]|NOT |- -", inner.clone()).prop_map(|(sign, a)| format!("{sign} {a}")),
            inner.clone().prop_map(|a| format!("({a})")),
            ("abs|SQRT|avg|median", inner).prop_map(|(name, a)| format!("{name}( {a} )")),
            Just("count(*)".to_owned()),
            Just("node = 'it''s'".to_owned()),
        ]
    })
}

/// Returns a strategy for texts of valid conditions over two streams.
fn conditions() -> impl Strategy<Value = String> {
    let number =
        "a\\.light|b\\.TIME|a\\.audio|[0-9]{1,3}|2e-3|interval 7 second".prop_recursive(3, 12, 2, |inner| {
            prop_oneof![
                (inner.clone(), "[-+*/]", inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
                ("[-+]|- -|abs|SQRT", inner).prop_map(|(function, a)| format!("{function} ({a})")),
            ]
        });
    let plain = prop_oneof![
        (number.clone(), "<=|>|<>|==|=", number.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        (number.clone(), "(NOT )?between", number.clone(), number)
            .prop_map(|(a, op, b, c)| format!("{a} {op} {b} and {c}")),
        Just("a.node <> 'm2'".to_owned()),
    ];
    plain.prop_recursive(3, 10, 2, |inner| {
        prop_oneof![
            (inner.clone(), "and|OR", inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            ("(not )?", inner).prop_map(|(not, a)| format!("{not}({a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Reading a formatted statement gives the same statement.
    #[test]
    fn printed_queries_parse_unchanged(
        items in proptest::collection::vec((expressions(), "( (AS )?[xyz]| AS `a b`| 'q''')?"), 1..3),
        from in "motes|m1|m1 a|(m1) AS `a`|m1 a, m2 b|m1 a (INNER )?JOIN m2 AS b ON a\\.time = b\\.time",
        conditions in proptest::collection::vec(expressions(), 0..3),
    ) {
        let items: Vec<String> = items.iter().map(|(term, name)| format!("{term}{name}")).collect();
        let mut text = format!("SELECT {} FROM {from}", items.join(", "));
        for (clause, condition) in [" WHERE ", " GROUP BY node, "].iter().zip(&conditions) {
            text += clause;
            text += condition;
        }
        if let Ok(read) = statement(&text) {
            prop_assert_eq!(statement(&printed(&read)), Ok(read), "{}", text);
        }
    }

    /// Reading a condition as shown in a plan gives the same condition.
    #[test]
    fn explained_conditions_parse_unchanged(condition in conditions()) {
        let from = "SELECT * FROM m1 a, m2 b WHERE a.time = b.time AND";
        let query = read(&format!("{from} ({condition})"));
        let [sources, names] = [vec!["a".to_owned(), "b".to_owned()], motes()];
        let written = query.conditions[1..].iter().map(|expression| {
            let written = Written { expression, sources: &sources, motes: &names, aggregates: &[] };
            format!("({written})")
        });
        let written: Vec<String> = written.collect();
        let again = parse(&format!("{from} {}", written.join(" AND ")), &motes());
        // The additional parentheses may make the query too long or too deeply nested.
        prop_assume!(!matches!(&again, Err(wrong) if wrong.contains("at most") || wrong.contains("too deep")));
        prop_assert_eq!(again, Ok(query));
    }

    /// Any bytes are parsed or refused without a panic.
    #[test]
    fn any_bytes_are_parsed_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,60}") {
        for tail in [String::from_utf8_lossy(&bytes).into_owned(), text] {
            for text in [tail.clone(), format!("SELECT {tail}"), format!("SELECT light FROM motes WHERE {tail}")] {
                if let Err(wrong) = parse(&text, &motes()) {
                    prop_assert!(wrong.contains("allowed: "), "{wrong}");
                }
            }
        }
    }
}

proptest! {
    /// Aggregates of merged states equal those of all values, for any order of merging.
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

    /// Any text of query words is parsed or refused without a panic.
    #[test]
    fn any_text_is_parsed_or_refused(
        text in "(SELECT|avg|\\(|\\)|light|FROM|motes|,|WHERE|AS|JOIN|ON|NOT|BETWEEN|AND|GROUP BY|INTERVAL|SECOND|[0-9. '\"<>=*/+;-]| ){0,40}",
    ) {
        if let Err(wrong) = parse(&text, &motes()) {
            prop_assert!(wrong.contains("allowed: "), "{wrong}");
        }
    }
}
