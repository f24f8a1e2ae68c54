//! Server and client of a transfer over noq: the client asks for a number of bytes on each stream,
//! and the server sends them. Streams after the first are opened together, when the first ended.

use noq::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq::TransportConfig;
use noq::{ClientConfig, Connection, Endpoint, Incoming, RecvStream, SendStream, ServerConfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ALPN: &[u8] = b"transfer";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut transport = TransportConfig::default();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key, transport).await,
        ["server", port, cert, key, "--congestion", control] => {
            transport.congestion_controller_factory(factory(control)?);
            serve(port.parse()?, cert, key, transport).await
        }
        ["client", host, port, sizes, cert] => {
            load(SocketAddr::new(host.parse()?, port.parse()?), sizes, cert).await
        }
        _ => Err("usage: server PORT CERT KEY [--congestion NAME] | \
                  client HOST PORT SIZE[,SIZE...] CERT"
            .into()),
    }
}

fn factory(control: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>> {
    match control {
        "reno" => Ok(Arc::new(NewRenoConfig::default())),
        "cubic" => Ok(Arc::new(CubicConfig::default())),
        "bbr3" => Ok(Arc::new(Bbr3Config::default())),
        _ => Err(format!("unknown congestion control {control}; allowed: reno, cubic, bbr3").into()),
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
    while let Ok((send, receive)) = connection.accept_bi().await {
        tokio::spawn(async move {
            if let Err(error) = send_requested(send, receive).await {
                eprintln!("{error}");
            }
        });
    }
    println!("{{\"lost_packets\": {}}}", connection.stats().lost_packets);
    Ok(())
}

async fn send_requested(mut send: SendStream, mut receive: RecvStream) -> Result<()> {
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
    Ok(())
}

async fn load(server: SocketAddr, sizes: &str, cert: &str) -> Result<()> {
    let sizes = sizes.split(',').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(cert)?)?;
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let began = Instant::now();
    let connection = endpoint.connect(server, "server")?.await?;
    let shaken = began.elapsed().as_secs_f64();
    let mut got = download(&connection, sizes[0]).await?;
    let mut others = JoinSet::new();
    for size in &sizes[1..] {
        let (connection, size) = (connection.clone(), *size);
        others.spawn(async move { download(&connection, size).await });
    }
    while let Some(size) = others.join_next().await {
        got += size??;
    }
    let completion = began.elapsed().as_secs_f64();
    println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
    connection.close(0_u8.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

async fn download(connection: &Connection, size: u64) -> Result<usize> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&size.to_be_bytes()).await?;
    send.finish()?;
    let (mut piece, mut got) = (vec![0; 1 << 16], 0);
    while let Some(size) = receive.read(&mut piece).await? {
        got += size;
    }
    Ok(got)
}
