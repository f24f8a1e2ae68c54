//! Shared mini-slots: the choice of mini-slots for a burst, and the resolution of collisions.

use bentpipe_core::Stream;

/// Maximum number of replicas of a burst.
pub const MAX_REPLICAS: usize = 4;

/// The mini-slots in which a burst is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contention {
    /// Number of the superframe that contains the mini-slots.
    pub superframe: u64,
    slots: [u16; MAX_REPLICAS],
    replicas: u8,
}

impl Contention {
    /// Draws different mini-slots out of `slots` at random.
    pub fn draw(superframe: u64, slots: u16, replicas: u8, stream: &mut Stream) -> Contention {
        let mut drawn = [0; MAX_REPLICAS];
        for replica in 0..usize::from(replicas) {
            // Uniform among the free mini-slots. The number is then shifted past the mini-slots
            // already drawn, in ascending order.
            let mut slot = (stream.uniform() * f64::from(slots - replica as u16)) as u16;
            for taken in &drawn[..replica] {
                slot += u16::from(*taken <= slot);
            }
            let at = drawn[..replica].partition_point(|taken| *taken < slot);
            drawn[at..=replica].rotate_right(1);
            drawn[at] = slot;
        }
        Contention { superframe, slots: drawn, replicas }
    }

    /// The mini-slots, in ascending order.
    pub fn slots(&self) -> &[u16] {
        &self.slots[..usize::from(self.replicas)]
    }
}

/// Determines which of the bursts of one or more superframes are received. A burst that is alone in
/// a mini-slot is received. The replicas of received bursts are removed, and this repeats until no
/// further burst is alone.
pub fn resolve(bursts: &[Contention]) -> Vec<bool> {
    let mut received = vec![false; bursts.len()];
    let mut slots: Vec<(u64, u16, u32)> = Vec::new();
    for (index, burst) in (0u32..).zip(bursts) {
        slots.extend(burst.slots().iter().map(|slot| (burst.superframe, *slot, index)));
    }
    slots.sort_unstable();
    loop {
        let mut found = false;
        slots.retain(|(_, _, burst)| !received[*burst as usize]);
        for group in slots.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            if let [(_, _, alone)] = group {
                found |= !received[*alone as usize];
                received[*alone as usize] = true;
            }
        }
        if !found {
            return received;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::math;
    use bentpipe_core::Streams;

    fn burst(slots: &[u16]) -> Contention {
        let mut all = [0; MAX_REPLICAS];
        all[..slots.len()].copy_from_slice(slots);
        Contention { superframe: 1, slots: all, replicas: slots.len() as u8 }
    }

    #[test]
    fn burst_with_one_collision_free_replica_is_resolved() {
        // Slotted ALOHA: one burst in mini-slot 3, and two bursts in mini-slot 5.
        assert_eq!(resolve(&[burst(&[3]), burst(&[5]), burst(&[5])]), [true, false, false]);
        // Burst A is alone in 1. Without A, burst B is alone in 2; then C is alone in 3.
        assert_eq!(resolve(&[burst(&[2, 3]), burst(&[1, 2]), burst(&[3, 4])]), [true; 3]);
        assert_eq!(
            resolve(&[burst(&[1, 2]), burst(&[2, 3]), burst(&[3, 4]), burst(&[3, 4])]),
            [true, true, false, false]
        );
        // Two bursts with the same mini-slots cannot be resolved.
        assert_eq!(resolve(&[burst(&[1, 2]), burst(&[1, 2])]), [false, false]);
        // Bursts in different superframes do not collide.
        assert_eq!(resolve(&[burst(&[1]), Contention { superframe: 2, ..burst(&[1]) }]), [true, true]);
    }

    /// Returns the number of bursts received per mini-slot when `load` bursts per mini-slot are
    /// sent in frames of 100 mini-slots.
    fn throughput(load: f64, replicas: u8) -> f64 {
        let mut stream = Streams::new(5, 0).stream("contention");
        let (mut sent, mut got) = (0, 0);
        for superframe in 0..400 {
            let count = (load * 100.0) as usize;
            let bursts: Vec<_> =
                (0..count).map(|_| Contention::draw(superframe, 100, replicas, &mut stream)).collect();
            sent += count;
            got += resolve(&bursts).into_iter().filter(|received| *received).count();
        }
        got as f64 / sent as f64 * load
    }

    #[test]
    fn throughput_matches_the_literature() {
        // Slotted ALOHA with n senders on N slots: G (1 - 1/N)^(n-1); G = 1: 0.370.
        for load in [0.2f64, 0.5, 1.0] {
            let expected = load * math::powf(1.0f64 - 0.01, load * 100.0 - 1.0);
            assert!((throughput(load, 1) - expected).abs() < 0.01, "{load}");
        }
        // CRDSA with two replicas and frames of 100 mini-slots (Casini et al. 2007, fig. 5): hardly
        // any burst is lost up to a load of 0.4. The maximum throughput, about 0.55, is reached at
        // a load of about 0.6.
        assert!(throughput(0.4, 2) > 0.39);
        let max_throughput = (4..10).map(|load| throughput(f64::from(load) / 10.0, 2)).fold(0.0, f64::max);
        assert!((0.5..0.6).contains(&max_throughput), "{max_throughput}");
        // Three replicas have a higher throughput (Liva 2011: up to 0.8 asymptotically).
        assert!(throughput(0.6, 3) > 0.58);
    }

    #[test]
    fn replicas_are_drawn_into_different_slots() {
        let mut stream = Streams::new(5, 0).stream("draw");
        let mut seen = [0u32; 5];
        for _ in 0..10_000 {
            let drawn = Contention::draw(0, 5, 3, &mut stream);
            assert!(drawn.slots().windows(2).all(|pair| pair[0] < pair[1]) && drawn.slots()[2] < 5);
            drawn.slots().iter().for_each(|slot| seen[usize::from(*slot)] += 1);
        }
        assert!(seen.iter().all(|count| count.abs_diff(6000) < 250), "{seen:?}");
    }
}
