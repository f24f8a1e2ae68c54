//! Integrity and confidentiality of payloads (BPSec, RFC 9172) in the security contexts of RFC
//! 9173, BIB-HMAC-SHA2 and BCB-AES-GCM. The crate `bp7` implements them.
//!
//! The sender signs the payload with one key, and encrypts the payload and its signature with
//! another. The destination's agent decrypts and verifies the payload before delivery. Agents on
//! the path need no keys. Sender and destination must share the keys beforehand; neither RFC
//! defines a method. An IV has 96 random bits (RFC 9173, section 4.3.1), so one key suffices for
//! 2^32 bundles.

use bp7::bpsec::rfc9173::{bcb, bib};
use bp7::bpsec::{
    BcbSecurityContextParameter, BibSecurityContextParameter, ConfidentialityBlock, IntegrityBlock,
    CONFIDENTIALITY_BLOCK, INTEGRITY_BLOCK,
};
use bp7::canonical::CanonicalData;
use bp7::{crc, Bundle, CanonicalBlock, EndpointID};
use serde::Deserialize;
use std::fs::File;
use std::io::Read;

/// The block number of the payload block (RFC 9171, section 4.3.3).
const PAYLOAD: u64 = 1;
/// Length of an initialization vector in bytes.
const IV_LENGTH: usize = 12;

/// The keys of a sender or of the destination's agent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Key for HMAC-SHA-384 over the payload, in hexadecimal digits. An agent with this key
    /// delivers only payloads with a valid signature.
    #[serde(default)]
    pub integrity: Option<Key>,
    /// Key for AES-GCM of 16 or 32 bytes, in hexadecimal digits. An agent with this key delivers
    /// only payloads that were encrypted with it.
    #[serde(default)]
    pub confidentiality: Option<Key>,
}

/// A key, read from hexadecimal digits.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct Key(Vec<u8>);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({} bytes)", self.0.len())
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Key, String> {
        let invalid = || "not a key; write an even number of hexadecimal digits, at least 32".to_owned();
        if text.len() < 32 || text.len() % 2 == 1 || !text.is_ascii() {
            return Err(invalid());
        }
        let digits = (0..text.len() / 2).map(|byte| u8::from_str_radix(&text[2 * byte..2 * byte + 2], 16));
        digits.collect::<Result<_, _>>().map(Key).map_err(|_| invalid())
    }
}

/// The reason for refusing to deliver a payload, with its code in status reports (RFC 9172, section
/// 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The payload lacks the required protection.
    Missing = 12,
    /// Decryption or verification failed: the payload or its protection was changed, or was created
    /// with another key.
    Failed = 15,
}

impl Keys {
    /// Signs and encrypts the payload of a bundle. A missing key omits its step.
    ///
    /// # Errors
    /// If a key has the wrong length for its algorithm, or the system provides no random numbers.
    pub fn protect(&self, bundle: &mut Bundle, source: &EndpointID) -> Result<(), String> {
        let about = |error: bp7::bpsec::BpsecError| error.to_string();
        let mut targets = vec![PAYLOAD];
        if let Some(key) = &self.integrity {
            let parameters = BibSecurityContextParameter::new(None, None, None);
            targets
                .insert(0, bib::sign(bundle, &[PAYLOAD], &key.0, source.clone(), parameters).map_err(about)?);
        }
        if let Some(key) = &self.confidentiality {
            for target in targets {
                let variant = if key.0.len() == 16 { bcb::AES_128_GCM } else { bcb::AES_256_GCM };
                let parameters = BcbSecurityContextParameter {
                    iv: None,
                    aes_variant: Some(variant),
                    wrapped_key: None,
                    aad_scope_flags: None,
                };
                let mut iv = [0; IV_LENGTH];
                File::open("/dev/urandom")
                    .and_then(|mut random| random.read_exact(&mut iv))
                    .map_err(|error| format!("/dev/urandom: {error}"))?;
                bcb::encrypt(bundle, target, &key.0, &iv, source.clone(), parameters).map_err(about)?;
            }
        }
        Ok(())
    }

    /// Decrypts and verifies the payload of a bundle. A missing key omits its step.
    ///
    /// # Errors
    /// If the payload must not be delivered.
    pub fn open(&self, bundle: &mut Bundle) -> Result<(), Refusal> {
        if let Some(key) = &self.confidentiality {
            if !covers(bundle, CONFIDENTIALITY_BLOCK) {
                return Err(Refusal::Missing);
            }
            let numbers: Vec<u64> =
                blocks(bundle, CONFIDENTIALITY_BLOCK).map(|block| block.block_number).collect();
            for number in numbers {
                bcb::decrypt(bundle, number, &key.0, crc::CRC_NO).map_err(|_| Refusal::Failed)?;
            }
        }
        if let Some(key) = &self.integrity {
            if !covers(bundle, INTEGRITY_BLOCK) {
                return Err(Refusal::Missing);
            }
            for block in blocks(bundle, INTEGRITY_BLOCK).filter(|block| targets(block).contains(&PAYLOAD)) {
                if !matches!(bib::verify(bundle, block.block_number, &key.0), Ok(true)) {
                    return Err(Refusal::Failed);
                }
            }
        }
        Ok(())
    }
}

fn blocks(bundle: &Bundle, kind: u64) -> impl Iterator<Item = &CanonicalBlock> {
    bundle.canonicals.iter().filter(move |block| block.block_type == kind)
}

/// Returns true if a security block of this kind protects the payload.
fn covers(bundle: &Bundle, kind: u64) -> bool {
    blocks(bundle, kind).any(|block| targets(block).contains(&PAYLOAD))
}

/// Returns the numbers of the blocks that a security block protects.
fn targets(block: &CanonicalBlock) -> Vec<u64> {
    let CanonicalData::Unknown(data) = block.data() else { return Vec::new() };
    let block = match block.block_type {
        INTEGRITY_BLOCK => IntegrityBlock::from_cbor(data),
        _ => ConfidentialityBlock::from_cbor(data),
    };
    block.map(|block| block.security_targets).unwrap_or_default()
}
