//! Orders of the process for its workers.

use nix::sys::eventfd::{EfdFlags, EventFd};
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// An order for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Command {
    /// Serve new and existing connections.
    Serve,
    /// Serve existing connections until the last one has ended.
    Drain,
    /// Reset the remaining connections, and end.
    Stop,
}

/// An order, and the event that wakes the worker to see it.
pub struct Control {
    command: AtomicU8,
    /// Readable when the order has changed.
    pub wake_event: EventFd,
}

impl Control {
    /// Returns a control whose order is to serve.
    pub fn new() -> io::Result<Control> {
        let wake_event = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Control { command: AtomicU8::new(Command::Serve as u8), wake_event })
    }

    /// Gives an order. It never weakens the previous one.
    pub fn send_command(&self, command: Command) {
        self.command.fetch_max(command as u8, Ordering::Relaxed);
        let _ = self.wake_event.write(1);
    }

    /// Returns the current order.
    pub fn command(&self) -> Command {
        match self.command.load(Ordering::Relaxed) {
            0 => Command::Serve,
            1 => Command::Drain,
            _ => Command::Stop,
        }
    }
}
