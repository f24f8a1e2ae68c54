use super::*;
use bentpipe_core::Span;
use proptest::prelude::*;

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn metadata(name: u64, size: u64, priority: usize) -> Metadata<u64> {
    Metadata { name, size, priority, expires: at(100), hops: 0, hop_limit: None, fragment: None }
}

fn agent(storage: u64, discard: Discard, duplicate_history: bool) -> Agent<Numbers, u64> {
    Agent::new(Numbers, Rules { storage, discard, duplicate_history, expiry_timers: true })
}

fn stored(number: u64, dropped: &[u64]) -> Verdict {
    Verdict::Stored { number, dropped: dropped.to_vec() }
}

#[test]
fn a_full_agent_applies_its_discard_rule() {
    for (discard, expected) in [
        (Discard::Newest, Verdict::NoRoom),
        (Discard::Oldest, stored(4, &[1, 2])),
        (Discard::LowestPriority, stored(4, &[2, 1])),
    ] {
        let mut agent = agent(300, discard, false);
        for (number, priority) in [(1, 1), (2, 0), (3, 2)] {
            assert_eq!(agent.accept(at(0), metadata(number, 100, priority), &number), stored(number, &[]));
        }
        assert_eq!(agent.accept(at(0), metadata(4, 150, 2), &4), expected);
        // A bundle that exceeds the storage alone causes no drops.
        let bytes = agent.bytes();
        assert_eq!(agent.accept(at(0), metadata(5, 301, 2), &5), Verdict::NoRoom);
        // No stored bundle has a lower priority than this one.
        if discard == Discard::LowestPriority {
            assert_eq!(agent.accept(at(0), metadata(6, 100, 0), &6), Verdict::NoRoom);
        }
        assert_eq!(agent.bytes(), bytes);
    }
}

#[test]
fn lifetimes_hop_limits_and_duplicates_are_checked() {
    let mut agent = agent(1000, Discard::Newest, false);
    let limited = Metadata { hop_limit: Some(2), hops: 1, ..metadata(1, 10, 1) };
    assert_eq!(agent.accept(at(99), limited, &1), stored(1, &[]));
    assert_eq!(agent.accept(at(99), metadata(1, 10, 1), &1), Verdict::Duplicate);
    assert_eq!(
        agent.accept(at(99), Metadata { hops: 2, hop_limit: Some(2), ..metadata(2, 10, 1) }, &2),
        stored(2, &[])
    );
    // Bundle 1 has one hop left, and bundle 2 has none.
    assert_eq!(
        [1, 2].map(|number| agent.check_forwarding(number, at(99))),
        [Ok(()), Err(Exceeded::HopLimit)]
    );
    assert_eq!([1, 2].map(|number| agent.check_forwarding(number, at(100))), [Err(Exceeded::Lifetime); 2]);
    assert_eq!((agent.expired(at(99)), agent.expired(at(100))), (None, Some(1)));
    assert_eq!(agent.accept(at(100), metadata(3, 10, 1), &3), Verdict::Expired);
    agent.drop(1);
    assert_eq!((agent.expired(at(100)), agent.bytes(), agent.len()), (Some(2), 10, 1));
    assert_eq!(agent.accept(at(99), metadata(1, 10, 1), &1), stored(1, &[]));
    let mut remembering = self::agent(1000, Discard::Newest, true);
    assert_eq!(remembering.accept(at(0), metadata(1, 10, 1), &1), stored(1, &[]));
    remembering.drop(1);
    assert_eq!(remembering.accept(at(0), metadata(1, 10, 1), &1), Verdict::Duplicate);
}

fn fragment(number: u64, offset: u64, length: u64) -> Metadata<u64> {
    Metadata {
        fragment: Some(Box::new(Fragment { bundle: 7, offset, length, total: 30 })),
        ..metadata(number, length, 1)
    }
}

#[test]
fn a_bundle_is_complete_when_its_fragments_cover_it() {
    let mut agent = agent(100, Discard::Newest, false);
    for (number, offset, length, complete) in
        [(1, 10, 10, false), (2, 0, 5, false), (3, 15, 15, false), (4, 2, 9, true)]
    {
        assert_eq!(agent.accept(at(0), fragment(number, offset, length), &number), stored(number, &[]));
        assert_eq!(agent.is_complete(number), complete, "{number}");
    }
    assert_eq!(agent.fragments(3), Some((&7, vec![(0, 2), (2, 4), (10, 1), (15, 3)])));
    agent.drop(4);
    assert!(!agent.is_complete(3) && agent.fragments(4).is_none());
    assert_eq!(agent.accept(at(0), metadata(9, 10, 1), &9), stored(9, &[]));
    assert!(agent.is_complete(9) && agent.fragments(9).is_none());
}

#[test]
fn fragments_replace_a_bundle_if_the_storage_has_room_for_both() {
    for (storage, fits) in [(199, false), (200, true)] {
        let mut agent = agent(storage, Discard::Oldest, false);
        assert_eq!(agent.accept(at(0), metadata(1, 100, 1), &1), stored(1, &[]));
        let fragments = vec![(metadata(2, 60, 1), &2), (metadata(3, 40, 1), &3)];
        assert_eq!(agent.replace(1, fragments), fits.then(|| vec![2, 3]));
        assert_eq!(agent.iter().collect::<Vec<_>>(), if fits { vec![2, 3] } else { vec![1] });
        assert_eq!(agent.bytes(), 100);
    }
}

proptest! {
    /// For any sequence of steps, the agent's counts match its stored bundles, which never exceed
    /// the storage.
    #[test]
    fn counts_match_the_stored_bundles(
        steps in prop::collection::vec((0..30_u64, 1..200_u64, 0..3_usize, 0..100_u64, any::<bool>()), 1..100),
        discard in 0..3_usize,
        duplicate_history in any::<bool>(),
    ) {
        let discard = [Discard::Newest, Discard::Oldest, Discard::LowestPriority][discard];
        let mut agent = agent(600, discard, duplicate_history);
        let mut known: BTreeMap<u64, u64> = BTreeMap::new();
        for (number, size, priority, now, drops) in steps {
            if drops {
                agent.drop(number);
                known.remove(&number);
                continue;
            }
            let is_stored = known.contains_key(&number);
            match agent.accept(at(now), Metadata { expires: at(50), ..metadata(number, size, priority) }, &number) {
                Verdict::Stored { dropped, .. } => {
                    prop_assert!(!is_stored && now < 50);
                    dropped.iter().for_each(|number| remove(&mut known, *number));
                    known.insert(number, size);
                }
                Verdict::Expired => prop_assert!(now >= 50),
                Verdict::Duplicate => prop_assert!(is_stored || duplicate_history),
                Verdict::NoRoom => prop_assert!(agent.bytes() + size > 600),
            }
            prop_assert_eq!(agent.bytes(), known.values().sum::<u64>());
            prop_assert!(agent.bytes() <= 600);
            let mut stored: Vec<u64> = agent.iter().collect();
            stored.sort_unstable();
            prop_assert_eq!(stored, known.keys().copied().collect::<Vec<_>>());
        }
    }
}

/// Removes a bundle that must have been stored.
fn remove(known: &mut BTreeMap<u64, u64>, number: u64) {
    assert!(known.remove(&number).is_some(), "{number} was not stored");
}
