//! The time plan: which slots of the frame belong to whom.
//!
//! The constant slots of the terminals (CRA) lie at the beginning of the frame in the order of logon and stay
//! where they are, so that no terminal has to be told of a plan in which nothing changes for it. Assigned
//! slots follow, superframe by superframe, without gaps in the order of the terminals.

use super::frame::Run;

/// Slots of a frame as they are handed out.
#[derive(Clone, Debug)]
pub struct Plan {
    slots: u16,
    constant: u16,
}

/// Hands out the slots of one superframe that are not constant.
#[derive(Clone, Debug)]
pub struct Layout {
    next: u16,
    slots: u16,
}

impl Plan {
    /// An empty plan for frames of `slots` slots.
    pub fn new(slots: u32) -> Plan {
        Plan { slots: slots as u16, constant: 0 }
    }

    /// Gives a terminal its constant slots. The scenario's check has made sure that they fit.
    pub fn add_constant(&mut self, count: u32) -> Run {
        let run = Run { first: self.constant, count: count as u16 };
        self.constant += run.count;
        assert!(self.constant <= self.slots, "the sum of CRA fits into the frame");
        run
    }

    /// Slots that are not constant.
    pub fn free(&self) -> u32 {
        u32::from(self.slots - self.constant)
    }

    /// Begins the layout of one superframe.
    pub fn layout(&self) -> Layout {
        Layout { next: self.constant, slots: self.slots }
    }
}

impl Layout {
    /// The next `count` slots.
    pub fn take(&mut self, count: u32) -> Run {
        let run = Run { first: self.next, count: count as u16 };
        self.next += run.count;
        assert!(self.next <= self.slots, "the allocator grants no more than there is");
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_slots_come_first_and_assigned_ones_follow() {
        let mut plan = Plan::new(32);
        assert_eq!(plan.add_constant(2), Run { first: 0, count: 2 });
        assert_eq!(plan.add_constant(1), Run { first: 2, count: 1 });
        assert_eq!(plan.free(), 29);
        let mut layout = plan.layout();
        assert_eq!(layout.take(20), Run { first: 3, count: 20 });
        assert_eq!(layout.take(9), Run { first: 23, count: 9 });
    }

    #[test]
    #[should_panic(expected = "no more than there is")]
    fn more_than_the_frame_is_our_fault() {
        Plan::new(4).layout().take(5);
    }
}
