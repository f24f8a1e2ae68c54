//! `hardy-echo NUMBER ADDRESS`: the node `ipn:NUMBER.0` of hardy, which serves TCPCLv4 at an
//! address and sends each payload for its service 7 back to where it came from.

use hardy_bpa::bpa::{Bpa, BpaRegistration};
use hardy_bpa::services::{Application, ApplicationSink, Result, StatusNotify};
use hardy_bpa::{Bytes, async_trait};
use hardy_bpv7::eid::{Eid, IpnNodeId, NodeId, Service};
use std::sync::{Arc, OnceLock};

#[derive(Default)]
struct Echo(OnceLock<Box<dyn ApplicationSink>>);

#[async_trait]
impl Application for Echo {
    async fn on_register(&self, _: &Eid, sink: Box<dyn ApplicationSink>) {
        let _first = self.0.set(sink);
    }

    async fn on_unregister(&self) {}

    async fn on_receive(&self, source: Eid, _: time::OffsetDateTime, _: bool, payload: Bytes) -> Result<()> {
        println!("received {} B from {source}", payload.len());
        let hour = std::time::Duration::from_secs(3600);
        match self.0.get() {
            Some(sink) => sink.send(source, payload, hour, None).await.map(drop),
            None => Ok(()),
        }
    }

    async fn on_status_notify(
        &self,
        _: &hardy_bpv7::bundle::Id,
        _: &Eid,
        _: StatusNotify,
        _: hardy_bpv7::status_report::ReasonCode,
        _: Option<time::OffsetDateTime>,
    ) {
    }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, number, address] = &words[..] else { return Err("hardy-echo NUMBER ADDRESS".into()) };
    let node: NodeId = NodeId::Ipn(IpnNodeId { allocator_id: 0, node_number: number.parse()? });
    let bpa = Bpa::builder().node_ids((&[node][..]).try_into()?).build().await?;
    bpa.start(false);
    let echo = Arc::new(Echo::default());
    bpa.register_application(Service::Ipn(7), echo).await.map_err(|error| format!("{error:?}"))?;
    let config = hardy_tcpclv4::config::Config { address: Some(address.parse()?), ..Default::default() };
    let cla = Arc::new(hardy_tcpclv4::Cla::new(&config).map_err(|error| format!("{error:?}"))?);
    bpa.register_cla("tcp0".to_owned(), cla, None).await.map_err(|error| format!("{error:?}"))?;
    println!("listens on {address}");
    tokio::signal::ctrl_c().await?;
    bpa.shutdown().await;
    Ok(())
}
