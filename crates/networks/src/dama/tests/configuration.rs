//! Rejected configurations, and the printed form of configurations.

use super::*;

#[test]
fn invalid_configurations_are_rejected_with_the_arithmetic() {
    let good = || config(r#"{"scheme": {"rbdc": {}}}"#, r#"["a"]"#);
    let wrong = |change: fn(&mut Config)| {
        let mut config = good();
        change(&mut config);
        let mut problems = Problems::default();
        config.check(&mut problems);
        let found = problems.into_vec();
        assert_eq!(found.len(), 1, "{found:?}");
        format!("{}: {}", found[0].path.join("."), found[0].message)
    };
    let parse = |message: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    parse(
        wrong(|c| c.return_link.rate = "1 Mbit/s".parse().unwrap()),
        &["return.frame", "91.797 bytes", "23.552 ms"],
    );
    parse(wrong(|c| c.return_link.frame = Some(Span::ZERO)), &["return.frame", "above 0 s"]);
    parse(
        wrong(|c| c.return_link.dama.cra = Some("100 kbit/s".parse().unwrap())),
        &["return.dama.cra", "1.562 slots of 64.000 kbit/s", "128 kbit/s"],
    );
    parse(
        wrong(|c| c.terminals = serde_json::from_str(r#"[{"name": "t", "count": 33}]"#).unwrap()),
        &["terminals", "33 terminals take 33 slots", "has 32"],
    );
    parse(
        wrong(|c| c.return_link.dama.response = Some(bentpipe_core::Count::new(5))),
        &["return.dama.response", "5 superframes of 94 ms", "(3 superframes)", "6 or more"],
    );
    parse(wrong(|c| c.terminals = serde_json::from_str(r#"["a", "a"]"#).unwrap()), &["\"a\" occurs twice"]);
    parse(wrong(|c| c.terminals = serde_json::from_str(r#"["gw"]"#).unwrap()), &["gateway's"]);
    parse(wrong(|c| c.terminals.clear()), &["at least one"]);
    parse(
        wrong(|c| c.return_link.framing = serde_json::from_str(r#"{"atm": {}}"#).unwrap()),
        &["return.framing", "188 bytes", "3 ATM cells of 53 bytes and leaves 29 bytes unused", "212 bytes"],
    );
    parse(
        wrong(|c| {
            c.return_link.acm =
                serde_json::from_str(r#"{"burst": 600, "margin_db": 2.0, "esn0_db": 1.0}"#).unwrap();
        }),
        &["return.acm.burst", "600 symbols", "536 or 1616"],
    );
    parse(
        wrong(|c| c.forward.acm = serde_json::from_str(r#"{"burst": 536, "esn0_db": 1.0}"#).unwrap()),
        &["forward.acm.burst", "no bursts"],
    );
    parse(
        wrong(|c| c.return_link.classes = serde_json::from_str(r#"[{"name": "a"}, {"name": "b"}]"#).unwrap()),
        &["return.classes.0.dscp", "selects no packets"],
    );
    parse(
        wrong(|c| {
            c.return_link.dama.requests =
                serde_json::from_str(r#"{"crdsa": {"slots": 2, "replicas": 4}}"#).unwrap()
        }),
        &["return.dama.requests.replicas", "4 replicas", "at most 2"],
    );
    for (terminals, parts) in [
        (r#"[{"name": "a", "min": "100 kbit/s"}]"#, &["terminals.0.min", "1.562 slots"][..]),
        (r#"[{"name": "t", "count": 3, "min": "1024 kbit/s"}]"#, &["48 slots besides 3 constant", "has 32"]),
        (r#"[{"name": "a", "logon": "5 s", "logoff": "4 s"}]"#, &["terminals.0.logoff", "more than 5 s"]),
        (
            r#"[{"name": "a", "logoff": "9 s", "period": "8 s"}]"#,
            &["terminals.0.period", "log on at 8 s", "until 9 s"],
        ),
        (r#"[{"name": "a", "period": "8 s"}]"#, &["terminals.0.period", "without a logoff to repeat"]),
        (
            r#"["a", {"name": "b", "scheme": {"vbdc": {"max": "100 kbit/s"}}}]"#,
            &["terminals.1.scheme.max", "1.562 slots"],
        ),
    ] {
        let mut config = good();
        config.terminals = serde_json::from_str(terminals).unwrap();
        let mut problems = Problems::default();
        config.check(&mut problems);
        let found = problems.into_vec();
        assert_eq!(found.len(), 1, "{found:?}");
        parse(format!("{}: {}", found[0].path.join("."), found[0].message), parts);
    }
    parse(
        wrong(|c| c.return_link.carriers = serde_json::from_str(r#"[{"rate": "1000 kbit/s"}]"#).unwrap()),
        &["return.carriers.0.rate", "15.625 slots", "1024 kbit/s"],
    );
    parse(
        wrong(|c| {
            c.return_link.carriers = serde_json::from_str(r#"[{"rate": "64 kbit/s", "count": 3}]"#).unwrap();
            c.return_link.dama.cra = Some("128 kbit/s".parse().unwrap());
        }),
        &["take 2 slots, each terminal's in a row on one carrier", "3 carriers have 3"],
    );
    parse(
        wrong(|c| c.terminals = serde_json::from_str(r#"[{"count": 3}]"#).unwrap()),
        &["terminals.0", "needs a name"],
    );
    parse(
        wrong(|c| {
            c.propagation = serde_json::from_str(
                r#"{"satellite": "13 deg", "gateway": {"latitude": "51.5 deg", "longitude": "170 deg"},
                    "terminals": {"latitude": "41.9 deg", "longitude": "12.5 deg"}}"#,
            )
            .unwrap();
        }),
        &["propagation.gateway", "below the horizon"],
    );
    for text in [r#"{"scheme": {"rbdc": {"gama": 0.4}}}"#, r#"{"schem": "x"}"#, r#"{"cra": "64 kbits"}"#] {
        let full = format!(
            r#"{{"forward": {{"rate": "10 Mbit/s"}}, "return": {{"rate": "2048 kbit/s", "dama": {text}}},
                "terminals": ["a"], "gateway": "gw"}}"#
        );
        assert!(serde_json::from_str::<Config>(&full).is_err(), "{text}");
    }
}

#[test]
fn suggested_rates_are_valid_for_slots_of_fractional_bit_rates() {
    // A slot of 56187.5 bit/s, as in the preset ka-hub, and a slot of 68266.67 bit/s.
    for (rate, slots, suggested) in
        [("899 kbit/s", 16, "56.188 kbit/s"), ("2048 kbit/s", 30, "68.267 kbit/s")]
    {
        let with = |cra: &str, carrier: &str| -> Config {
            let carriers = serde_json::json!([{ "rate": carrier }]);
            serde_json::from_value(serde_json::json!({
                "forward": {"rate": "10 Mbit/s"}, "terminals": ["a"], "gateway": "gw",
                "return": {"rate": rate, "slots_per_frame": slots, "slot_bytes": 187, "frames_per_superframe": 1,
                    "carriers": carriers, "dama": {"cra": cra, "scheme": {"rbdc": {"max": cra}}}}
            }))
            .unwrap()
        };
        let problems = |config: &Config| {
            let mut problems = Problems::default();
            config.check(&mut problems);
            problems.into_vec().into_iter().map(|problem| problem.message).collect::<Vec<_>>()
        };
        let found = problems(&with("16 kbit/s", rate));
        assert!(found.iter().all(|message| message.ends_with(suggested)) && found.len() == 2, "{found:?}");
        let three = (3.0 * rate.parse::<bentpipe_core::Rate>().unwrap().bits_per_second() as f64
            / slots as f64)
            .round();
        let config = with(suggested, &format!("{three} bit/s"));
        assert_eq!(problems(&config), Vec::<String>::new());
        assert_eq!((config.slots_of(None), config.carriers()), (Some(1), Some(vec![3])));
        // A rate that differs by 2 bit/s is not accepted.
        assert_eq!(problems(&with("56190 bit/s", rate)).len(), 2);
    }
}

#[test]
fn configuration_is_printed_as_it_was_read() {
    let config = config(
        r#"{"scheme": {"rbdc": {}}, "response": 11}"#,
        r#"["a", {"name": "b", "cra": "128 kbit/s"}, {"name": "c", "count": 3, "logon": "2 s"}]"#,
    );
    let printed = serde_json::to_value(&config).unwrap();
    assert_eq!(printed["terminals"][0], "a");
    assert_eq!(printed["terminals"][2], serde_json::json!({"name": "c", "count": 3, "logon": "2 s"}));
    assert_eq!(printed["propagation"], "250 ms");
    assert_eq!(
        printed["return"]["dama"]["scheme"],
        serde_json::json!({"kind": "rbdc", "gamma": 0.4, "timeout": 2})
    );
    assert_eq!(config.terminal_names(), ["a", "b", "c1", "c2", "c3"]);
    assert_eq!(config.members()[1].constant, 2);
    let schema = serde_json::to_string(&schemars::schema_for!(Config)).unwrap();
    assert!(schema.contains("frames_per_superframe") && schema.contains("rbdc"));
    assert_eq!(ncc::REPORT.columns.len(), 9);
}

#[test]
fn constant_slots_are_shared_equally_only_if_no_terminal_requests() {
    let constant = |scheme: &str, terminals: &str| -> Vec<u32> {
        let config = config(&format!(r#"{{"scheme": {{"{scheme}": {{}}}}}}"#), terminals);
        config.members().iter().map(|member| member.constant).collect()
    };
    let own = |scheme: &str| format!(r#"["a", {{"name": "b", "scheme": {{"{scheme}": {{}}}}}}]"#);
    // 32 slots.
    assert_eq!(constant("cra", &own("cra")), [16, 16]);
    assert_eq!(constant("cra", &own("vbdc")), [1, 1]);
    assert_eq!(constant("rbdc", &own("cra")), [1, 1]);
    assert_eq!(constant("rbdc", r#"[{"name": "t", "count": 4, "scheme": {"cra": {}}}]"#), [8; 4]);
}
