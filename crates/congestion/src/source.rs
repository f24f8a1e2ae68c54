//! Congestion controls from outside this crate: C source that a scenario contains instead of a
//! name, and congestion controls that a program registers under a name, such as a Python class.

use crate::interface::Congestion;
use crate::{raw, CongestionError, Variant};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

/// The macro by which a C file registers its variant. No name contains this text.
const REGISTRATION: &str = "BP_VARIANT(";

/// A function that compiles C source.
pub type Compiler = fn(&str) -> Result<Compiled, String>;

/// A function that creates a congestion control for one connection.
pub type Maker = Box<dyn Fn() -> Box<dyn Congestion> + Send + Sync>;

static COMPILER: RwLock<Option<Compiler>> = RwLock::new(None);
static COMPILED: Mutex<BTreeMap<String, &'static Variant>> = Mutex::new(BTreeMap::new());
static REGISTERED: RwLock<BTreeMap<String, Maker>> = RwLock::new(BTreeMap::new());

/// A variant whose object is loaded into this process permanently.
pub struct Compiled(raw::Loaded);

impl Compiled {
    /// Loads the shared object of the variant `name`.
    ///
    /// # Errors
    /// Returns an error if the object cannot be loaded or lacks the variant.
    pub fn load(object: &Path, name: &str) -> Result<Compiled, String> {
        raw::Loaded::open(object, name).map(Compiled)
    }
}

/// Sets the compiler of C source. Without one, source is refused.
pub fn set_compiler(compiler: Compiler) {
    *COMPILER.write().unwrap_or_else(PoisonError::into_inner) = Some(compiler);
}

/// Registers a congestion control under a name that no file uses. A later registration of the same
/// name replaces an earlier one.
pub fn register(name: &str, maker: Maker) {
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), maker);
}

/// Creates a congestion control for a connection, if its name is registered.
pub(crate) fn registered(name: &str) -> Option<Box<dyn Congestion>> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(name).map(|maker| maker())
}

/// Returns true if a scenario's congestion control is C source instead of a name.
pub fn is_source(name: &str) -> bool {
    name.contains(REGISTRATION) || name.contains('\n')
}

/// Returns the name of a congestion control: the name itself, or the one that C source defines.
pub fn label(name: &str) -> &str {
    match name.rsplit_once(REGISTRATION) {
        Some((_, rest)) => rest.split([',', ')']).next().unwrap_or_default().trim(),
        None if name.contains('\n') => "",
        None => name,
    }
}

/// Returns the variant of C source. Each source is compiled once per process.
pub(crate) fn compiled(source: &str) -> Result<&'static Variant, CongestionError> {
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(variant) = known.get(source) {
        return Ok(variant);
    }
    let compiler = *COMPILER.read().unwrap_or_else(PoisonError::into_inner);
    let refused = |why: String| CongestionError::Refused { name: label(source).to_owned(), why };
    let compiler =
        compiler.ok_or_else(|| refused("is C source, which this program does not compile".to_owned()))?;
    let Compiled(loaded) = compiler(source).map_err(refused)?;
    // Never freed: a process has few sources, and connections have pointers into the loaded
    // objects.
    let variant: &'static Variant = Box::leak(Box::new(Variant::new(loaded.variant(), raw::head(source))));
    known.insert(source.to_owned(), variant);
    Ok(variant)
}
