//! The BPF objects that `scripts/bpf` compiles, which are in git.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

/// The log of connections, from `programs/log.c`.
pub static LOG: &[u8] = include_bytes!("../objects/log.o");

/// Returns the congestion control of this name, from `congestion/NAME.c`.
pub fn congestion(name: &str) -> Option<&'static [u8]> {
    CONGESTION.iter().find(|(other, _)| *other == name).map(|(_, object)| *object)
}
