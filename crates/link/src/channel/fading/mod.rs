//! Fading of a radio signal: variations of its power around the mean, caused by reflections that
//! add up ([`rayleigh`], [`rice`]) and by obstacles ([`shadowing`]).

pub mod none;
pub mod rayleigh;
pub mod rice;
pub mod shadowing;
mod waves;

use bentpipe_core::{kinds, Stream};

kinds! {
    /// Fast fading: the variation of a radio signal's power around its mean over distances of a
    /// wavelength.
    #[schemars(rename = "Fading")]
    pub enum Config: Fading {
        "none" => None(none::Config),
        "rayleigh" => Rayleigh(rayleigh::Config),
        "rice" => Rice(rice::Config),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::None(none::Config {})
    }
}

/// The factory of a fading process, implemented by its `Config`.
pub trait Fading {
    /// Builds the process for a maximum Doppler shift in radians per second.
    fn build(&self, doppler: f64, stream: &mut Stream) -> Box<dyn Gain>;

    /// Returns the mean of a function of the power gain over the distribution of the gain, whose
    /// mean is 1.
    fn mean(&self, of: &dyn Fn(f64) -> f64) -> f64;
}

/// A power gain as a function of time.
pub trait Gain: Send {
    /// Returns the gain at a time in seconds; its mean over all processes is 1.
    fn at(&self, time: f64) -> f64;
}
