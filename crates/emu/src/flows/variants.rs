//! The kernel's congestion control for a flow: bentpipe's own C file if it can be loaded, otherwise
//! the kernel's variant of the same name; `linux-NAME` is always the kernel's own.

pub mod parameters;

use crate::clock::Timing;
use bentpipe_bpf::{available, list, register, register_object, Registered, Skipped, Start};
use bentpipe_congestion::{is_source, label, of_linux};
use bentpipe_transport::tcp;
use std::collections::BTreeMap;
use std::fs;

type Key = (String, BTreeMap<String, i64>, u64, Option<u64>);

/// The congestion controls of a run. Those loaded for the run are removed when this is dropped.
pub struct Variants {
    loaded: Vec<(Key, Registered)>,
    notes: Vec<String>,
    timing: Timing,
}

/// The error of a flow's congestion control that is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The kernel refused the object to load.
    #[error("congestion control \"{name}\": {reason}")]
    Refused {
        /// Name of the congestion control in the scenario.
        name: String,
        /// Reason for which the kernel does not run it, as a sentence.
        reason: String,
    },
    /// No congestion control has this name.
    #[error(
        "congestion control \"{name}\" cannot be loaded ({why}) and this kernel has none of that name; it has: {has}; \
         others are modules of the kernel (modprobe tcp_{name})"
    )]
    Missing {
        /// Name of the congestion control in the scenario.
        name: String,
        /// Reason for which it cannot be loaded.
        why: String,
        /// Names of the congestion controls that the kernel has.
        has: String,
    },
}

fn key(config: &tcp::Config) -> Key {
    let ssthresh = config.initial_ssthresh.map(|segments| segments.value());
    (config.congestion.clone(), config.parameters.clone(), config.initial_window.value(), ssthresh)
}

fn ours(name: &str) -> bool {
    is_source(name) || list().any(|variant| variant == name)
}

/// Returns the congestion controls of the kernel itself, as text.
fn built_in() -> String {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.unwrap_or_default().trim().to_owned()
}

impl Variants {
    /// Loads the congestion controls that `flows` need into the kernel of a machine with this
    /// timing. A guest's kernel cannot load any; it got its parameters at its start.
    ///
    /// # Errors
    /// Returns an error if a congestion control can neither be loaded nor found.
    pub fn load<'a>(
        flows: impl Iterator<Item = &'a tcp::Config>,
        timing: Timing,
    ) -> Result<Variants, Unknown> {
        let mut variants = Variants { loaded: Vec::new(), notes: Vec::new(), timing };
        let refusal = match timing {
            Timing::Real => available().err().map(|why| why.to_string()),
            Timing::Virtual => Some("User-Mode Linux has no BPF to load it with".to_owned()),
        };
        for config in flows {
            let name = &config.congestion;
            if ours(name) && refusal.is_none() {
                variants.register(config)?;
                continue;
            }
            let has = built_in();
            let own = of_linux(name).unwrap_or(label(name));
            if !has.split_whitespace().any(|other| other == own) {
                let why = refusal.clone().filter(|_| ours(name));
                let why = why.unwrap_or_else(|| "bentpipe has no file for it".to_owned());
                return Err(Unknown::Missing { name: own.to_owned(), why, has });
            }
            variants.note(format!("congestion control {name} is the kernel's own {own}"));
            if timing == Timing::Virtual {
                let words = parameters::of_flow(config).0;
                let set = words.iter().map(|word| format!("the guest's kernel was started with {word}"));
                set.for_each(|note| variants.note(note));
            }
        }
        Ok(variants)
    }

    fn register(&mut self, config: &tcp::Config) -> Result<(), Unknown> {
        let key = key(config);
        if self.loaded.iter().any(|(other, _)| *other == key) {
            return Ok(());
        }
        let start = Start {
            initial_window: Some(config.initial_window.value() as u32),
            initial_ssthresh: config.initial_ssthresh.map(|segments| segments.value() as u32),
        };
        let (name, own) = (&config.congestion, label(&config.congestion));
        let refused = |reason: String| Unknown::Refused { name: own.to_owned(), reason };
        let (registered, file) = if is_source(name) {
            let object = bentpipe_congestion::compile::for_kernel(name).map_err(refused)?;
            (register_object(name, &object, &config.parameters, &start), "the scenario's source".to_owned())
        } else {
            (register(name, &config.parameters, &start), format!("congestion/{name}.c"))
        };
        let registered = registered.map_err(|error| refused(error.to_string()))?;
        self.note(format!("congestion control {own} is {file}, loaded as {}", registered.name()));
        self.loaded.push((key, registered));
        Ok(())
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the flow's congestion control, if it was loaded for this run.
    fn loaded(&self, config: &tcp::Config) -> Option<&Registered> {
        let key = key(config);
        self.loaded.iter().find(|(other, _)| *other == key).map(|(_, registered)| registered)
    }

    /// Returns true if the flow's congestion control begins connections with the flow's slow-start
    /// threshold.
    pub fn sets_threshold(&self, config: &tcp::Config) -> bool {
        config.initial_ssthresh.is_some() && self.loaded(config).is_some()
    }

    /// Returns the kernel's name for a flow's congestion control.
    pub fn name<'a>(&'a self, config: &'a tcp::Config) -> &'a str {
        let own = || of_linux(&config.congestion).unwrap_or(&config.congestion);
        self.loaded(config).map_or_else(own, Registered::name)
    }

    /// Returns the flow's parameters that the kernel's own congestion control does not support, as
    /// sentences.
    pub fn unapplied(&self, config: &tcp::Config) -> Vec<String> {
        if self.loaded(config).is_some() {
            return Vec::new();
        }
        match self.timing {
            Timing::Virtual => parameters::of_flow(config).1,
            Timing::Real => {
                let name = &config.congestion;
                let sentence = |key| {
                    format!("parameters.{key} is not applied: {name} is the kernel's own, as BPF is not available")
                };
                config.parameters.keys().map(sentence).collect()
            }
        }
    }

    /// Returns the counts of program runs that the kernel skipped.
    pub fn skipped(&self) -> Skipped {
        let all = self.loaded.iter().filter_map(|(_, registered)| registered.skipped().ok());
        all.fold(Skipped::default(), |sum, one| Skipped {
            repaired: sum.repaired + one.repaired,
            begun: sum.begun + one.begun,
        })
    }

    /// Returns notes on the congestion controls, for the provenance.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
