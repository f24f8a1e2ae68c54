//! Shadowing: a slow variation of the mean power by obstacles, normally distributed in dB, whose
//! correlation decreases with the distance moved.
//!
//! Over a distance x the correlation is exp(-x / d). Source: M. Gudmundson, "Correlation model for
//! shadow fading in mobile radio systems", Electronics Letters 27(23), 1991.

use bentpipe_core::{math, Distance, GaussMarkov, Problems, Real, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Log-normal shadowing: the mean power varies with the position, normally distributed in dB.
///
/// ```toml
/// shadowing = { deviation_db = 6, distance = "5 m" }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { deviation_db = 6, distance = \"5 m\" }")]
#[schemars(rename = "Shadowing")]
pub struct Config {
    /// Standard deviation of the mean power in dB, 0 to 40.
    pub deviation_db: Real<0, 40_000>,
    /// Decorrelation distance: the distance moved after which the correlation has fallen to 1/e.
    pub distance: Distance,
}

impl Config {
    /// Adds the problems of this configuration.
    pub fn check(&self, problems: &mut Problems) {
        if self.distance.metres() <= 0.0 {
            problems.add("distance", "must be more than 0 m".to_owned());
        }
    }

    /// Returns the mean of a function of the deviation in dB.
    pub fn mean(&self, of: &dyn Fn(f64) -> f64) -> f64 {
        const STEPS: i32 = 50;
        let place = |step: i32| 5.0 * f64::from(step) / f64::from(STEPS);
        let weight = |step: i32| math::exp(-0.5 * place(step).powi(2));
        let sum: f64 =
            (-STEPS..=STEPS).map(|step| weight(step) * of(place(step) * self.deviation_db.value())).sum();
        sum / (-STEPS..=STEPS).map(weight).sum::<f64>()
    }
}

/// A shadowing process at a constant speed.
pub struct Shadow {
    deviation: f64,
    /// Decorrelation distances moved per second.
    pace: f64,
    /// Time of the last value, in seconds.
    last: f64,
    /// Value in units of the deviation.
    value: GaussMarkov,
}

impl Shadow {
    /// Creates the process before its first value, at a speed in metres per second.
    pub fn new(config: &Config, speed: f64) -> Shadow {
        Shadow {
            deviation: config.deviation_db.value(),
            pace: speed / config.distance.metres(),
            last: 0.0,
            value: GaussMarkov::default(),
        }
    }

    /// Returns the deviation in dB at a time in seconds, which is not before that of the last call.
    pub fn at(&mut self, time: f64, stream: &mut Stream) -> f64 {
        let by = self.pace * (time - self.last);
        self.last = time;
        self.deviation * self.value.advance(by, stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::Streams;

    #[test]
    fn shadowing_has_the_configured_deviation_and_distance() {
        let config: Config =
            serde_json::from_value(serde_json::json!({"deviation_db": 6, "distance": "4 m"})).unwrap();
        let mut stream = Streams::new(6, 0).stream("shadow");
        let mut shadow = Shadow::new(&config, 2.0);
        // 0.5 s at 2 m/s: 1 m, a quarter of the distance.
        let values: Vec<f64> = (0..400_000).map(|n| shadow.at(0.5 * f64::from(n), &mut stream)).collect();
        let count = values.len() as f64;
        let variance = values.iter().map(|one| one * one).sum::<f64>() / count;
        assert!((variance / 36.0 - 1.0).abs() < 0.03, "{variance}");
        for lag in [1usize, 4] {
            let covariance = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum::<f64>() / count;
            assert!((covariance / 36.0 - math::exp(-0.25 * lag as f64)).abs() < 0.03, "{covariance}");
        }
        assert!((config.mean(&|db| db * db) - 36.0).abs() < 0.01);
    }
}
