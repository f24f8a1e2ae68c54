//! The settings of quinn for the transport of a scenario.

use super::observer::{Observations, Observing};
use bentpipe_core::{Count, Span};
use bentpipe_transport::quic::config::AckFrequency;
use bentpipe_transport::quic::Config;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{AckFrequencyConfig, MtuDiscoveryConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// UDP payload before path MTU discovery, in bytes.
const SMALLEST: u64 = 1200;

/// Returns the settings of one end. Its congestion control is observed.
pub fn of(config: &Config, observations: &Observations) -> TransportConfig {
    let variable = |value: u64| VarInt::from_u64(value).unwrap_or(VarInt::MAX);
    let initial_window = config.initial_window.value() * SMALLEST;
    let factory = Observing { factory: control(config, initial_window), observations: observations.clone() };
    let window = config.max_connection_window.bytes();
    let mut settings = TransportConfig::default();
    settings
        .congestion_controller_factory(Arc::new(factory))
        .max_concurrent_bidi_streams(VarInt::from_u32(1 << 16))
        .max_idle_timeout(config.idle_timeout.and_then(|span| duration(span).try_into().ok()))
        .stream_receive_window(variable(config.max_stream_window.bytes()))
        .receive_window(variable(window))
        // Data stays in the send buffer until it is acknowledged, a round trip after the other end
        // has read it.
        .send_window(window.saturating_mul(2))
        .packet_threshold(config.packet_threshold.value() as u32)
        .enable_segmentation_offload(false)
        .mtu_discovery_config(config.mtu_discovery.then(|| {
            let mut discovery = MtuDiscoveryConfig::default();
            discovery.upper_bound(config.max_udp_payload_size.value() as u16);
            discovery
        }));
    let model = Config::default();
    let wanted = AckFrequency {
        threshold: Count::new(config.ack_every.value() - 1),
        max_ack_delay: config.max_ack_delay,
        ..AckFrequency::default()
    };
    let is_usual = (config.ack_every, config.max_ack_delay) == (model.ack_every, model.max_ack_delay);
    if let Some(wanted) = config.ack_frequency.or((!is_usual).then_some(wanted)) {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(variable(wanted.threshold.value()))
            .max_ack_delay(Some(duration(wanted.max_ack_delay)))
            .reordering_threshold(variable(wanted.reordering_threshold.value()));
        settings.ack_frequency_config(Some(frequency));
    }
    settings
}

fn duration(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// Returns the factory of quinn's congestion control.
fn control(config: &Config, initial_window: u64) -> Arc<dyn ControllerFactory + Send + Sync> {
    match config.congestion.as_str() {
        "reno" => {
            let mut reno = NewRenoConfig::default();
            reno.initial_window(initial_window);
            Arc::new(reno)
        }
        "bbr" => {
            let mut bbr = BbrConfig::default();
            bbr.initial_window(initial_window);
            Arc::new(bbr)
        }
        _ => {
            let mut cubic = CubicConfig::default();
            cubic.initial_window(initial_window);
            Arc::new(cubic)
        }
    }
}
