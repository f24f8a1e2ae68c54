//! Server and client of a transfer over quinn: the client asks for a number of bytes on a stream,
//! and the server sends them.

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, Incoming, ServerConfig, TransportConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ALPN: &[u8] = b"transfer";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key, TransportConfig::default()).await,
        ["server", port, cert, key, "--congestion", control] => {
            let mut transport = TransportConfig::default();
            transport.congestion_controller_factory(factory(control)?);
            serve(port.parse()?, cert, key, transport).await
        }
        ["client", host, port, bytes, cert] => {
            load(SocketAddr::new(host.parse()?, port.parse()?), bytes.parse()?, cert).await
        }
        _ => Err("usage: server PORT CERT KEY [--congestion NAME] | client HOST PORT BYTES CERT".into()),
    }
}

fn factory(control: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    match control {
        "reno" => Ok(Arc::new(NewRenoConfig::default())),
        "cubic" => Ok(Arc::new(CubicConfig::default())),
        "bbr" => Ok(Arc::new(BbrConfig::default())),
        _ => Err(format!("unknown congestion control {control}; allowed: reno, cubic, bbr").into()),
    }
}

async fn serve(port: u16, cert: &str, key: &str, transport: TransportConfig) -> Result<()> {
    let chain = vec![CertificateDer::from_pem_file(cert)?];
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(error) = answer(incoming).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(incoming: Incoming) -> Result<()> {
    let connection: Connection = incoming.await?;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut request = [0; 8];
    receive.read_exact(&mut request).await?;
    let piece = [0; 1 << 16];
    let mut left = u64::from_be_bytes(request) as usize;
    while left > 0 {
        let size = left.min(piece.len());
        send.write_all(&piece[..size]).await?;
        left -= size;
    }
    send.finish()?;
    connection.closed().await;
    println!("{{\"lost_packets\": {}}}", connection.stats().path.lost_packets);
    Ok(())
}

async fn load(server: SocketAddr, bytes: u64, cert: &str) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(cert)?)?;
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let began = Instant::now();
    let connection = endpoint.connect(server, "server")?.await?;
    let shaken = began.elapsed().as_secs_f64();
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    let mut piece = vec![0; 1 << 16];
    let mut got = 0;
    while let Some(size) = receive.read(&mut piece).await? {
        got += size;
    }
    let completion = began.elapsed().as_secs_f64();
    println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
    connection.close(0_u8.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}
