//! Server and client of a transfer over s2n-quic: the client asks for a number of bytes on a
//! stream, and the server sends them.

use s2n_quic::client::Connect;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Connection, Server};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const ALPN: [&[u8]; 1] = [b"transfer"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["server", port, cert, key] => serve(port.parse()?, cert, key).await,
        ["client", host, port, bytes, cert] => {
            load(SocketAddr::new(host.parse()?, port.parse()?), bytes.parse()?, cert).await
        }
        _ => Err("usage: server PORT CERT KEY | client HOST PORT BYTES CERT".into()),
    }
}

async fn serve(port: u16, cert: &str, key: &str) -> Result<()> {
    let tls = rustls::Server::builder()
        .with_application_protocols(ALPN.iter())?
        .with_certificate(Path::new(cert), Path::new(key))?
        .build()?;
    let mut server =
        Server::builder().with_tls(tls)?.with_io(SocketAddr::from(([0, 0, 0, 0], port)))?.start()?;
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
    let Some(mut stream) = connection.accept_bidirectional_stream().await? else { return Ok(()) };
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

async fn load(server: SocketAddr, bytes: u64, cert: &str) -> Result<()> {
    let tls = rustls::Client::builder()
        .with_application_protocols(ALPN.iter())?
        .with_certificate(Path::new(cert))?
        .build()?;
    let client = Client::builder().with_tls(tls)?.with_io(SocketAddr::from(([0, 0, 0, 0], 0)))?.start()?;
    let began = Instant::now();
    let mut connection = client.connect(Connect::new(server).with_server_name("server")).await?;
    let shaken = began.elapsed().as_secs_f64();
    let mut stream = connection.open_bidirectional_stream().await?;
    stream.write_u64(bytes).await?;
    stream.finish()?;
    let mut piece = vec![0; 1 << 16];
    let mut got = 0;
    loop {
        match stream.read(&mut piece).await? {
            0 => break,
            size => got += size,
        }
    }
    let completion = began.elapsed().as_secs_f64();
    println!("{{\"handshake_s\": {shaken}, \"completion_s\": {completion}, \"bytes\": {got}}}");
    connection.close(0_u8.into());
    Ok(())
}
