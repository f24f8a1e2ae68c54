//! Presets: scenario fragments that a scenario builds on with `preset = "NAME"`. A new preset needs
//! a file and a line in this list.

use bentpipe_scenario::Presets;

/// A fragment of a scenario.
pub struct Preset {
    /// Name of the preset, as in a scenario.
    pub name: &'static str,
    /// Text of the preset, whose first line is a comment that describes it.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../presets/", $name, ".toml")) }),+]
    };
}

/// All presets, in the order in which they are listed to users.
pub static PRESETS: &[Preset] = presets![
    "dvb-rcs",
    "dvb-rcs2",
    "ka-hub",
    "atm-tdma",
    "geo",
    "geo-ka",
    "leo-starlink-like",
    "access-leo",
    "access-leo-isl",
    "iridium",
    "mars",
    "wifi-loss",
    "satellite-and-wifi",
    "satellite-and-lte",
    "wifi-behind-geo",
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
    /// Returns the description: the first line of the text.
    pub fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or("").trim_start_matches(['#', ' '])
    }
}

/// Returns the presets in the form that the loader takes.
pub fn all() -> Presets {
    let mut presets = Presets::new();
    for preset in PRESETS {
        presets.insert(preset.name.to_owned(), preset.text.to_owned());
    }
    presets
}
