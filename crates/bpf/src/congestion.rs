//! Registers bentpipe's congestion controls with the kernel.
//!
//! Each is a BPF object that `scripts/bpf` compiles from a C file in `congestion/`. Its parameters
//! and the initial values of connections are constants of the object, written before it is loaded.
//! Every registration is therefore a separate congestion control with its own name. Several sets of
//! parameters and several emulations can coexist.

use std::collections::BTreeMap;
use std::{fs, io};

use bentpipe_congestion::CongestionError;

use crate::bpf::CongestionControl;
use crate::{available, objects, Unavailable};

/// Maximum length of a congestion control's name (Linux's TCP_CA_NAME_MAX without the terminating
/// zero).
const LONGEST_NAME: usize = 15;

/// Initial values of a connection. Unset values are left to the kernel: 10 segments (or the route's
/// `initcwnd`), and no threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// Congestion window, in segments: 1 to 1 000 000.
    pub initial_window: Option<u32>,
    /// Slow-start threshold, in segments: 2 to 1 000 000 000.
    pub initial_ssthresh: Option<u32>,
}

/// A congestion control, registered until this value is dropped or the process ends. After that,
/// existing connections keep it, but new connections can no longer choose it.
#[derive(Debug)]
pub struct Registered {
    name: String,
    control: CongestionControl,
}

/// Counts of a congestion control's programs that the kernel is known to have skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Operations whose value was computed at the next acknowledgment instead.
    pub repaired: u64,
    /// Connections that began without parameters and initial values, which cannot be repaired.
    pub begun: u64,
}

/// The reason why a congestion control cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such variant, or its parameters are invalid.
    #[error(transparent)]
    Choice(#[from] CongestionError),
    /// An initial value is out of range.
    #[error("{key} is {value} segments; allowed: {min} to {max}")]
    Start {
        /// The field of [`Start`]: `initial_window` or `initial_ssthresh`.
        key: &'static str,
        /// The value that was given, in segments.
        value: u32,
        /// The smallest value allowed.
        min: u32,
        /// The largest value allowed.
        max: u32,
    },
    /// The C file exists, but its BPF object does not.
    #[error("congestion/{0}.c has not been compiled for the kernel; run scripts/bpf and build again")]
    NoObject(&'static str),
    /// BPF cannot be used here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// BPF can be used, but the kernel refused this congestion control.
    #[error("the kernel refuses the congestion control {name}: {source}")]
    Refused {
        /// The name of the attempted registration.
        name: String,
        /// The kernel's error, with libbpf's message.
        source: io::Error,
    },
}

/// Returns the variants that exist as BPF objects, in alphabetical order.
pub fn list() -> impl Iterator<Item = &'static str> {
    objects::CONGESTION.iter().map(|(name, _)| *name)
}

/// Registers the congestion control `variant` with the kernel. `parameters` override its defaults.
/// `start` applies to every connection that chooses the congestion control before it sends data.
///
/// Any process in any network namespace can then choose it by its [`name`](Registered::name), with
/// setsockopt(TCP_CONGESTION), `ip route ... congctl` or the sysctl
/// `net.ipv4.tcp_congestion_control`.
pub fn register(
    variant: &str,
    parameters: &BTreeMap<String, i64>,
    start: &Start,
) -> Result<Registered, Error> {
    let known = bentpipe_congestion::variant(variant)?;
    let object = objects::congestion(known.name).ok_or(Error::NoObject(known.name))?;
    register_object(variant, object, parameters, start)
}

/// Like [`register`], but with an `object` that was compiled from the source of `variant`.
pub fn register_object(
    variant: &str,
    object: &[u8],
    parameters: &BTreeMap<String, i64>,
    start: &Start,
) -> Result<Registered, Error> {
    let variant = bentpipe_congestion::variant(variant)?;
    let mut settings = start.settings()?;
    settings.extend(variant.values(parameters)?);

    // Names of congestion controls are global, not per namespace. Another process may take a name
    // between the check and the attempt, so only the kernel's answer counts.
    let taken = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    for name in names(variant.name).filter(|name| taken.split_whitespace().all(|other| other != name)) {
        match CongestionControl::register(object, &name, &settings) {
            Ok(control) => return Ok(Registered { name, control }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                available()?;
                return Err(Error::Refused { name, source });
            }
        }
    }
    unreachable!("there are more names than the kernel has room for congestion controls")
}

impl Registered {
    /// Returns the name by which sockets choose this congestion control, at most 15 characters:
    /// `bp_vegas`, or a numbered name such as `bp_vegas_2` if that is taken.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counts of skipped programs so far. Only kernels for which
    /// [`skips_programs`](crate::skips_programs) is true skip any.
    ///
    /// # Errors
    /// The kernel does not allow reading its counts.
    pub fn skipped(&self) -> io::Result<Skipped> {
        self.control.skipped().map(|[repaired, begun]| Skipped { repaired, begun })
    }
}

impl Start {
    /// Returns the first words of the object's settings (crates/congestion/include/home/kernel.h);
    /// 0 means "not given".
    fn settings(&self) -> Result<Vec<u32>, Error> {
        let ranges = [
            ("initial_window", self.initial_window, 1, 1_000_000),
            ("initial_ssthresh", self.initial_ssthresh, 2, 1_000_000_000),
        ];
        ranges
            .into_iter()
            .map(|(key, value, min, max)| match value {
                None => Ok(0),
                Some(value) if (min..=max).contains(&value) => Ok(value),
                Some(value) => Err(Error::Start { key, value, min, max }),
            })
            .collect()
    }
}

/// Returns the names to try, in order.
fn names(variant: &'static str) -> impl Iterator<Item = String> {
    (1_u32..).map(move |number| {
        let suffix = if number == 1 { String::new() } else { format!("_{number}") };
        let name: String = format!("bp_{variant}").chars().take(LONGEST_NAME - suffix.len()).collect();
        name + &suffix
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_an_object() {
        let variants: Vec<_> = bentpipe_congestion::variants().iter().map(|variant| variant.name).collect();
        assert_eq!(list().collect::<Vec<_>>(), variants);
    }

    #[test]
    fn names_have_our_prefix_and_are_unique_and_short_enough() {
        let first: Vec<_> = names("vegas").take(3).collect();
        assert_eq!(first, ["bp_vegas", "bp_vegas_2", "bp_vegas_3"]);
        let long: Vec<_> = names("a_very_long_name").take(100).collect();
        assert_eq!(
            (&*long[0], &*long[1], &*long[99]),
            ("bp_a_very_long_", "bp_a_very_lon_2", "bp_a_very_l_100")
        );
    }

    #[test]
    fn errors_name_the_invalid_value_and_the_allowed_range() {
        let none = BTreeMap::new();
        let say = |variant: &str, parameters, start: &Start| {
            register(variant, parameters, start).unwrap_err().to_string()
        };
        assert!(say("vega", &none, &Start::default()).contains("did you mean \"vegas\"?"));
        let alpha = BTreeMap::from([("alpha".to_owned(), 0)]);
        assert_eq!(
            say("vegas", &alpha, &Start::default()),
            "vegas's parameter alpha is 0; allowed: 1 to 65535"
        );
        let start = Start { initial_window: Some(0), ..Start::default() };
        assert_eq!(say("reno", &none, &start), "initial_window is 0 segments; allowed: 1 to 1000000");
        let start = Start { initial_ssthresh: Some(1), ..Start::default() };
        assert_eq!(say("reno", &none, &start), "initial_ssthresh is 1 segments; allowed: 2 to 1000000000");
    }
}
