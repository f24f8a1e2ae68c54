use super::*;
use crate::client::{self, BundleOptions};
use bp7::canonical::new_bundle_age_block;
use bp7::flags::BlockControlFlags;
use bp7::CreationTimestamp;
use std::time::Duration;

const NEIGHBOUR: usize = 0;

/// Creates an agent that has one neighbour and stores at most `limit` bytes.
fn agent(name: &str, limit: u64) -> Agent {
    let storage = std::env::temp_dir().join(format!("bentpipe-agent-{}-{name}", std::process::id()));
    let _none_before = std::fs::remove_dir_all(&storage);
    let text = serde_json::json!({
        "node": "dtn://here/", "storage": storage, "limit": limit, "longest": 1 << 20,
        "peers": [{"node": "dtn://next/", "at": {"layer": "tcpcl", "address": "127.0.0.1:1"}}],
        "routes": [["*", "dtn://next/"]],
    });
    let config: Config = serde_json::from_value(text).unwrap();
    let store = Store::open(&storage, false).unwrap();
    // The agent keeps the log open, so the folder can be removed now.
    std::fs::remove_dir_all(&storage).unwrap();
    Agent::new(Routes::new(&config).unwrap(), store, limit, None, Keys::default()).unwrap()
}

/// Creates a bundle from another node, which requests reports of its deletion.
fn bundle(to: &str, hops: Option<u8>, payload: usize) -> Bundle {
    let options = BundleOptions {
        from: "dtn://there/app".to_owned(),
        to: to.to_owned(),
        lifetime: Duration::from_secs(60),
        report: None,
        hops,
        keys: Keys::default(),
    };
    let mut bundle = parse_unchecked(&client::build_bundle(&options, 1, vec![7; payload]).unwrap()).unwrap();
    bundle.primary.report_to = EndpointID::try_from("dtn://there/reports").unwrap();
    bundle.primary.bundle_control_flags |= BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION.bits();
    bundle
}

/// Returns the reason codes of the status reports that wait for the neighbour (RFC 9171, section
/// 6.1.1).
fn reasons(agent: &mut Agent) -> Vec<u32> {
    let mut found = Vec::new();
    while let Some((_, bytes)) = agent.next_for(NEIGHBOUR).unwrap() {
        let bundle = parse(&bytes).unwrap();
        assert!(bundle.is_administrative_record());
        // The record is an array of its kind and a report. Of the four assertions in the report,
        // only the last one, deletion, is true. The reason code follows.
        let payload = bundle.payload().unwrap();
        assert_eq!(payload[..12], [0x82, 1, 0x84, 0x84, 0x81, 0xf4, 0x81, 0xf4, 0x81, 0xf4, 0x81, 0xf5]);
        found.push(payload[12].into());
    }
    found
}

#[test]
fn a_full_agent_refuses_bundles_and_a_duplicate_is_stored_once() {
    let first = bundle("dtn://far/in", None, 1000).to_cbor();
    let mut agent = agent("room", first.len() as u64 + 999);
    assert_eq!(agent.receive(&first), Verdict::Taken);
    assert_eq!(agent.receive(&first), Verdict::Taken);
    let mut second = bundle("dtn://far/in", None, 1000);
    second.primary.creation_timestamp = CreationTimestamp::with_time_and_seq(dtntime::dtn_time_now(), 9);
    second.set_crc(bp7::crc::CRC_32);
    let second = second.to_cbor();
    assert_eq!(agent.receive(&second), Verdict::NoRoom);
    let (number, bytes) = agent.next_for(NEIGHBOUR).unwrap().unwrap();
    assert_eq!(bytes, first);
    agent.sent(number);
    assert_eq!(agent.receive(&second), Verdict::Taken);
    let Counters { received, duplicate, refused, forwarded, stored, .. } = agent.counters();
    assert_eq!((received, duplicate, refused, forwarded, stored), (4, 1, 1, 1, 1));
}

#[test]
fn a_bundle_is_dropped_at_its_hop_limit() {
    let mut agent = agent("hops", 1 << 20);
    let last = bundle("dtn://far/in", Some(1), 10).to_cbor();
    assert_eq!(agent.receive(&last), Verdict::Taken);
    let (number, forwarded) = agent.next_for(NEIGHBOUR).unwrap().unwrap();
    agent.sent(number);
    // The hop count of the forwarded bundle has reached its limit.
    assert_eq!(agent.receive(&forwarded), Verdict::Taken);
    assert_eq!(reasons(&mut agent), [report::HOP_LIMIT_EXCEEDED]);
    assert_eq!(agent.counters().expired, 1);
}

/// RFC 9171, section 4.4.2: a bundle from a source without a clock expires by its bundle age.
#[test]
fn a_bundle_without_creation_time_expires_by_its_age() {
    for (milliseconds, is_delivered) in [(59_000, true), (60_000, false)] {
        let mut agent = agent("age", 1 << 20);
        let mut aged = bundle("dtn://here/in", None, 10);
        aged.primary.creation_timestamp = CreationTimestamp::with_time_and_seq(0, 1);
        aged.add_canonical_block(new_bundle_age_block(2, BlockControlFlags::empty(), milliseconds));
        aged.set_crc(bp7::crc::CRC_32);
        assert_eq!(agent.receive(&aged.to_cbor()), Verdict::Taken);
        assert_eq!(agent.next_delivery().unwrap().is_some(), is_delivered, "{milliseconds}");
        let expected: &[u32] = if is_delivered { &[] } else { &[report::LIFETIME_EXPIRED] };
        assert_eq!(reasons(&mut agent), expected);
    }
}
