//! Calls to libbpf: load objects, write their settings, attach them and read the ring buffer.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::Btf;
use libbpf_rs::{
    ErrorKind, Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenMapMut, OpenObject,
    PrintLevel, RingBuffer, RingBufferBuilder,
};

use crate::event::RECORD;

/// True if BPF is built in.
pub const IS_BUILT: bool = true;

/// Section of constants that the loader writes before it loads the object.
const SETTINGS: &str = ".rodata.settings";

/// Map that counts the calls skipped by the kernel (crates/congestion/include/home/guard.h).
const SKIPPED: &str = ".bss.skipped";

/// Size of a congestion control's name in bytes. The name is the last member of its structure.
const NAME: usize = 16;

/// Maximum number of records taken from the ring per poll.
const AT_ONCE: usize = 4096;

/// The program in programs/log.c that attaches to a kernel function. Some kernels do not allow
/// this.
const CLOSING: &str = "segment_while_closing";

/// A congestion control registered with the kernel until this value is dropped. Its link is a file
/// descriptor, so the registration also ends with the process.
#[derive(Debug)]
pub struct CongestionControl {
    _link: Link,
    skipped: MapHandle,
}

/// The tracing program, attached until this value is dropped.
#[derive(Debug)]
pub struct Tracer {
    ring: RingBuffer<'static>,
    /// Concatenated records from the ring's callback.
    taken: Arc<Mutex<Vec<u8>>>,
    _links: Vec<Link>,
    sees_closing: bool,
    object: Object,
}

/// Loads a congestion control without registering it.
pub fn try_congestion(object: &[u8]) -> io::Result<()> {
    with_messages(|| open(object, "bentpipe_try")?.load().map(drop))
}

/// Loads the tracing program without attaching it.
pub fn try_tracer(object: &[u8]) -> io::Result<()> {
    with_messages(|| load_tracer(object, &[], None).map(drop))
}

impl CongestionControl {
    /// Registers the object's congestion control as `name`. `settings` are the first words of its
    /// constants.
    pub fn register(object: &[u8], name: &str, settings: &[u32]) -> io::Result<CongestionControl> {
        with_messages(|| {
            let mut open = open(object, name)?;
            write_settings(&mut open, settings);
            rename(&mut open, name);
            let mut loaded = open.load()?;
            let mut control = loaded
                .maps_mut()
                .find(|map| map.map_type() == MapType::StructOps)
                .expect("BP_VARIANT defines one");
            // Link and map keep the parts of the object that they need.
            let link = control.attach_struct_ops()?;
            let map = loaded.maps().find(|map| map.name() == SKIPPED).expect("guard.h defines it");
            Ok(CongestionControl { _link: link, skipped: MapHandle::try_from(&map)? })
        })
    }

    /// Returns two counts: skipped operations that were repaired later, and connections that began
    /// without their first operation.
    pub fn skipped(&self) -> io::Result<[u64; 2]> {
        with_messages(|| {
            let value = self.skipped.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?;
            let value = value.expect("an array has its first element");
            let word = |at| u64::from_ne_bytes(value[at..at + 8].try_into().expect("guard.h says two u64"));
            Ok([word(0), word(8)])
        })
    }
}

/// Returns true if this kernel skips BPF programs while process 1 is running, judging by its type
/// information.
pub fn skips_programs() -> bool {
    let Ok(types) = Btf::from_vmlinux() else { return false };
    let structure = types.type_by_name::<Struct<'_>>("bpf_prog_aux");
    structure.is_some_and(|all| all.iter().any(|member| member.name == Some("init_owned".as_ref())))
}

impl Tracer {
    /// Starts recording the connections of `namespaces` (pairs of inode number and tag) into a ring
    /// of `ring_bytes` bytes.
    pub fn start(object: &[u8], namespaces: &[(u32, u32)], ring_bytes: u32) -> io::Result<Tracer> {
        with_messages(|| {
            let object = load_tracer(object, namespaces, Some(ring_bytes))?;
            let taken = Arc::new(Mutex::new(Vec::new()));
            let into = Arc::clone(&taken);
            let map = object.maps().find(|map| map.name() == "ring").expect("log.c defines it");
            let mut builder = RingBufferBuilder::new();
            builder.add(&map, move |record| {
                let mut taken = into.lock().unwrap_or_else(PoisonError::into_inner);
                taken.extend_from_slice(record);
                // A negative return value stops reading after this record.
                if taken.len() < AT_ONCE * RECORD {
                    0
                } else {
                    -1
                }
            })?;
            let ring = builder.build()?;

            let mut links = Vec::new();
            let mut sees_closing = false;
            for program in object.progs_mut() {
                match program.attach() {
                    Ok(link) => {
                        sees_closing |= program.name() == CLOSING;
                        links.push(link);
                    }
                    Err(_) if program.name() == CLOSING => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(Tracer { ring, taken, _links: links, sees_closing, object })
        })
    }

    /// Returns true if segments of closing connections are recorded.
    pub fn sees_closing(&self) -> bool {
        self.sees_closing
    }

    /// Waits at most `timeout` for records, and passes the available ones to `each`, up to
    /// [`AT_ONCE`].
    pub fn poll(&mut self, timeout: Duration, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        // Waits only if the ring is empty, until a wake-up (many records) or the time-out.
        let full = self.ring.poll_raw(timeout) == -1;
        if !full {
            self.ring.consume_raw();
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for record in taken.chunks_exact(RECORD) {
            each(record);
        }
        taken.clear();
        Ok(())
    }

    /// Returns the number of records lost because the ring was full.
    pub fn lost(&self) -> io::Result<u64> {
        with_messages(|| {
            let map = self.object.maps().find(|map| map.name() == ".bss.lost").expect("log.c defines it");
            let value =
                map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?.expect("an array has its first element");
            Ok(u64::from_ne_bytes(value.try_into().expect("log.c says u64")))
        })
    }
}

fn open(object: &[u8], name: &str) -> libbpf_rs::Result<OpenObject> {
    ObjectBuilder::default().name(name)?.open_memory(object)
}

/// Loads the tracing program. If the kernel refuses to attach to its functions, loads it without
/// the program [`CLOSING`].
fn load_tracer(
    object: &[u8],
    namespaces: &[(u32, u32)],
    ring_bytes: Option<u32>,
) -> libbpf_rs::Result<Object> {
    let load = |closing: bool| {
        let mut open = open(object, "bentpipe_log")?;
        if let Some(bytes) = ring_bytes {
            map(&mut open, "ring").set_max_entries(bytes)?;
            write_settings(&mut open, &[bytes / 16]);
        }
        if !closing {
            let mut programs = open.progs_mut();
            programs.find(|program| program.name() == CLOSING).expect("log.c defines it").set_autoload(false);
        }
        open.load()
    };
    let object = load(true).or_else(|_| load(false))?;
    let map = object.maps().find(|map| map.name() == "namespaces").expect("log.c defines it");
    for (inode, tag) in namespaces {
        map.update(&inode.to_ne_bytes(), &tag.to_ne_bytes(), MapFlags::ANY)?;
    }
    Ok(object)
}

fn map<'a>(object: &'a mut OpenObject, name: &str) -> OpenMapMut<'a> {
    object.maps_mut().find(|map| map.name() == name).expect("our objects define the maps that we use")
}

/// Writes the first words of an object's settings.
fn write_settings(object: &mut OpenObject, settings: &[u32]) {
    let mut map = map(object, SETTINGS);
    let words = map.initial_value_mut().expect("a section of constants has a value").chunks_exact_mut(4);
    assert!(words.len() >= settings.len(), "the object has a setting for each parameter of its C file");
    for (word, setting) in words.zip(settings) {
        word.copy_from_slice(&setting.to_ne_bytes());
    }
}

/// Sets the name under which a congestion control is registered.
fn rename(object: &mut OpenObject, name: &str) {
    let mut control =
        object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("BP_VARIANT defines one");
    let value = control.initial_value_mut().expect("the object contains the structure");
    let place = value.len() - NAME;
    let bytes = &mut value[place..];
    assert!(
        bytes.starts_with(b"bp_") && name.len() < NAME,
        "the name is the structure's last member, and fits"
    );
    bytes.fill(0);
    bytes[..name.len()].copy_from_slice(name.as_bytes());
}

thread_local! {
    /// Messages that libbpf printed in this thread during the current call.
    static MESSAGES: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls libbpf, and puts its messages into the returned error instead of standard error.
fn with_messages<T>(call: impl FnOnce() -> libbpf_rs::Result<T>) -> io::Result<T> {
    /// Number of libbpf's last message lines to keep. The last lines are the most informative.
    const LINES: usize = 6;
    static INSTALL_PRINTER: Once = Once::new();
    INSTALL_PRINTER.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            MESSAGES.with_borrow_mut(|messages| messages.push_str(&text));
        })));
    });
    MESSAGES.with_borrow_mut(String::clear);
    call().map_err(|error| {
        let kind = match error.kind() {
            ErrorKind::AlreadyExists => io::ErrorKind::AlreadyExists,
            ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            _ => io::ErrorKind::Other,
        };
        let messages = MESSAGES.take();
        let lines: Vec<_> = messages.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let end = lines[lines.len().saturating_sub(LINES)..].join("; ");
        io::Error::new(kind, if end.is_empty() { format!("{error:#}") } else { format!("{error:#} ({end})") })
    })
}

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

#[cfg(test)]
mod tests {
    use super::common::{connection, in_namespace, skips, start_losses, stop_losses, transfer, Info};
    use super::*;

    /// Uses Reno from programs/skipping.c, which simulates a kernel that skips `ssthresh` two times
    /// out of three.
    #[test]
    fn a_skipped_operation_is_repaired_at_the_next_one() {
        if skips() {
            return;
        }
        let object = include_bytes!("../objects/skipping.o");
        let control = CongestionControl::register(object, "bp_skipping", &[10, 20]).unwrap();
        in_namespace(|| {
            let (mut client, mut server) = connection("bp_skipping", None);
            for _ in 0..20 {
                start_losses(&server, u32::MAX / 50);
                transfer(&mut client, &mut server, 200_000);
                stop_losses(&server);
                transfer(&mut client, &mut server, 20_000);
                let info = Info::of(&client);
                assert!((2..1000).contains(&info.snd_ssthresh()), "{}", info.snd_ssthresh());
                assert!((1..1000).contains(&info.snd_cwnd()), "{}", info.snd_cwnd());
            }
        });
        let [repaired, begun] = control.skipped().unwrap();
        assert!(repaired >= 5 && begun == 0, "{repaired} {begun}");
    }
}
