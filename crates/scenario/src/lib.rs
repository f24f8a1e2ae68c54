//! Strict loading of scenarios.
//!
//! A scenario is TOML in layers: presets below the file, and overrides from the command line above
//! the file. Every value records where it was written. All problems are reported, whether they are
//! found by the syntax, by the parser of a quantity, or by a check across keys. Each report
//! contains the file, the line, the key path, the value as written, the allowed values, and the
//! nearest valid word if the value looks like a typo:
//!
//! ```text
//! examples/a.toml:12:14: flow.upload.transport.congestion = "veggas": unknown variant, did you mean "vegas"? allowed: reno, vegas
//! ```
//!
//! The crate is independent of models: [`load`] loads any type that implements
//! [`serde::Deserialize`] and [`Check`].
//!
//! ```
//! use bentpipe_core::{Problems, Rate};
//! use bentpipe_scenario::{load, Check, Presets, Source};
//!
//! #[derive(Debug, serde::Serialize, serde::Deserialize)]
//! struct Link { rate: Rate }
//! impl Check for Link { fn check(&self, _: &mut Problems) {} }
//!
//! let text = Source::Text { name: "link.toml", text: "rate = \"2048 kbit/s\"" };
//! let link = load::<Link>(text, &Presets::new(), &["rate=64 kbit/s".to_owned()]).unwrap();
//! assert_eq!(link.to_toml(), "rate = \"64 kbit/s\"\n");
//!
//! let text = Source::Text { name: "link.toml", text: "rate = 2048" };
//! assert_eq!(
//!     load::<Link>(text, &Presets::new(), &[]).unwrap_err().to_string(),
//!     "link.toml:1:8: rate = 2048: expected a rate with its unit as text (1 bit/s to 100 Tbit/s), \
//!      for example \"2048 kbit/s\", found a whole number",
//! );
//! ```
//!
//! A text that starts with `{` is read as JSON with the same keys, the format of `bentpipe show
//! --json`.
//!
//! Limits: files of up to 4 MiB, 32 levels of nesting, signed 64-bit whole numbers (as in TOML), no
//! dates.

mod change;
mod defaults;
mod deserialize;
mod error;
mod fault;
mod include;
mod json;
mod merge;
mod nearest;
mod overrides;
mod parse;
mod print;
mod read;
mod renamed;
mod resolve;
mod value;

pub use change::{assignment, changed, refused, Set};
pub use error::{Problem, ScenarioError};
pub use include::PARQUET_BEGINS;
pub use merge::Presets;
pub use overrides::Given;
pub use parse::parse_bytes;
pub use print::to_toml;
pub use read::{read_file, Files, SIZE_LIMIT};
pub use renamed::Renamed;
pub use resolve::{load, load_given, Check, Loaded, Members, Source};
pub use value::{Entry, Node, Origin, Table, Text, Value};
