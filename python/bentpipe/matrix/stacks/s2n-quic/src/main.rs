//! Server and client of a transfer over s2n-quic: the client asks for a number of bytes on each
//! stream, and the server sends them. Streams after the first are opened together, when the first
//! ended.

use s2n_quic::client::Connect;
use s2n_quic::connection::Handle;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::tls::rustls;
use s2n_quic::stream::BidirectionalStream;
use s2n_quic::{Client, Connection, Server};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ALPN: [&[u8]; 1] = [b"transfer"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key, "cubic").await,
        ["server", port, cert, key, "--congestion", control] => {
            serve(port.parse()?, cert, key, control).await
        }
        ["client", host, port, sizes, cert] => {
            load(SocketAddr::new(host.parse()?, port.parse()?), sizes, cert).await
        }
        _ => Err("usage: server PORT CERT KEY [--congestion NAME] | \
                  client HOST PORT SIZE[,SIZE...] CERT"
            .into()),
    }
}

async fn serve(port: u16, cert: &str, key: &str, control: &str) -> Result<()> {
    let tls = rustls::Server::builder()
        .with_application_protocols(ALPN.iter())?
        .with_certificate(Path::new(cert), Path::new(key))?
        .build()?;
    let server = Server::builder().with_tls(tls)?.with_io(SocketAddr::from(([0, 0, 0, 0], port)))?;
    let mut server = match control {
        "cubic" => server.with_congestion_controller(Cubic::default())?.start()?,
        "bbr" => server.with_congestion_controller(Bbr::default())?.start()?,
        _ => return Err(format!("unknown congestion control {control}; allowed: cubic, bbr").into()),
    };
    while let Some(connection) = server.accept().await {
        tokio::spawn(async move {
            if let Err(error) = answer(connection).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn answer(mut connection: Connection) -> Result<()> {
    while let Ok(Some(stream)) = connection.accept_bidirectional_stream().await {
        tokio::spawn(async move {
            if let Err(error) = send_requested(stream).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

async fn send_requested(mut stream: BidirectionalStream) -> Result<()> {
    let mut left = stream.read_u64().await? as usize;
    let piece = [0; 1 << 16];
    while left > 0 {
        let size = left.min(piece.len());
        stream.write_all(&piece[..size]).await?;
        left -= size;
    }
    stream.close().await?;
    Ok(())
}

async fn load(server: SocketAddr, sizes: &str, cert: &str) -> Result<()> {
    let sizes = sizes.split(',').map(str::parse).collect::<std::result::Result<Vec<u64>, _>>()?;
    let tls = rustls::Client::builder()
        .with_application_protocols(ALPN.iter())?
        .with_certificate(Path::new(cert))?
        .build()?;
    let client = Client::builder().with_tls(tls)?.with_io(SocketAddr::from(([0, 0, 0, 0], 0)))?.start()?;
    let began = Instant::now();
    let connection = client.connect(Connect::new(server).with_server_name("server")).await?.handle();
    let shaken = began.elapsed().as_secs_f64();
    let mut got = download(connection.clone(), sizes[0]).await?;
    let mut others = JoinSet::new();
    for size in &sizes[1..] {
        others.spawn(download(connection.clone(), *size));
    }
    while let Some(size) = others.join_next().await {
        got += size??;
    }
    let completion = began.elapsed().as_secs_f64();
    println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
    connection.close(0_u8.into());
    Ok(())
}

async fn download(mut connection: Handle, size: u64) -> Result<usize> {
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.write_u64(size).await?;
    stream.finish()?;
    let (mut piece, mut got) = (vec![0; 1 << 16], 0);
    loop {
        match stream.read(&mut piece).await? {
            0 => return Ok(got),
            size => got += size,
        }
    }
}
