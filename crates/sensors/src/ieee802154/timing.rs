//! Durations of the 2450 MHz physical layer (O-QPSK, 62.5 ksymbol/s, 4 bits per symbol) and of the
//! procedures of the MAC layer.
//!
//! Source: IEEE 802.15.4-2006, tables 1, 22, 23, 85 and 86.

use bentpipe_core::Span;

/// Bit rate of the physical layer, in bit/s.
pub const BIT_RATE: u64 = 250_000;
/// Duration of a symbol.
pub const SYMBOL: Span = symbols(1);
/// Duration of a byte (2 symbols).
pub const BYTE: Span = symbols(2);
/// Unit of the random backoff (aUnitBackoffPeriod, 20 symbols).
pub const BACKOFF: Span = symbols(20);
/// Time to switch between receiving and transmitting (aTurnaroundTime, 12 symbols).
pub const TURNAROUND: Span = symbols(12);
/// Duration of a clear channel assessment (8 symbols).
pub const ASSESSMENT: Span = symbols(8);
/// Pause after a short frame (aMinSIFSPeriod, 12 symbols).
pub const SIFS: Span = symbols(12);
/// Pause after a long frame (aMinLIFSPeriod, 40 symbols).
pub const LIFS: Span = symbols(40);
/// Maximum length in bytes of a frame that is followed by the short pause (aMaxSIFSFrameSize).
pub const MAX_SHORT_FRAME: u32 = 18;
/// Length in bytes of preamble, start-of-frame delimiter and frame length, which precede a frame.
pub const PREAMBLE: u32 = 6;
/// Maximum length in bytes of a frame of the MAC layer (aMaxPHYPacketSize).
pub const MAX_FRAME: u32 = 127;
/// Length of an acknowledgment frame in bytes.
pub const ACKNOWLEDGMENT: u32 = 5;
/// Length in bytes of the header of a data frame with short addresses within one network: frame
/// control, sequence number, network identifier and two addresses.
pub const HEADER: u32 = 9;
/// Length of the frame check sequence in bytes.
pub const CHECK: u32 = 2;
/// Maximum wait for an acknowledgment (macAckWaitDuration, 54 symbols).
pub const ACK_TIMEOUT: Span = symbols(54);

/// Returns the duration of `count` symbols of 16 us.
pub const fn symbols(count: u64) -> Span {
    Span::from_micros(16 * count)
}

/// Returns the transmission time of a frame of `bytes`, including its header and check sequence.
pub const fn airtime(bytes: u32) -> Span {
    symbols(2 * (PREAMBLE + bytes) as u64)
}

/// Returns the length in bytes of a data frame with a payload of `payload` bytes.
pub const fn frame(payload: u32) -> u32 {
    HEADER + payload + CHECK
}

/// Returns the pause between a frame of `bytes` and the contention for the next frame.
pub const fn pause(bytes: u32) -> Span {
    if bytes <= MAX_SHORT_FRAME {
        SIFS
    } else {
        LIFS
    }
}
