//! Reads arbitrary bytes as the frames of a QUIC packet. The parser must not panic, and a frame that
//! it accepts must be the same after it has been written and read again.
#![no_main]

use bentpipe_transport::quic::wire::{read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some(frame)) = read(&mut rest) {
        let mut written = Vec::new();
        write(&frame, &mut written);
        assert_eq!(written.len(), frame.size() as usize);
        assert_eq!(read(&mut &written[..]), Ok(Some(frame)));
    }
});
