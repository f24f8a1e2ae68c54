//! Rooms for packets that a ring reads: pieces of memory that the kernel takes for arriving
//! packets. They are returned without a system call, through a queue in shared memory
//! (IORING_REGISTER_PBUF_RING, since Linux 5.19).

use io_uring::types::BufRingEntry;
use io_uring::IoUring;
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Number of rooms, a power of two. If all are taken, packets wait in the kernel.
pub const ROOMS: u16 = 256;
/// Alignment of the queue in bytes.
const PAGE: usize = 4096;

/// The rooms of one ring. The ring must be dropped before its rooms.
pub struct Rooms {
    queue: NonNull<BufRingEntry>,
    memory: Box<[u8]>,
    /// Size of a room in bytes, enough for the longest packet.
    size: usize,
    /// Number of rooms given to the kernel so far, modulo 2^16.
    tail: u16,
}

// SAFETY: the queue is memory that only this value and the kernel use.
unsafe impl Send for Rooms {}

impl Rooms {
    fn layout() -> Layout {
        Layout::array::<BufRingEntry>(usize::from(ROOMS))
            .and_then(|all| all.align_to(PAGE))
            .expect("it is small")
    }

    /// Creates rooms for packets of up to `size` bytes, which the kernel takes for reads of `ring`
    /// with the buffer group `group`.
    ///
    /// # Errors
    /// Returns an error if the kernel has no such queues.
    pub fn new(ring: &IoUring, size: usize, group: u16) -> io::Result<Rooms> {
        // SAFETY: the layout is not empty.
        let queue = unsafe { alloc_zeroed(Rooms::layout()) }.cast::<BufRingEntry>();
        let Some(queue) = NonNull::new(queue) else { handle_alloc_error(Rooms::layout()) };
        let memory = vec![0; size * usize::from(ROOMS)].into_boxed_slice();
        let mut rooms = Rooms { queue, memory, size, tail: 0 };
        // SAFETY: the queue has this number of entries, and outlives the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(queue.as_ptr() as u64, ROOMS, group, 0)? };
        (0..ROOMS).for_each(|room| rooms.free(room));
        Ok(rooms)
    }

    /// Returns the size of each room in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns a room to the kernel.
    pub fn free(&mut self, room: u16) {
        let place = &mut self.memory[usize::from(room) * self.size..][..self.size];
        // SAFETY: the index is below the number of entries, and the kernel reads an entry only
        // after the tail includes it.
        let entry = unsafe { &mut *self.queue.as_ptr().add(usize::from(self.tail % ROOMS)) };
        entry.set_addr(place.as_mut_ptr() as u64);
        entry.set_len(place.len() as u32);
        entry.set_bid(room);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the queue is valid, and the kernel reads its tail atomically.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.queue.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Returns the first `size` bytes of a room that the kernel has taken for a packet.
    pub fn packet(&self, room: u16, size: usize) -> &[u8] {
        &self.memory[usize::from(room) * self.size..][..size]
    }
}

impl Drop for Rooms {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout.
        unsafe { dealloc(self.queue.as_ptr().cast(), Rooms::layout()) };
    }
}
