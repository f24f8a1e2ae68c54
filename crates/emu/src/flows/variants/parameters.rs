//! Parameters of the kernel's own congestion controls: bentpipe's parameters of the same meaning,
//! converted to the kernel's units.

use bentpipe_transport::tcp::Config;

/// A conversion from a bentpipe value to the kernel's value.
type Converted = fn(i64) -> i64;

const SAME: Converted = |value| value;
/// Conversion from thousandths to 1024ths, rounded.
const PARTS: Converted = |value| (value * 1024 + 500) / 1000;
/// Conversion from the fraction lost at a loss, in thousandths, to the remaining fraction in
/// 1024ths.
const LEFT: Converted = |value| PARTS(1000 - value);
/// Conversion from thousandths of C to the value whose product with 10 / 1024 is C.
const SCALE: Converted = |value| (value * 1024 + 5000) / 10_000;

/// A congestion control, one of bentpipe's parameters, the kernel's name of the parameter, and the
/// conversion.
const KNOWN: [(&str, &str, &str, Converted); 15] = [
    ("bic", "beta", "beta", LEFT),
    ("bic", "fast_convergence", "fast_convergence", SAME),
    ("bic", "low_window", "low_window", SAME),
    ("bic", "s_max", "max_increment", SAME),
    ("cubic", "beta", "beta", PARTS),
    ("cubic", "c", "bic_scale", SCALE),
    ("cubic", "fast_convergence", "fast_convergence", SAME),
    ("cubic", "hystart", "hystart", SAME),
    ("cubic", "reno_friendly", "tcp_friendliness", SAME),
    ("hybla", "rtt0", "rtt0", SAME),
    ("illinois", "theta", "theta", SAME),
    ("illinois", "window_threshold", "win_thresh", SAME),
    ("vegas", "alpha", "alpha", SAME),
    ("vegas", "beta", "beta", SAME),
    ("vegas", "gamma", "gamma", SAME),
];

/// Returns the words of the kernel's command line for one flow, and sentences about parameters that
/// cannot be expressed.
pub fn of_flow(config: &Config) -> (Vec<String>, Vec<String>) {
    let name = &config.congestion;
    let (mut words, mut impossible) = (Vec::new(), Vec::new());
    for (ours, value) in &config.parameters {
        let known = KNOWN.iter().find(|known| (known.0, known.1) == (name, ours));
        match known {
            // The kernel has no HyStart++.
            Some((_, _, "hystart", _)) if *value > 1 => {
                impossible.push(format!(
                    "parameters.{ours} = {value} is not applied: that of the kernel's {name} is 0 or 1"
                ));
            }
            Some((_, _, theirs, convert)) => words.push(format!("tcp_{name}.{theirs}={}", convert(*value))),
            None => impossible
                .push(format!("parameters.{ours} is not applied: the kernel's {name} has no such parameter")),
        }
    }
    (words, impossible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_units_of_the_kernel() {
        let of = |text: &str| of_flow(&serde_json::from_str(text).unwrap());
        // The kernel's own values of CUBIC: beta 717/1024, bic_scale 41.
        let (words, impossible) =
            of(r#"{"congestion": "cubic", "parameters": {"beta": 700, "c": 400, "hystart": 0}}"#);
        assert_eq!(words, ["tcp_cubic.beta=717", "tcp_cubic.bic_scale=41", "tcp_cubic.hystart=0"]);
        assert!(impossible.is_empty(), "{impossible:?}");
        // BIC keeps 819/1024 after a loss.
        let (words, _) = of(r#"{"congestion": "bic", "parameters": {"beta": 200}}"#);
        assert_eq!(words, ["tcp_bic.beta=819"]);
        let (_, impossible) = of(r#"{"congestion": "cubic", "parameters": {"fast_reno": 1, "hystart": 2}}"#);
        assert_eq!(impossible.len(), 2);
    }
}
