//! The contents of getsockopt(TCP_INFO): `struct tcp_info` of <linux/tcp.h>, whose members never
//! move.

use crate::sys::socket;
use bentpipe_transport::flow::SourceCounters;
use std::io;
use std::os::fd::BorrowedFd;

/// Slow-start threshold before its first value, in segments (Linux's TCP_INFINITE_SSTHRESH).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The kernel's state of a connection.
pub struct Info {
    bytes: [u8; 512],
    length: usize,
}

impl Info {
    /// Copies the counters of sent data.
    pub fn count(&self, sent: &mut SourceCounters) {
        sent.sent_bytes = self.sent_bytes();
        sent.sent_packets = self.data_segments_out();
        sent.retransmissions = self.retransmissions();
        sent.timeouts = self.timeouts().unwrap_or(0);
    }

    /// Queries the kernel for the state of a connection.
    pub fn of(fd: BorrowedFd<'_>) -> io::Result<Info> {
        let (bytes, length) = socket::tcp_info(fd)?;
        Ok(Info { bytes, length })
    }

    /// Returns the state in a `struct tcp_info`.
    pub fn from_bytes(info: &[u8]) -> Info {
        let (mut bytes, length) = ([0; 512], info.len().min(512));
        bytes[..length].copy_from_slice(&info[..length]);
        Info { bytes, length }
    }

    /// Returns a word at an offset; zero beyond the size that this kernel provides.
    fn word(&self, offset: usize) -> u32 {
        match self.bytes.get(offset..offset + 4) {
            Some(bytes) if offset + 4 <= self.length => {
                u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
            }
            _ => 0,
        }
    }

    fn long(&self, offset: usize) -> u64 {
        u64::from(self.word(offset)) | u64::from(self.word(offset + 4)) << 32
    }

    /// Returns the connection's state, with the kernel's numbers: 1 ESTABLISHED, 4 FIN-WAIT-1, ...
    pub fn state(&self) -> u8 {
        self.bytes[0]
    }

    /// Returns the connection's state, with the numbers of the table `tcp_connection`. The end that
    /// closed first is CLOSED, because its TIME-WAIT no longer belongs to the socket.
    pub fn state_of_rfc9293(&self) -> u8 {
        const NUMBERS: [u8; 12] = [0, 4, 2, 3, 5, 6, 8, 0, 9, 10, 1, 7];
        NUMBERS.get(usize::from(self.state())).copied().unwrap_or(0)
    }

    /// Returns true if all that was sent, FIN included, is acknowledged.
    pub fn is_done(&self) -> bool {
        const FIN_WAIT_2: u8 = 5;
        const TIME_WAIT: u8 = 6;
        const CLOSED: u8 = 7;
        matches!(self.state(), FIN_WAIT_2 | TIME_WAIT | CLOSED)
    }

    /// Returns the number of bytes handed over and not yet sent.
    pub fn unsent(&self) -> u32 {
        self.word(144)
    }

    /// Returns the number of data segments sent, retransmissions included.
    pub fn data_segments_out(&self) -> u64 {
        self.word(156).into()
    }

    /// Returns the number of data segments that arrived.
    pub fn data_segments_in(&self) -> u64 {
        self.word(152).into()
    }

    /// Returns the number of retransmitted segments.
    pub fn retransmissions(&self) -> u64 {
        self.word(100).into()
    }

    /// Returns the number of retransmission time-outs; `None` before Linux 6.7.
    pub fn timeouts(&self) -> Option<u64> {
        let count = u16::from_ne_bytes([self.bytes[240], self.bytes[241]]);
        (self.length >= 244).then(|| count.into())
    }

    /// Returns the number of payload bytes sent, without retransmissions.
    pub fn sent_bytes(&self) -> u64 {
        self.long(200).saturating_sub(self.long(208))
    }

    /// Returns the smoothed round-trip time in microseconds; zero before the first sample.
    pub fn srtt(&self) -> u32 {
        self.word(68)
    }

    /// Returns the variation of the round-trip time in microseconds.
    pub fn variation(&self) -> u32 {
        self.word(72)
    }

    /// Returns the number of retransmission time-outs since the last acknowledgment of data.
    pub fn timeouts_in_a_row(&self) -> u8 {
        self.bytes[2]
    }

    /// Returns the number of SACKed segments (RFC 2018).
    pub fn sacked(&self) -> u32 {
        self.word(28)
    }

    /// Returns true if the sender is neither in recovery nor near it.
    pub fn is_undisturbed(&self) -> bool {
        self.bytes[1] == 0
    }

    /// Returns the minimum round-trip time of the last five minutes in microseconds; `None` before
    /// the first sample.
    pub fn min_rtt(&self) -> Option<u32> {
        Some(self.word(148)).filter(|rtt| *rtt != u32::MAX)
    }

    /// Returns the congestion window in segments.
    pub fn cwnd(&self) -> u32 {
        self.word(80)
    }

    /// Returns the slow-start threshold in segments; `None` while it is infinite.
    pub fn ssthresh(&self) -> Option<u32> {
        Some(self.word(76)).filter(|threshold| *threshold < INFINITE_SSTHRESH)
    }

    /// Returns the retransmission time-out in microseconds, back-off included.
    pub fn rto(&self) -> u32 {
        self.word(8)
    }

    /// Returns the number of acknowledged payload bytes. The kernel's count also includes the FIN,
    /// and the SYN of the end that `opened` the connection.
    pub fn acknowledged(&self, opened: bool) -> u64 {
        self.long(120).saturating_sub(opened.into()).min(self.sent_bytes())
    }

    /// Returns the values of a row of the trace `tcp`, except `rtt`: the kernel keeps only the
    /// smoothed value.
    pub fn row(&self, opened: bool) -> [f64; 12] {
        let seconds = |offset| f64::from(self.word(offset)) / 1e6;
        let in_flight = (self.word(24) + self.word(36)).saturating_sub(self.word(28) + self.word(32));
        [
            self.cwnd().into(),
            self.ssthresh().map_or(f64::NAN, f64::from),
            f64::NAN,
            seconds(68),
            seconds(72),
            f64::from(self.rto()) / 1e6,
            in_flight.into(),
            self.acknowledged(opened) as f64,
            self.sent_bytes() as f64,
            self.retransmissions() as f64,
            self.timeouts().map_or(f64::NAN, |count| count as f64),
            self.bytes[1].into(),
        ]
    }
}
