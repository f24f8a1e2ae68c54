//! Durations of the 2450 MHz physical layer (O-QPSK, 62.5 ksymbol/s, four bits a symbol) and of the
//! procedures above it.
//!
//! Source: IEEE 802.15.4-2006, tables 1, 22, 23, 85 and 86.

use bentpipe_core::Span;

/// Bits that the physical layer transmits in a second.
pub const BIT_RATE: u64 = 250_000;
/// Duration of a symbol.
pub const SYMBOL: Span = symbols(1);
/// Duration of a byte on the air, which is two symbols.
pub const BYTE: Span = symbols(2);
/// Unit of the random backoff (aUnitBackoffPeriod, 20 symbols).
pub const BACKOFF: Span = symbols(20);
/// Time from receiving to transmitting and back (aTurnaroundTime, 12 symbols).
pub const TURNAROUND: Span = symbols(12);
/// Duration of a clear channel assessment (8 symbols).
pub const ASSESSMENT: Span = symbols(8);
/// Pause after a short frame (aMinSIFSPeriod, 12 symbols).
pub const SIFS: Span = symbols(12);
/// Pause after a long frame (aMinLIFSPeriod, 40 symbols).
pub const LIFS: Span = symbols(40);
/// Bytes of the longest frame that a short pause follows (aMaxSIFSFrameSize).
pub const MAX_SHORT_FRAME: u32 = 18;
/// Bytes of preamble, delimiter and length in front of a frame.
pub const PREAMBLE: u32 = 6;
/// Bytes of the longest frame of the MAC layer (aMaxPHYPacketSize).
pub const MAX_FRAME: u32 = 127;
/// Bytes of an acknowledgment.
pub const ACKNOWLEDGMENT: u32 = 5;
/// Bytes of the header of a data frame with short addresses in one network: frame control, sequence
/// number, network, two addresses.
pub const HEADER: u32 = 9;
/// Bytes of the frame check sequence.
pub const CHECK: u32 = 2;
/// Time for which a sender waits for an acknowledgment (macAckWaitDuration, 54 symbols).
pub const ACK_TIMEOUT: Span = symbols(54);

/// Returns a duration in symbols of 16 us.
pub const fn symbols(count: u64) -> Span {
    Span::from_micros(16 * count)
}

/// Returns the time on the air of a frame of `bytes`, header and check sequence included.
pub const fn airtime(bytes: u32) -> Span {
    symbols(2 * (PREAMBLE + bytes) as u64)
}

/// Returns the length of a data frame with `payload` bytes.
pub const fn frame(payload: u32) -> u32 {
    HEADER + payload + CHECK
}

/// Returns the pause after a frame of `bytes` before its sender may contend for the next one.
pub const fn pause(bytes: u32) -> Span {
    if bytes <= MAX_SHORT_FRAME {
        SIFS
    } else {
        LIFS
    }
}
