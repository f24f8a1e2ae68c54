//! Orders of the process for its workers.

use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// An order for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Order {
    /// Serve new and existing connections.
    Serve,
    /// Serve existing connections until the last one has ended.
    Drain,
    /// Reset the remaining connections, and end.
    Stop,
}

/// An order, and the event that wakes the worker to see it.
pub struct Control {
    order: AtomicU8,
    /// Readable when the order has changed.
    pub bell: EventFd,
}

impl Control {
    /// Returns a control whose order is to serve.
    pub fn new() -> io::Result<Control> {
        let bell = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Control { order: AtomicU8::new(Order::Serve as u8), bell })
    }

    /// Gives an order. It never weakens the previous one.
    pub fn give(&self, order: Order) {
        self.order.fetch_max(order as u8, Ordering::Relaxed);
        let _ = self.bell.write(1);
    }

    /// Returns the current order.
    pub fn order(&self) -> Order {
        match self.order.load(Ordering::Relaxed) {
            0 => Order::Serve,
            1 => Order::Drain,
            _ => Order::Stop,
        }
    }
}
