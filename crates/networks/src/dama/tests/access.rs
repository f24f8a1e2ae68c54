//! Access to slots per superframe, and equation 11 of the study.

use super::*;

/// Runs two packets of 752 bytes in every superframe of 94 ms, at 20 ms and at 60 ms after its
/// start, and returns for each of the last twenty the time from its arrival to the gateway, and the
/// row of the trace `waits`.
fn constant_rate(dama: &str) -> Vec<(u64, Vec<f64>)> {
    let mut rig = Rig::new(&config(dama, r#"["a"]"#));
    for superframe in 0..200 {
        for offset in [20, 60] {
            rig.run(ms(94 * superframe + offset));
            rig.send(0, 752);
        }
    }
    rig.run(ms(94 * 200 + 5000));
    rig.assert_conserved();
    assert_eq!(rig.arrived.len(), 400);
    let rows = rig.waits();
    let delays = rig.arrived[380..].iter().map(|(at, packet)| at.since(packet.birth).as_nanos());
    delays.zip(rows[380..].iter().map(|(_, row)| row.clone())).collect()
}

/// The wait of the two packets in the superframe in which they leave. Two slots of 188 bytes in
/// each of four frames carry two packets of 752 bytes: the first packet ends with slot 1 of frame
/// 1, at 23.5 ms + 2 x 0.734 375 ms, and the second one with slot 1 of frame 3.
const SLOT: [u64; 2] = [23_500_000 + 1_468_750, 3 * 23_500_000 + 1_468_750];

#[test]
fn constant_rate_over_rbdc_waits_as_over_cra() {
    // Equation 11: RTT_DAMA is Delta_SF for CRA, and for RBDC at a constant rate once its capacity
    // has been allocated. Delta_SF is 94 - 20 = 74 ms and 94 - 60 = 34 ms. The queue at the start
    // of a superframe is what arrived in the previous one, two slots, and so is each request.
    let cra = constant_rate(r#"{"scheme": {"cra": {}}, "cra": "128 kbit/s", "access": "superframe"}"#);
    let rbdc = constant_rate(
        r#"{"scheme": {"rbdc": {}}, "cra": "0 bit/s", "response": 11, "access": "superframe"}"#,
    );
    for (number, ((delay, row), (by_rate, by_rate_row))) in cra.iter().zip(&rbdc).enumerate() {
        let delta = [74_000_000, 34_000_000][number % 2];
        let slot = SLOT[number % 2];
        assert_eq!((*delay, *by_rate), (delta + slot + 250_000_000, *delay), "packet {number}");
        // The wait has two parts: for the superframe, and for the slot within it.
        let parts = [delta as f64, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, slot as f64];
        assert_eq!((&row[10..], &by_rate_row[10..]), (&parts[..], &parts[..]), "packet {number}");
    }
}

#[test]
fn volume_requests_wait_for_the_superframe_once() {
    // Equation 11: RTT_DAMA = L D_SF + Delta_SF. The request of a packet is made when its
    // superframe starts, so the wait for the superframe is not added to the wait for the request:
    // 11 x 94 ms, of which 500 ms are propagation, and Delta_SF = 94 - 20 = 74 ms.
    for access in ["immediate", "superframe"] {
        let dama = format!(
            r#"{{"scheme": {{"vbdc": {{}}}}, "cra": "0 bit/s", "response": 11, "access": "{access}"}}"#
        );
        let mut rig = Rig::new(&config(&dama, r#"["a"]"#));
        rig.run(ms(20));
        rig.send(0, 188);
        rig.run(ms(5000));
        let response = 11 * 94_000_000 + 74_000_000;
        assert_eq!(rig.arrivals(), [(0, 20_000_000 + response + 734_375 + 250_000_000)], "{access}");
        let parts = match access {
            "immediate" => [0.0, 0.0, 74e6, 0.0, 500e6, 534e6, 0.0, 734_375.0],
            _ => [74e6, 0.0, 0.0, 0.0, 500e6, 534e6, 0.0, 734_375.0],
        };
        assert_eq!(rig.waits()[0].1[10..], parts, "{access}");
    }
}

#[test]
fn packets_of_different_superframes_do_not_share_units() {
    // ULE packs packets of 40 bytes, which take 48, into MPEG packets of 188 bytes, one per slot.
    // The first packet waits for superframe 1. The second one could fill the rest of the same slot,
    // but arrives when superframe 1 has begun, and leaves in superframe 2. The third one shares its
    // slot.
    let mut config =
        config(r#"{"scheme": {"cra": {}}, "cra": "64 kbit/s", "access": "superframe"}"#, r#"["a"]"#);
    config.return_link.framing = serde_json::from_str(r#"{"ule": {}}"#).unwrap();
    let mut rig = Rig::new(&config);
    for at in [93, 94, 100] {
        rig.run(ms(at));
        rig.send(0, 40);
    }
    rig.run(ms(2000));
    let slot = |superframe: u64| superframe * 94_000_000 + 734_375 + 250_000_000;
    assert_eq!(rig.arrivals(), [(0, slot(1)), (1, slot(2)), (2, slot(2))]);
    assert_eq!(rig.report().value("terminal", "a", "used_bytes"), Some(2.0 * 188.0));
}
