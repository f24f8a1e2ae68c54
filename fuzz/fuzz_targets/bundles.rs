//! Passes arbitrary bytes to a bundle agent as received bundles. The agent must not panic, must
//! accept or refuse each bundle, and must deliver each bundle for this node once. The agent stores
//! bundles on disk, and sometimes restarts with an empty storage.
#![no_main]

use bentpipe_agent::agent::{Agent, Routes, Verdict};
use bentpipe_agent::store::Store;
use bentpipe_agent::Config;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::path::PathBuf;

fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("bentpipe-fuzz-{}", std::process::id()))
}

fn agent() -> Agent {
    let _none = std::fs::remove_dir_all(folder());
    let text = serde_json::json!({
        "node": "dtn://here/",
        "storage": folder(),
        "limit": 1 << 20,
        "longest": 1 << 20,
    });
    let config: Config = serde_json::from_value(text).expect("the configuration is valid");
    let store = Store::open(&config.storage, false).expect("the storage can be opened");
    Agent::new(Routes::new(&config).expect("routes"), store, config.limit, None, config.keys.clone()).expect("an agent")
}

thread_local! {
    static AGENT: RefCell<(Agent, u32)> = RefCell::new((agent(), 0));
}

fuzz_target!(|bytes: &[u8]| {
    AGENT.with_borrow_mut(|(agent, inputs)| {
        let before = agent.counters();
        let verdict = agent.receive(bytes);
        agent.commit().expect("the storage can be written");
        let after = agent.counters();
        assert_eq!(after.received, before.received + 1);
        assert_eq!(after.malformed - before.malformed, u64::from(verdict == Verdict::Malformed));
        let mut delivered = 0;
        while let Some(delivery) = agent.next_delivery().expect("the storage can be read") {
            agent.delivered(&delivery);
            delivered += 1;
            assert!(delivered <= 2);
        }
        *inputs += 1;
        if *inputs % 10_000 == 0 || after.stored > 100 {
            *agent = self::agent();
        }
    });
});
