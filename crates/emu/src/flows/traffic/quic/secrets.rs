//! Certificate, keys and the earlier session of a flow over QUIC.

use bentpipe_transport::quic::Config;
use quinn_proto::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use quinn_proto::rustls::RootCertStore;
use quinn_proto::{ClientConfig, ServerConfig};
use rcgen::{CertificateParams, KeyPair, SerialNumber, PKCS_ED25519};
use std::io;
use std::sync::Arc;

/// Name of the server in its certificate.
pub const SERVER: &str = "bentpipe.example";

/// The secrets of a flow: its server has a certificate, and its client trusts this certificate.
#[derive(Clone)]
pub struct Secrets {
    /// Settings of the client, without transport parameters.
    pub client: ClientConfig,
    /// Settings of the server, without transport parameters.
    pub server: ServerConfig,
}

impl Secrets {
    /// Creates a certificate whose chain has the configured size. The chain is filled up by a
    /// second certificate, which has no meaning and is never verified. Sizes of messages do not
    /// depend on random numbers: signatures of Ed25519 and the serial number have a fixed length.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub fn new(config: &Config) -> io::Result<Secrets> {
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(io::Error::other)?;
        let mut parameters = CertificateParams::new([SERVER.to_owned()]).map_err(io::Error::other)?;
        parameters.serial_number = Some(SerialNumber::from(1));
        let certificate = parameters.self_signed(&key).map_err(io::Error::other)?.der().clone();
        let mut trusted = RootCertStore::empty();
        trusted.add(certificate.clone()).map_err(io::Error::other)?;
        let rest = (config.certificate.value() as usize).saturating_sub(certificate.len());
        let mut chain = vec![certificate];
        if rest > 0 {
            chain.push(CertificateDer::from(vec![0; rest]));
        }
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let server = ServerConfig::with_single_cert(chain, key).map_err(io::Error::other)?;
        let client = ClientConfig::with_root_certificates(Arc::new(trusted)).map_err(io::Error::other)?;
        Ok(Secrets { client, server })
    }
}
