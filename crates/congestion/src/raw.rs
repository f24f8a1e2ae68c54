//! The interface to C: the tables of operations that the variants define, and calls of these
//! operations. All unsafe code of the crate is here.

use std::ffi::{c_char, CStr};
use std::path::Path;

use crate::interface::{AckSample, Congestion, Event, RateSample, State, MAX_PARAMETERS};

use crate::Parameter;

include!(concat!(env!("OUT_DIR"), "/variants.rs"));

/// `struct bp_parameter` of home/engine.h.
#[repr(C)]
pub struct RawParameter {
    pub name: *const c_char,
    pub about: *const c_char,
    pub initial: u32,
    pub min: u32,
    pub max: u32,
}

/// `struct bp_variant` of home/engine.h. An operation that the variant does not implement is null.
#[repr(C)]
#[derive(Debug)]
pub struct RawVariant {
    pub name: *const c_char,
    pub about: *const c_char,
    pub source: *const c_char,
    pub parameters: *const RawParameter,
    pub parameter_count: u64,
    pub init: Option<unsafe extern "C" fn(*mut State)>,
    pub ssthresh: Option<unsafe extern "C" fn(*mut State) -> u32>,
    pub cong_avoid: Option<unsafe extern "C" fn(*mut State, u32, u32)>,
    pub cong_control: Option<unsafe extern "C" fn(*mut State, *const RateSample)>,
    pub set_state: Option<unsafe extern "C" fn(*mut State, u8)>,
    pub cwnd_event: Option<unsafe extern "C" fn(*mut State, u32)>,
    pub pkts_acked: Option<unsafe extern "C" fn(*mut State, *const AckSample)>,
    pub undo_cwnd: Option<unsafe extern "C" fn(*mut State) -> u32>,
    pub is_scalable: u32,
}

// SAFETY: a variant's table is a C constant; nothing writes to it or to the data behind its
// pointers.
unsafe impl Sync for RawVariant {}

// SAFETY: as above; any thread may use a reference to a constant.
unsafe impl Send for RawVariant {}

/// Returns the tables of all C files, in alphabetical order.
pub fn variants() -> Vec<&'static RawVariant> {
    raw_variants().to_vec()
}

/// Returns the first comments of the C files, in the same order: equations, constants with their
/// sources, deviations.
pub fn heads() -> Vec<String> {
    FILES.iter().map(|text| head(text)).collect()
}

/// Returns the first comment of a C file, without comment marks.
pub fn head(text: &str) -> String {
    let comment = text.split_once("/*").and_then(|(_, rest)| rest.split_once("*/"));
    let lines = comment.map_or("", |(comment, _)| comment).trim_start_matches('\n').trim_end().lines();
    let bare = |line: &str| {
        line.strip_prefix(" *").map_or(line, |rest| rest.strip_prefix(' ').unwrap_or(rest)).to_owned()
    };
    lines.map(bare).collect::<Vec<_>>().join("\n")
}

impl RawVariant {
    /// Returns name, description and source.
    pub fn description(&'static self) -> (&'static str, &'static str, &'static str) {
        // SAFETY: all three are string literals of the C file.
        unsafe { (text(self.name), text(self.about), text(self.source)) }
    }

    /// Returns the parameters, in the order of their declaration.
    pub fn parameters(&'static self) -> Vec<Parameter> {
        let Ok(count @ 1..) = usize::try_from(self.parameter_count) else { return Vec::new() };
        // SAFETY: the C file counts its own constant array, and its strings are literals.
        let entries = unsafe { std::slice::from_raw_parts(self.parameters, count) };
        entries
            .iter()
            .map(|entry| Parameter {
                // SAFETY: as above.
                name: unsafe { text(entry.name) },
                default: entry.initial.into(),
                min: entry.min.into(),
                max: entry.max.into(),
                // SAFETY: as above.
                about: unsafe { text(entry.about) },
            })
            .collect()
    }
}

/// A shared object with the table of one variant. It is never unloaded.
pub struct Loaded(&'static RawVariant);

impl Loaded {
    /// Loads the object of the variant `name`.
    #[cfg(unix)]
    pub fn open(object: &Path, name: &str) -> Result<Loaded, String> {
        use std::ffi::CString;
        use std::os::unix::ffi::OsStrExt;

        let path = CString::new(object.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
        let symbol = CString::new(format!("bp_variant_{name}")).map_err(|error| error.to_string())?;
        // SAFETY: both are strings that end with a zero byte. Loading runs the object's
        // constructors. The user has allowed them by allowing the source.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("its object cannot be loaded: {}", dl_error()));
        }
        // SAFETY: the handle is that of a loaded object, the symbol a string that ends with a zero
        // byte.
        let table = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        if table.is_null() {
            return Err(format!("its object has no variant: {}", dl_error()));
        }
        // SAFETY: the headers of this build declare the symbol as a constant of the type that
        // layout.c shows, and the object is never unloaded.
        let variant = unsafe { &*table.cast::<RawVariant>() };
        if variant.ssthresh.is_none() || variant.undo_cwnd.is_none() {
            return Err("it lacks ssthresh or undo_cwnd, which Linux demands".to_owned());
        }
        if variant.cong_avoid.is_none() && variant.cong_control.is_none() {
            return Err("it has neither cong_avoid nor cong_control".to_owned());
        }
        Ok(Loaded(variant))
    }

    /// Returns an error, because nothing can be loaded here.
    #[cfg(not(unix))]
    pub fn open(_object: &Path, _name: &str) -> Result<Loaded, String> {
        Err("this system loads no shared objects".to_owned())
    }

    /// Returns the table that the loaded object exports.
    pub fn variant(&self) -> &'static RawVariant {
        self.0
    }
}

/// Returns the last message of the loader.
#[cfg(unix)]
fn dl_error() -> String {
    // SAFETY: the text, if there is one, ends with a zero byte and lives until the next call of the
    // loader on this thread.
    unsafe {
        let text = libc::dlerror();
        match text.is_null() {
            true => "no reason given".to_owned(),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// Returns the text of a C string literal.
///
/// # Safety
///
/// `literal` must point to a constant string that ends with a zero byte.
unsafe fn text(literal: *const c_char) -> &'static str {
    // SAFETY: required of the caller.
    unsafe { CStr::from_ptr(literal) }.to_str().expect("the C files are UTF-8")
}

/// A variant on one connection. Its state is in the connection's [`State`].
pub struct Control {
    name: &'static str,
    raw: &'static RawVariant,
    ssthresh: unsafe extern "C" fn(*mut State) -> u32,
    undo_cwnd: unsafe extern "C" fn(*mut State) -> u32,
    parameters: [u32; MAX_PARAMETERS],
}

impl Control {
    pub fn new(name: &'static str, raw: &'static RawVariant, parameters: [u32; MAX_PARAMETERS]) -> Control {
        let ssthresh = raw.ssthresh.expect("every variant has ssthresh, as Linux demands");
        let undo_cwnd = raw.undo_cwnd.expect("every variant has undo_cwnd, as Linux demands");
        Control { name, raw, ssthresh, undo_cwnd, parameters }
    }
}

// In each call below, the pointers come from references that outlive it, to structures whose layout
// C shares (tested with layout.c). The C files write only to the connection, which BPF's verifier
// enforces.
impl Congestion for Control {
    fn name(&self) -> &str {
        self.name
    }

    fn init(&mut self, state: &mut State) {
        state.icsk_ca_priv = Default::default();
        state.parameters = self.parameters;
        if let Some(init) = self.raw.init {
            // SAFETY: see above this impl.
            unsafe { init(state) }
        }
    }

    fn ssthresh(&mut self, state: &mut State) -> u32 {
        // SAFETY: see above this impl.
        unsafe { (self.ssthresh)(state) }
    }

    fn cong_avoid(&mut self, state: &mut State, ack: u32, acked: u32) {
        if let Some(cong_avoid) = self.raw.cong_avoid {
            // SAFETY: see above this impl.
            unsafe { cong_avoid(state, ack, acked) }
        }
    }

    fn has_cong_control(&self) -> bool {
        self.raw.cong_control.is_some()
    }

    fn cong_control(&mut self, state: &mut State, sample: &RateSample) {
        if let Some(cong_control) = self.raw.cong_control {
            // SAFETY: see above this impl.
            unsafe { cong_control(state, sample) }
        }
    }

    fn set_state(&mut self, state: &mut State, new_state: u32) {
        if let Some(set_state) = self.raw.set_state {
            // SAFETY: see above this impl.
            unsafe { set_state(state, new_state as u8) }
        }
    }

    fn cwnd_event(&mut self, state: &mut State, event: Event) {
        if let Some(cwnd_event) = self.raw.cwnd_event {
            // SAFETY: see above this impl.
            unsafe { cwnd_event(state, event as u32) }
        }
    }

    fn has_pkts_acked(&self) -> bool {
        self.raw.pkts_acked.is_some()
    }

    fn pkts_acked(&mut self, state: &mut State, sample: &AckSample) {
        if let Some(pkts_acked) = self.raw.pkts_acked {
            // SAFETY: see above this impl.
            unsafe { pkts_acked(state, sample) }
        }
    }

    fn undo_cwnd(&mut self, state: &mut State) -> u32 {
        // SAFETY: see above this impl.
        unsafe { (self.undo_cwnd)(state) }
    }

    fn is_scalable(&self) -> bool {
        self.raw.is_scalable != 0
    }
}
