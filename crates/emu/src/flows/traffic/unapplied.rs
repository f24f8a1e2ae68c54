//! Keys of a scenario's transports that the kernel of this machine cannot apply.

use super::flows;
use super::settings::{LEAST_SENT, NEWEST};
use crate::flows::variants::Variants;
use crate::sys::socket;
use bentpipe_core::Size;
use bentpipe_engine::scenario::Scenario;
use bentpipe_networks::node::proxy::RealForm;
use bentpipe_transport::tcp::config::{Ecn, Recovery};
use bentpipe_transport::tcp::Config;
use bentpipe_transport::{quic, Socket};

/// Returns a sentence for each such key of the flows of `scenario` over the kernel's sockets.
pub fn of(scenario: &Scenario, variants: &Variants) -> Vec<String> {
    let mut all = Vec::new();
    for (_, flow) in flows(scenario) {
        let sentences: Vec<String> = match flow.transport.socket() {
            Some(Socket::Stream(config)) => of_config(config, flow.is_command(), variants),
            Some(Socket::Quic(config)) => {
                by_quinn(config).into_iter().map(|(key, why)| sentence(key, why)).collect()
            }
            _ => continue,
        };
        all.extend(sentences.into_iter().map(|sentence| format!("flow {}: {sentence}", flow.name)));
    }
    all
}

/// Returns the flows over the kernel's sockets, and the sides of proxies, with the keys that no
/// kernel applies: these stay simulated. Flows and sides without such keys are left out.
pub fn simulated_only(scenario: &Scenario) -> Vec<(String, Vec<&'static str>)> {
    let keys = |keys: Vec<Unapplied>| keys.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    let flows = flows(scenario).filter_map(|(_, flow)| match flow.transport.socket()? {
        Socket::Stream(config) => Some((flow.name.clone(), keys(by_any_kernel(config)))),
        Socket::Quic(config) => Some((flow.name.clone(), keys(by_quinn(config)))),
        Socket::Datagram => None,
    });
    let proxies = scenario.proxy.iter().filter(|proxy| proxy.enabled);
    let sides = proxies.flat_map(|proxy| {
        let RealForm::Sockets(config) = proxy.mechanism.real_form()? else { return None };
        let own =
            config.sides.iter().map(|(link, side)| (format!("{} over {link}", proxy.name), side.config()));
        Some(own.chain([(proxy.name.clone(), config.transport.config())]))
    });
    let sides = sides.flatten().map(|(name, config)| (name, keys(by_any_kernel(config))));
    flows.chain(sides).filter(|(_, keys)| !keys.is_empty()).collect()
}

/// Returns a sentence for each such key of TCP settings. `is_program` is true if a program creates
/// the sockets.
pub fn of_config(config: &Config, is_program: bool, variants: &Variants) -> Vec<String> {
    let mut keys = by_any_kernel(config);
    if is_program {
        keys.extend(by_programs(config));
    } else {
        keys.extend(by_old_kernels(config, socket::takes));
    }
    let mut sentences: Vec<String> = keys.into_iter().map(|(key, kernel)| sentence(key, kernel)).collect();
    sentences.extend(variants.unapplied(config));
    if config.syn_linear_timeouts != Config::default().syn_linear_timeouts && !NEWEST.is_there() {
        sentences.push(sentence("syn_linear_timeouts", "this kernel is older than 6.5 and has none"));
    }
    sentences
}

fn sentence(key: &str, kernel: &str) -> String {
    format!("{key} is not applied: {kernel}")
}

/// A key that is not applied, and the behaviour of the kernel.
type Unapplied = (&'static str, &'static str);

/// Returns the keys whose condition is true.
fn named<const N: usize>(keys: [(&'static str, bool, &'static str); N]) -> Vec<Unapplied> {
    let differing = keys.into_iter().filter(|(_, differs, _)| *differs);
    differing.map(|(key, _, kernel)| (key, kernel)).collect()
}

/// Returns the keys that no kernel can apply.
fn by_any_kernel(config: &Config) -> Vec<Unapplied> {
    let model = Config::default();
    let kernels = if config.offers_sack() { Recovery::Rack } else { Recovery::Newreno };
    let counts = config.delayed_ack && config.quick_acks.value() > 0;
    let grows = match config.profile.config().quick_window {
        none if none == Size::from_bytes(0) => model.quick_window,
        own => own,
    };
    let least = config.delayed_ack_min != model.delayed_ack_min.min(config.delayed_ack_timeout);
    named([
        (
            "rto_min",
            config.rto_min > config.rto_variance_min,
            "the kernel's time-out is at least the smoothed round-trip time plus rto_variance_min",
        ),
        (
            "ecn",
            config.ecn == Ecn::Accurate,
            "AccECN is not available: the kernel's TCP negotiates classic ECN, as with ecn = true",
        ),
        ("recovery", config.recovery != kernels, "the kernel's is rack, without sack newreno"),
        ("proportional_reduction", !config.proportional_reduction, "the kernel's is on"),
        ("rate_halving", config.rate_halving, "the kernel reduces in proportion"),
        ("byte_counting", !config.byte_counting, "the kernel's is on"),
        (
            "minshall",
            config.nagle && !config.minshall,
            "the kernel holds a small segment back only while another small one is unacknowledged",
        ),
        ("undo", !config.undo, "the kernel's is on"),
        (
            "ack_pushed",
            config.delayed_ack && config.ack_pushed != config.profile.config().ack_pushed,
            "the kernel's is on since 6.7",
        ),
        ("bursts", !config.bursts, "the kernel's are on"),
        (
            "window_validation",
            config.window_validation != config.restart_after_idle,
            "the kernel's is as restart_after_idle",
        ),
        (
            "send_buffer",
            config.send_buffer.is_some_and(|buffer| buffer.bytes() < LEAST_SENT / 7 * 6),
            "the host's has at least 4 MiB of memory",
        ),
        (
            "send_memory",
            config.send_memory.is_some_and(|memory| memory.bytes() < LEAST_SENT),
            "the host's is at least 4 MiB",
        ),
        (
            "receive_window_start",
            config.receive_window_start.is_some() && !(config.profile.is_linux() && config.has_own_window()),
            "the kernel's window starts at 64 KiB and grows",
        ),
        ("quick_acks", config.delayed_ack && config.quick_acks != model.quick_acks, "the kernel's is 16"),
        (
            "quick_window",
            // Without window scaling the window does not grow: it starts at its maximum.
            counts
                && config.window_scaling
                && config.receive_window_start.is_none()
                && config.quick_window != grows,
            "the host's grows as the kernel's memory allows",
        ),
        ("ack_every", config.delayed_ack && config.ack_every != model.ack_every, "the kernel's is 2"),
        ("quick_start", config.quick_start.is_some(), "the kernel does not ask for a rate"),
        ("careful_resume", config.careful_resume.is_some(), "the kernel does not resume"),
        ("freeze", !config.freeze.is_empty(), "the kernel hears of no handovers"),
        ("adapt", !config.adapt.is_empty(), "the kernel hears of no handovers"),
        ("on_handover", !config.on_handover.is_empty(), "the kernel hears of no handovers"),
        ("delayed_ack_min", config.delayed_ack && least, "the kernel's is 40 ms"),
        ("rto_estimator", config.rto_estimator != model.rto_estimator, "the kernel's is linux"),
        ("retries_as_time", !config.retries_as_time, "the kernel's is on"),
        ("jiffy", config.jiffy != model.jiffy, "the kernel has its own, of 1 to 10 ms"),
        ("timer_tick", config.timer_tick != model.timer_tick, "the kernel has its own, of 1 to 10 ms"),
        ("rto_initial", config.rto_initial != model.rto_initial, "the kernel's is 1 s"),
        ("initial_sequence", config.initial_sequence.is_some(), "the kernel chooses at random"),
    ])
}

/// Returns the keys that are built into kernels before 6.15, detected by the options that this
/// kernel takes.
fn by_old_kernels(config: &Config, takes: impl Fn(libc::c_int) -> bool) -> Vec<Unapplied> {
    let model = Config::default();
    named([
        (
            "rto_max",
            config.rto_max != model.rto_max && !takes(socket::TCP_RTO_MAX_MS),
            "this kernel is older than 6.15, whose largest time-out is 120 s",
        ),
        (
            "delayed_ack_timeout",
            config.delayed_ack
                && config.delayed_ack_timeout != model.delayed_ack_timeout
                && !takes(socket::TCP_DELACK_MAX_US),
            "this kernel is older than 6.15, which delays acknowledgments by at most 200 ms",
        ),
    ])
}

/// Returns the keys that belong to a program's own sockets.
fn by_programs(config: &Config) -> Vec<Unapplied> {
    let model = Config::default();
    const OWN: &str = "the program's sockets have the kernel's, or what the program sets";
    named([
        (
            "segment_size",
            config.segment_size != model.segment_size,
            "the program's segments fill the packets",
        ),
        ("receive_window", config.receive_window.is_some() && !config.has_own_window(), OWN),
        ("nagle", config.nagle != model.nagle, OWN),
        ("pacing", config.pacing != model.pacing, OWN),
        ("rto_max", config.rto_max != model.rto_max, OWN),
        ("delayed_ack_timeout", config.delayed_ack_timeout != model.delayed_ack_timeout, OWN),
        ("syn_retries", config.syn_retries != model.syn_retries, OWN),
    ])
}

/// Returns the keys that quinn cannot apply.
fn by_quinn(config: &quic::Config) -> Vec<Unapplied> {
    let model = quic::Config::default();
    named([
        ("careful_resume", config.careful_resume.is_some(), "quinn has no Careful Resume"),
        ("migration", config.migration, "hosts keep their addresses"),
        ("pacing", !config.pacing, "quinn always paces"),
        ("pacing_gain", config.pacing_gain != model.pacing_gain, "quinn's is 125"),
        (
            "stream_window",
            config.stream_window != model.stream_window,
            "quinn's windows do not grow: they begin with max_stream_window",
        ),
        (
            "connection_window",
            config.connection_window != model.connection_window,
            "quinn's windows do not grow: they begin with max_connection_window",
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_linux_transport_is_applied_completely() {
        let all = [by_any_kernel(&Config::default()), by_programs(&Config::default())];
        assert_eq!(all.concat(), []);
        assert_eq!(by_old_kernels(&Config::default(), |_| false), []);
    }

    #[test]
    fn each_unapplied_key_is_named() {
        let says = |found: Vec<Unapplied>, key: &str| {
            let keys: Vec<&str> = found.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys, [key]);
        };
        for (key, value) in [
            ("undo", "false"),
            ("ecn", "\"accurate\""),
            ("recovery", "\"sack\", \"tail_loss_probe\": false"),
            ("send_buffer", "\"64 KiB\""),
            ("send_memory", "\"64 KiB\""),
            ("receive_window_start", "\"32 KiB\", \"receive_window\": \"1 MiB\""),
            ("rto_min", "\"1 s\""),
            ("rto_estimator", "\"rfc6298\""),
            ("retries_as_time", "false"),
            ("ack_every", "4"),
        ] {
            says(by_any_kernel(&config(&format!("{{\"{key}\": {value}}}"))), key);
        }
        // Without scaling the window does not grow, neither on hosts nor in the model.
        let unscaled = config(r#"{"window_scaling": false}"#);
        assert_eq!([by_any_kernel(&unscaled), by_programs(&unscaled)].concat(), []);
        let old = config(r#"{"rto_max": "60 s"}"#);
        says(by_old_kernels(&old, |_| false), "rto_max");
        assert_eq!(by_old_kernels(&old, |_| true), []);
        says(by_programs(&config(r#"{"receive_window": "64 KiB"}"#)), "receive_window");
    }

    #[test]
    fn each_key_that_quinn_lacks_is_named() {
        let config = |text: &str| serde_json::from_str::<quic::Config>(text).unwrap();
        assert_eq!(by_quinn(&quic::Config::default()), []);
        assert_eq!(by_quinn(&config(r#"{"resumption": true, "ack_every": 10, "ecn": true}"#)), []);
        for (key, value) in [
            ("careful_resume", r#"{"cwnd": 100, "rtt": "600 ms"}"#),
            ("migration", "true"),
            ("pacing", "false"),
            ("pacing_gain", "200"),
            ("stream_window", "\"1 MiB\""),
            ("connection_window", "\"1 MiB\""),
        ] {
            let keys: Vec<_> =
                by_quinn(&config(&format!("{{\"{key}\": {value}}}"))).iter().map(|one| one.0).collect();
            assert_eq!(keys, [key]);
        }
    }
}
