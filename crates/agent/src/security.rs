//! Integrity and confidentiality of payloads (BPSec, RFC 9172) with the contexts of RFC 9173, by
//! the crate `bp7`: BIB-HMAC-SHA2 and BCB-AES-GCM.
//!
//! The sender signs the payload with a key, and encrypts it and its signature with another. The
//! destination's agent decrypts and verifies it before delivery; agents on the way need no keys.
//! Keys are shared beforehand; neither RFC says how. An IV has 96 random bits (RFC 9173, section
//! 4.3.1), so one key suffices for 2^32 bundles.

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

/// The block number of the payload (RFC 9171, section 4.3.3).
const PAYLOAD: u64 = 1;
/// Bytes of an IV.
const IV: usize = 12;

/// Keys of a sender, or of the agent of a destination.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Key of HMAC-SHA-384 over the payload, in hexadecimal digits. An agent with this key delivers
    /// no payload without a valid signature.
    #[serde(default)]
    pub integrity: Option<Key>,
    /// Key of AES-GCM for the payload, of 16 or 32 bytes, in hexadecimal digits. An agent with this
    /// key delivers no payload that was not encrypted.
    #[serde(default)]
    pub confidentiality: Option<Key>,
}

/// A key in hexadecimal digits.
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
        let wrong = || "a key has an even number of hexadecimal digits, 32 at least".to_owned();
        if text.len() < 32 || text.len() % 2 == 1 || !text.is_ascii() {
            return Err(wrong());
        }
        let digits = (0..text.len() / 2).map(|place| u8::from_str_radix(&text[2 * place..2 * place + 2], 16));
        digits.collect::<Result<_, _>>().map(Key).map_err(|_| wrong())
    }
}

/// Reasons why a payload is not delivered (RFC 9172, section 7.1: reason codes of status reports).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The payload lacks the required protection.
    Missing = 12,
    /// The payload or its protection was changed, or another key was used.
    Failed = 15,
}

impl Keys {
    /// Signs and encrypts the payload of a bundle, with the keys that exist.
    ///
    /// # Errors
    /// If a key's length does not suit its algorithm, or the system has no random numbers.
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
                let mut iv = [0; IV];
                File::open("/dev/urandom")
                    .and_then(|mut random| random.read_exact(&mut iv))
                    .map_err(|error| format!("/dev/urandom: {error}"))?;
                bcb::encrypt(bundle, target, &key.0, &iv, source.clone(), parameters).map_err(about)?;
            }
        }
        Ok(())
    }

    /// Decrypts the payload of a bundle and verifies it, with the keys that exist.
    ///
    /// # Errors
    /// If it must not be delivered.
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

/// Returns true if the payload is the target of a security block of a kind.
fn covers(bundle: &Bundle, kind: u64) -> bool {
    blocks(bundle, kind).any(|block| targets(block).contains(&PAYLOAD))
}

/// Returns the blocks that a security block protects.
fn targets(block: &CanonicalBlock) -> Vec<u64> {
    let CanonicalData::Unknown(data) = block.data() else { return Vec::new() };
    let block = match block.block_type {
        INTEGRITY_BLOCK => IntegrityBlock::from_cbor(data),
        _ => ConfidentialityBlock::from_cbor(data),
    };
    block.map(|block| block.security_targets).unwrap_or_default()
}
