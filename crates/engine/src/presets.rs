//! Presets: scenario fragments that a scenario lays below itself with `preset = "NAME"`. To add one: a file and a line.

use bentpipe_scenario::Presets;

/// A fragment.
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text, which begins with a comment that says what it is.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),+]
    };
}

/// All presets.
pub static PRESETS: &[Preset] = presets![
    "dvb-rcs",
    "dvb-rcs2",
    "atm-tdma",
    "geo",
    "geo-ka",
    "leo-starlink-like",
    "iridium",
    "mars",
    "wifi-loss",
    "satellite-and-wifi",
    "satellite-and-lte",
    "big-leo",
    "geo-five",
    "iridium-next",
    "oneweb",
    "starlink-shell1",
    "kuiper-shell1",
    "telesat",
    "gps-meo",
    "o3b",
];

impl Preset {
    /// What it is: the first line of its text.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or("").trim_start_matches(['#', ' '])
    }
}

/// The presets as the loader takes them.
pub fn all() -> Presets {
    let mut presets = Presets::new();
    for preset in PRESETS {
        presets.insert(preset.name.to_owned(), preset.text.to_owned());
    }
    presets
}
