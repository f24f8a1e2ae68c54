//! Replaces `bpf.rs` in builds without the feature `bpf`: every call fails.

use std::io;
use std::time::Duration;

/// False, since BPF is not built in.
pub const IS_BUILT: bool = false;

/// Stand-in for a kernel congestion control; never constructed.
#[derive(Debug)]
pub enum CongestionControl {}

/// Stand-in for the tracing program; never constructed.
#[derive(Debug)]
pub enum Tracer {}

pub fn try_congestion(_object: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn try_tracer(_object: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn skips_programs() -> bool {
    false
}

impl CongestionControl {
    pub fn register(_object: &[u8], _name: &str, _settings: &[u32]) -> io::Result<CongestionControl> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn skipped(&self) -> io::Result<[u64; 2]> {
        match *self {}
    }
}

impl Tracer {
    pub fn start(_object: &[u8], _namespaces: &[(u32, u32)], _ring_bytes: u32) -> io::Result<Tracer> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn sees_closing(&self) -> bool {
        match *self {}
    }

    pub fn poll(&mut self, _timeout: Duration, _each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        match *self {}
    }

    pub fn lost(&self) -> io::Result<u64> {
        match *self {}
    }
}
