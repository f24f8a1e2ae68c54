//! Decoding of accurate feedback at the sender (RFC 9768, section 3.2 and appendix A).

use super::{handshake_ace, reports_change};
use bentpipe_stage::packet::segment::EcnBytes;
use bentpipe_stage::Ecn as Field;

/// Number of values of the field ACE (DIVACE).
const ACE_VALUES: u32 = 8;
/// Number of values of a field of the option (DIVOPT).
const OPTION_VALUES: u32 = 1 << 24;
/// Fraction of a full segment below which marked segments are unlikely to be (SAFETY_FACTOR).
const SAFETY_FACTOR: u32 = 2;

/// The accurate feedback in an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The field ACE: the flags AE, CWR and ECE as a number.
    pub ace: u8,
    /// The option with byte counters, if the segment has one.
    pub bytes: Option<EcnBytes>,
    /// True if the timestamp is newer than that of all earlier segments.
    pub is_newer: bool,
}

/// State of the other end's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Options {
    /// No option has arrived, or the first ones were lost.
    Missing,
    /// Options arrive, and their byte counters are known.
    Present,
    /// The initial counters were zero, so options are ignored.
    Ignored,
}

/// The sender's copies of the receiver's counters.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Number of marked packets that the other end has reported (s.cep).
    cep: u32,
    /// Payload bytes with ECT(0), CE and ECT(1) (s.e0b, s.ceb and s.e1b).
    bytes: [u32; 3],
    options: Options,
    /// True until the first feedback after the handshake.
    is_first: bool,
    /// False if feedback is ignored, because the field ACE has been cleared on the path.
    responds: bool,
    /// False if no more packets may be ECN-capable.
    may_mark: bool,
}

impl Decoder {
    /// Creates the counters with their initial values (section 3.2.1). `option` is that of the
    /// first segment that acknowledges the SYN or SYN-ACK (section 3.2.3.2.3). If an initial
    /// counter is zero, options are ignored (section 3.2.3.2.4).
    pub fn new(option: Option<EcnBytes>) -> Decoder {
        let mut decoder = Decoder {
            cep: 5,
            bytes: [1, 0, 1],
            options: Options::Missing,
            is_first: true,
            responds: true,
            may_mark: true,
        };
        if let Some(option) = option {
            let [ect0, _, ect1] = option.counters();
            let is_zeroed = ect0 == Some(0) || ect1 == Some(0);
            decoder.options = if is_zeroed { Options::Ignored } else { Options::Present };
        }
        decoder
    }

    /// Records the ACE field of the acknowledgment of our SYN-ACK, which was sent without ECT
    /// (table 4).
    pub fn take_handshake(&mut self, ace: u8) {
        if ace == 0 {
            self.disable();
        } else if reports_change(ace) {
            self.may_mark = false;
        }
        if ace == handshake_ace(Field::Ce) {
            self.cep += 1;
        }
    }

    /// Forbids ECN-capable packets.
    pub fn forbid_marks(&mut self) {
        self.may_mark = false;
    }

    /// Returns true if packets may be ECN-capable.
    #[inline]
    pub fn may_mark(&self) -> bool {
        self.may_mark
    }

    /// Returns the number of newly marked packets that an acknowledgment reports. `delivered` is
    /// the number of newly acknowledged segments, `segment_size` the payload of a full one.
    pub fn decode(&mut self, report: &Report, delivered: u32, segment_size: u32) -> u32 {
        // A superseded acknowledgment (appendix A.1).
        if delivered == 0 && !report.is_newer {
            return 0;
        }
        if std::mem::take(&mut self.is_first) && report.ace == 0 {
            self.disable();
        }
        let ace = (u32::from(report.ace) + ACE_VALUES - self.cep % ACE_VALUES) % ACE_VALUES;
        let ce_bytes = self.take_option(report.bytes.as_ref());
        if ce_bytes.is_some_and(|bytes| bytes > 0) && ace == 0 && delivered < ACE_VALUES {
            // Section 3.2.3.2.5: the packet counter cannot have wrapped.
            self.may_mark = false;
        }
        let marks = marked(ace, delivered, ce_bytes, segment_size);
        self.cep = self.cep.wrapping_add(marks);
        if self.responds {
            marks
        } else {
            0
        }
    }

    /// Updates the byte counters. Returns the newly marked bytes, if the option has this field and
    /// an earlier one was known.
    fn take_option(&mut self, option: Option<&EcnBytes>) -> Option<u32> {
        let option = option.filter(|_| self.options != Options::Ignored)?;
        let was_known = self.options == Options::Present;
        self.options = Options::Present;
        let mut differences = [None; 3];
        for ((counter, field), difference) in
            self.bytes.iter_mut().zip(option.counters()).zip(&mut differences)
        {
            let Some(field) = field else { continue };
            let increase = field.wrapping_sub(*counter) % OPTION_VALUES;
            *counter = counter.wrapping_add(increase);
            *difference = Some(increase);
        }
        // A missing field has not changed.
        was_known.then(|| differences[1].unwrap_or(0))
    }

    /// Stops ECN-capable packets and the response to feedback (section 3.2.2.4).
    fn disable(&mut self) {
        self.may_mark = false;
        self.responds = false;
    }
}

/// Returns the number of newly marked packets: `ace`, the smallest increase that explains the field
/// ACE, or the safest likely case, in which the field has wrapped (appendix A.2).
fn marked(ace: u32, delivered: u32, ce_bytes: Option<u32>, segment_size: u32) -> u32 {
    if delivered <= ace {
        return ace;
    }
    let safer = delivered - (delivered - ace) % ACE_VALUES;
    match ce_bytes {
        Some(bytes)
            if safer > ace && bytes <= segment_size * ace && bytes / safer < segment_size / SAFETY_FACTOR =>
        {
            ace
        }
        _ => safer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_stage::packet::segment::EcnOrder;

    fn option(ce: u32) -> Option<EcnBytes> {
        Some(EcnBytes::new(EcnOrder::Ect0First, [1, ce, 1], 3))
    }

    fn report(ace: u8, bytes: Option<EcnBytes>) -> Report {
        Report { ace, bytes, is_newer: false }
    }

    /// RFC 9768, appendix A.2.1: the two examples, and an increase above the acknowledged packets,
    /// which is believed (section 3.2.2.5.2).
    #[test]
    fn without_options_the_safest_likely_case_counts() {
        assert_eq!(marked(2, 9, None, 1460), 2);
        assert_eq!(marked(2, 10, None, 1460), 10);
        assert_eq!(marked(3, 1, None, 1460), 3);
    }

    /// RFC 9768, appendix A.2.2: the three examples.
    #[test]
    fn marked_bytes_show_if_the_packet_counter_has_wrapped() {
        assert_eq!(marked(0, 8, Some(1460), 1460), 8);
        assert_eq!(marked(2, 10, Some(1460), 1460), 2);
        assert_eq!(marked(7, 15, Some(10_200), 1460), 7);
    }

    /// RFC 9768, appendix A.1: s.ceb 33 554 433 and ECEB 1461 give 1460 marked bytes.
    #[test]
    fn byte_counters_wrap_in_the_option() {
        let mut decoder = Decoder::new(option(0));
        decoder.bytes[1] = 33_554_433;
        assert_eq!(decoder.take_option(option(1461).as_ref()), Some(1460));
        assert_eq!(decoder.bytes[1], 33_555_893);
    }

    #[test]
    fn every_increase_of_the_packet_counter_is_counted_once() {
        let mut decoder = Decoder::new(None);
        let marks = [6, 6, 1, 0, 0].map(|ace| decoder.decode(&report(ace, None), 4, 1000));
        assert_eq!(marks, [1, 0, 3, 7, 0]);
        let superseded = decoder.decode(&report(5, None), 0, 1000);
        assert_eq!(superseded, 0);
        let newer = decoder.decode(&Report { is_newer: true, ..report(2, None) }, 0, 1000);
        assert_eq!(newer, 2, "a marked packet without data");
    }

    /// RFC 9768, section 3.2.2.1, table 4, in which zero means no AccECN.
    #[test]
    fn the_acknowledgment_of_a_syn_ack_has_its_own_encoding() {
        let after = |ace| {
            let mut decoder = Decoder::new(None);
            decoder.take_handshake(ace);
            (decoder.cep, decoder.may_mark, decoder.responds)
        };
        assert_eq!(after(0b000), (5, false, false));
        assert_eq!([0b001, 0b010, 0b101, 0b111].map(after), [(5, true, true); 4]);
        assert_eq!([0b011, 0b100].map(after), [(5, false, true); 2]);
        assert_eq!(after(0b110), (6, false, true));
    }

    /// RFC 9768, section 3.2.2.4.
    #[test]
    fn a_cleared_packet_counter_ends_ecn_in_this_direction() {
        let mut decoder = Decoder::new(None);
        assert_eq!(decoder.decode(&report(0, None), 1, 1000), 0);
        assert!(!decoder.may_mark());
        assert_eq!(decoder.decode(&report(3, None), 4, 1000), 0);
        // Later zeros are values of the counter.
        let mut other = Decoder::new(None);
        other.decode(&report(7, None), 2, 1000);
        assert_eq!((other.decode(&report(0, None), 1, 1000), other.may_mark()), (1, true));
    }

    /// RFC 9768, section 3.2.3.2.4: options with cleared counters are ignored.
    #[test]
    fn cleared_options_are_ignored() {
        let cleared = EcnBytes::new(EcnOrder::Ect0First, [0, 0, 0], 3);
        let mut decoder = Decoder::new(Some(cleared));
        assert_eq!(decoder.take_option(option(500).as_ref()), None);
        let mut decoder = Decoder::new(None);
        assert_eq!(decoder.take_option(option(500).as_ref()), None, "the first one has no predecessor");
        assert_eq!(decoder.take_option(option(700).as_ref()), Some(200));
    }

    /// RFC 9768, section 3.2.3.2.5: marked bytes without marked packets.
    #[test]
    fn contradictory_feedback_ends_marking() {
        let mut decoder = Decoder::new(option(0));
        decoder.decode(&report(6, option(1000)), 1, 1000);
        assert!(decoder.may_mark());
        decoder.decode(&report(6, option(2000)), 1, 1000);
        assert!(!decoder.may_mark());
    }
}
