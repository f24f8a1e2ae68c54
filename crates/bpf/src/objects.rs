//! The BPF objects, compiled by `scripts/bpf` and committed.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The tracing program, from `programs/log.c`.
pub static LOG: &[u8] = include_bytes!("../objects/log.o");

/// Returns the object of the congestion control `name`, compiled from `congestion/NAME.c`.
pub fn congestion(name: &str) -> Option<&'static [u8]> {
    CONGESTION.iter().find(|(other, _)| *other == name).map(|(_, object)| *object)
}
