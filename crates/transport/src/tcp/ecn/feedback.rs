//! Accurate feedback of the receiver: the counters of arriving packets, and the acknowledgments
//! that report them (RFC 9768, section 3.2).

use super::handshake_ace;
use bentpipe_stage::packet::segment::{EcnBytes, EcnOrder, SegmentFlags};
use bentpipe_stage::Ecn as Field;

/// Maximum size of a TCP header's options, in bytes.
const OPTION_ROOM: u32 = 40;

/// Number of SACK blocks that have priority over the option (section 3.2.3.3).
const PRIOR_BLOCKS: usize = 2;

/// Counters of the packets that have arrived.
#[derive(Clone, Debug)]
pub struct Feedback {
    /// Number of marked packets that have arrived (r.cep).
    cep: u32,
    /// Payload bytes with ECT(0), CE and ECT(1) (r.e0b, r.ceb and r.e1b).
    bytes: [u32; 3],
    /// True for each byte counter that has changed.
    changed: [bool; 3],
    /// True for each byte counter that has changed since the last option.
    unreported: [bool; 3],
    /// True if a byte counter has changed since the last acknowledgment.
    has_news: bool,
    /// Number of marked packets since the last acknowledgment.
    marks: u32,
    /// True if the previous packet was marked.
    was_marked: bool,
    /// True if an acknowledgment must be sent now.
    is_due: bool,
    /// ECN field of a SYN-ACK that the next pure acknowledgment reports.
    syn_ack: Option<Field>,
    /// True if the next pure acknowledgment has an option as a test of the path (section
    /// 3.2.3.2.1).
    is_first: bool,
}

impl Default for Feedback {
    /// Creates the counters with their initial values (section 3.2.1).
    fn default() -> Feedback {
        Feedback {
            cep: 5,
            bytes: [1, 0, 1],
            changed: [false; 3],
            unreported: [false; 3],
            has_news: false,
            marks: 0,
            was_marked: false,
            is_due: false,
            syn_ack: None,
            is_first: false,
        }
    }
}

impl Feedback {
    /// Records the arrival of a SYN-ACK. The first marked one is counted (section 3.2.2.2).
    pub fn take_syn_ack(&mut self, field: Field, is_first: bool) {
        self.syn_ack = Some(field);
        self.is_first |= is_first;
        if is_first && field == Field::Ce {
            self.cep += 1;
        }
    }

    /// Counts an acceptable packet. An acknowledgment becomes due when marks start, and when two
    /// packets with data or three other packets have been marked since the last one (section
    /// 3.2.2.5.1).
    #[inline]
    pub fn count(&mut self, field: Field, payload: u64) {
        let is_marked = field == Field::Ce;
        if is_marked {
            self.cep = self.cep.wrapping_add(1);
            self.marks += 1;
            let limit = if payload > 0 { 2 } else { 3 };
            self.is_due |= (payload > 0 && !self.was_marked) || self.marks >= limit;
        }
        self.was_marked = is_marked;
        let index = match field {
            Field::NotEct => return,
            Field::Ect0 => 0,
            Field::Ce => 1,
            Field::Ect1 => 2,
        };
        if payload > 0 {
            self.bytes[index] = self.bytes[index].wrapping_add(payload as u32);
            self.changed[index] = true;
            self.unreported[index] = true;
            self.has_news = true;
        }
    }

    /// Returns and resets the flag of a due acknowledgment.
    #[inline]
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Returns the flags of a segment without SYN. `is_pure` is true for an acknowledgment without
    /// data and SACK blocks, which reports the ECN field of the SYN-ACK first (section 3.2.2.1).
    #[inline]
    pub fn flags(&mut self, is_pure: bool) -> SegmentFlags {
        self.marks = 0;
        self.is_due = false;
        let syn_ack = if is_pure { self.syn_ack.take() } else { None };
        SegmentFlags::of_ace(syn_ack.map_or(self.cep as u8, handshake_ace))
    }

    /// Returns the option of a SYN-ACK: all counters.
    pub fn option_of_syn_ack(&self) -> EcnBytes {
        EcnBytes::new(EcnOrder::Ect0First, self.bytes, 3)
    }

    /// Returns the option of a pure acknowledgment, if a counter has changed, and the number of
    /// SACK blocks that fit next to it (section 3.2.3.3). `taken` is the size of the other options
    /// without SACK, in bytes.
    pub fn option(&mut self, taken: u32, blocks: usize) -> (Option<EcnBytes>, usize) {
        let is_first = std::mem::take(&mut self.is_first);
        if !std::mem::take(&mut self.has_news) && !is_first {
            return (None, blocks);
        }
        let order = if self.changed[2] { EcnOrder::Ect1First } else { EcnOrder::Ect0First };
        let wanted = if is_first { 3 } else { self.fields(order, &self.changed) };
        let needed = self.fields(order, &self.unreported);
        let prior = blocks.min(PRIOR_BLOCKS);
        for count in (needed..=wanted).rev() {
            let option = EcnBytes::new(order, self.bytes, count);
            let rest = OPTION_ROOM.saturating_sub(taken + option.bytes().next_multiple_of(4));
            let room = (rest.saturating_sub(4) / 8) as usize;
            if room >= prior {
                self.unreported = [false; 3];
                return (Some(option), blocks.min(room));
            }
        }
        (None, blocks)
    }

    /// Returns the number of fields up to the last one with a flag.
    fn fields(&self, order: EcnOrder, flags: &[bool; 3]) -> usize {
        let [ect0, ce, ect1] = *flags;
        let ordered = match order {
            EcnOrder::Ect0First => [ect0, ce, ect1],
            EcnOrder::Ect1First => [ect1, ce, ect0],
        };
        ordered.iter().rposition(|flag| *flag).map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, section 3.2.2.1, table 3, in which a mark counts once.
    #[test]
    fn the_first_pure_acknowledgment_reports_the_ecn_field_of_the_syn_ack() {
        let reported = |field| {
            let mut feedback = Feedback::default();
            feedback.take_syn_ack(field, true);
            let with_data = feedback.flags(false).ace();
            (with_data, feedback.flags(true).ace(), feedback.flags(true).ace())
        };
        assert_eq!(reported(Field::NotEct), (5, 0b010, 5));
        assert_eq!(reported(Field::Ect1), (5, 0b011, 5));
        assert_eq!(reported(Field::Ect0), (5, 0b100, 5));
        assert_eq!(reported(Field::Ce), (6, 0b110, 6));
        let mut twice = Feedback::default();
        twice.take_syn_ack(Field::Ce, true);
        twice.take_syn_ack(Field::Ce, false);
        assert_eq!((twice.flags(true).ace(), twice.flags(true).ace()), (0b110, 6));
    }

    /// RFC 9768, section 3.2.2: three bits of the packet counter, which starts at 5.
    #[test]
    fn the_packet_counter_wraps_in_the_header() {
        let mut feedback = Feedback::default();
        let aces: Vec<u8> = (0..9)
            .map(|_| {
                feedback.count(Field::Ce, 1000);
                feedback.flags(true).ace()
            })
            .collect();
        assert_eq!(aces, [6, 7, 0, 1, 2, 3, 4, 5, 6]);
    }

    /// RFC 9768, section 3.2.2.5.1: at the first mark after an unmarked packet, then at every
    /// second marked packet with data or every third without.
    #[test]
    fn marks_make_acknowledgments_due() {
        let mut feedback = Feedback::default();
        let mut due = |field, payload| {
            feedback.count(field, payload);
            let due = feedback.take_due();
            if due {
                feedback.flags(true);
            }
            due
        };
        let fields = [Field::Ect1, Field::Ce, Field::Ce, Field::Ce, Field::Ect1, Field::Ce];
        assert_eq!(fields.map(|field| due(field, 1000)), [false, true, false, true, false, true]);
        assert_eq!([0; 6].map(|payload| due(Field::Ce, payload)), [false, false, true, false, false, true]);
    }

    /// RFC 9768, section 3.2.3.3, with its two examples.
    #[test]
    fn an_option_has_the_counters_that_have_changed() {
        let mut feedback = Feedback::default();
        feedback.take_syn_ack(Field::NotEct, true);
        let counters =
            |option: Option<EcnBytes>| option.map(|option| (option.order, option.fields().to_vec()));
        assert_eq!(feedback.option_of_syn_ack().fields(), [1, 0, 1]);
        assert_eq!(
            counters(feedback.option(12, 0).0),
            Some((EcnOrder::Ect0First, vec![1, 0, 1])),
            "the first acknowledgment tests the path"
        );
        feedback.count(Field::NotEct, 1000);
        assert_eq!(feedback.option(12, 0).0, None);
        feedback.count(Field::Ect0, 1000);
        assert_eq!(counters(feedback.option(12, 0).0), Some((EcnOrder::Ect0First, vec![1001])));
        assert_eq!(feedback.option(12, 0).0, None, "nothing has changed");
        feedback.count(Field::Ce, 500);
        assert_eq!(counters(feedback.option(12, 0).0), Some((EcnOrder::Ect0First, vec![1001, 500])));
        feedback.count(Field::Ect0, 9);
        assert_eq!(counters(feedback.option(12, 0).0), Some((EcnOrder::Ect0First, vec![1010, 500])));
        feedback.count(Field::Ect1, 1);
        assert_eq!(counters(feedback.option(12, 0).0), Some((EcnOrder::Ect1First, vec![2, 500, 1010])));
    }

    /// RFC 9768, section 3.2.3.3: two SACK blocks precede the option, and the option precedes the
    /// third. A counter that has changed since the last option is never left out.
    #[test]
    fn two_sack_blocks_have_priority_over_the_option() {
        let mut feedback = Feedback::default();
        feedback.count(Field::Ect1, 1000);
        let (option, blocks) = feedback.option(12, 3);
        assert_eq!((option.map(|option| option.bytes()), blocks), (Some(5), 2));
        // All three counters need 12 bytes: two blocks and timestamps leave 8.
        feedback.count(Field::Ect0, 1000);
        assert_eq!(feedback.option(12, 2), (None, 2));
        // Without timestamps there is room.
        feedback.count(Field::Ce, 1000);
        let (option, blocks) = feedback.option(0, 4);
        assert_eq!((option.map(|option| option.bytes()), blocks), (Some(11), 3));
        // Only ECT(1) and CE have changed since: the third field may be left out.
        feedback.count(Field::Ce, 1000);
        let (option, blocks) = feedback.option(12, 3);
        assert_eq!((option.map(|option| option.bytes()), blocks), (Some(8), 2));
    }
}
