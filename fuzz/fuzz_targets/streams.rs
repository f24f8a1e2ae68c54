//! Parses arbitrary bytes as streams of bundles in MTCP and in STCP. The parsers must not panic.
//! Pieces of any size must give the same bundles as the complete stream.
#![no_main]

use bentpipe_dtn::convergence::stream::{Framing, Reader};
use bentpipe_dtn::convergence::{mtcp, stcp};
use libfuzzer_sys::fuzz_target;

/// Maximum size of a bundle in bytes.
const MAX_BUNDLE: u64 = 4096;

/// Returns the bundles in a stream, and true if the complete stream is valid.
fn bundles<'a>(pieces: impl Iterator<Item = &'a [u8]>, framing: Framing) -> (Vec<Vec<u8>>, bool) {
    let (mut reader, mut found) = (Reader::new(MAX_BUNDLE, framing), Vec::new());
    for piece in pieces {
        reader.read(piece);
        loop {
            match reader.next_bundle() {
                Ok(Some(bundle)) => found.push(bundle.to_vec()),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
    }
    (found, true)
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    for framing in [mtcp::FRAMING, stcp::FRAMING] {
        let whole = bundles([rest].into_iter(), framing);
        let pieces = bundles(rest.chunks(1 + usize::from(*first)), framing);
        assert_eq!(whole, pieces);
        // A written bundle must be parsed unchanged.
        let mut written = Vec::new();
        assert!((framing.write)(rest, &mut written));
        if rest.len() as u64 <= MAX_BUNDLE {
            assert_eq!(bundles([&written[..]].into_iter(), framing), (vec![rest.to_vec()], true));
        }
    }
});
