//! Storage of bundles on disk, which survives the death of the agent at any time.
//!
//! A store is a folder with one log. A record adds a bundle or removes one: kind (1 byte), number
//! (8), length (4), check (CRC-32C, 4), then the bytes of the bundle. [Committed](Store::commit)
//! data is in the kernel and survives the process; with `sync` it is on the medium and survives a
//! power failure. If the agent died while it wrote, the log ends within a record, and is truncated
//! there when it is opened: that record was never committed. A log with more removed bytes than
//! stored ones is rewritten into a new file, which replaces it in one step.

use bentpipe_dtn::agent;
use bp7::crc::CASTAGNOLI;
use bytes::Bytes;
use nix::fcntl::{Flock, FlockArg};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HEADER_LENGTH: usize = 17;
const ADD: u8 = 1;
const REMOVE: u8 = 2;
/// Bytes that a log must have before it is rewritten.
const REWRITE: u64 = 64 << 20;

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    length: u32,
}

/// A store of bundles.
pub struct Store {
    folder: PathBuf,
    log: Flock<File>,
    /// Length of the log including what is not written yet.
    end: u64,
    /// Records that are not written yet.
    pending: Vec<u8>,
    live: BTreeMap<u64, Place>,
    bytes: u64,
    next: u64,
    sync: bool,
}

impl Store {
    /// Opens the store in `folder`, which is created if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created, or its log cannot be read or is used by another agent.
    pub fn open(folder: &Path, sync: bool) -> io::Result<Store> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join("bundles.log");
        let log = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
        let mut log = locked(log)?;
        let mut content = Vec::new();
        log.read_to_end(&mut content)?;
        let mut store = Store {
            folder: folder.to_owned(),
            log,
            end: 0,
            pending: Vec::new(),
            live: BTreeMap::new(),
            bytes: 0,
            next: 0,
            sync,
        };
        while let Some((kind, number, length)) = record(&content[store.end as usize..]) {
            match kind {
                ADD => {
                    let offset = store.end + HEADER_LENGTH as u64;
                    store.live.insert(number, Place { offset, length });
                    store.bytes += u64::from(length);
                }
                _ => store.forget(number),
            }
            store.next = store.next.max(number + 1);
            store.end += HEADER_LENGTH as u64 + u64::from(length);
        }
        store.log.set_len(store.end)?;
        Ok(store)
    }

    /// Returns the bytes of a bundle.
    ///
    /// # Errors
    /// If the log cannot be read.
    ///
    /// # Panics
    /// If the bundle is not stored.
    pub fn read(&self, number: u64) -> io::Result<Bytes> {
        let Place { offset, length } = self.live[&number];
        let written = self.end - self.pending.len() as u64;
        if offset >= written {
            let start = (offset - written) as usize;
            return Ok(Bytes::copy_from_slice(&self.pending[start..start + length as usize]));
        }
        let mut bundle = vec![0; length as usize];
        self.log.read_exact_at(&mut bundle, offset)?;
        Ok(Bytes::from(bundle))
    }

    /// Writes what was added and removed since the last commit. When it returns, these changes
    /// survive the process.
    ///
    /// # Errors
    /// If the log cannot be written. In that case nothing since the last commit may be
    /// acknowledged.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.log.write_all(&self.pending)?;
        self.pending.clear();
        if self.sync {
            self.log.sync_data()?;
        }
        match self.end > REWRITE
            && self.end > 4 * (self.bytes + HEADER_LENGTH as u64 * self.live.len() as u64)
        {
            true => self.rewrite(),
            false => Ok(()),
        }
    }

    /// Returns the numbers of the stored bundles, the oldest first.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.live.keys().copied()
    }

    /// Returns the number of stored bundles.
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Returns true if nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Returns the bytes of the stored bundles.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn forget(&mut self, number: u64) {
        if let Some(place) = self.live.remove(&number) {
            self.bytes -= u64::from(place.length);
        }
    }

    fn append(&mut self, kind: u8, number: u64, bundle: &[u8]) {
        let before = self.pending.len();
        write_record(&mut self.pending, kind, number, bundle);
        self.end += (self.pending.len() - before) as u64;
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let (new, path) = (self.folder.join("bundles.new"), self.folder.join("bundles.log"));
        let (mut content, mut live) = (Vec::new(), BTreeMap::new());
        for (number, place) in &self.live {
            let bundle = self.read(*number)?;
            let offset = (content.len() + HEADER_LENGTH) as u64;
            write_record(&mut content, ADD, *number, &bundle);
            live.insert(*number, Place { offset, length: place.length });
        }
        let log = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&new)?;
        let mut log = locked(log)?;
        log.write_all(&content)?;
        log.sync_data()?;
        std::fs::rename(&new, &path)?;
        self.log = log;
        (self.end, self.live) = (content.len() as u64, live);
        Ok(())
    }
}

impl agent::Store for Store {
    type Bundle = [u8];

    /// Adds a bundle, unless it is too long for a record. It is safe after the next
    /// [`commit`](Store::commit).
    fn add(&mut self, bundle: &[u8]) -> Option<u64> {
        let length = u32::try_from(bundle.len()).ok()?;
        let number = self.next;
        self.next += 1;
        let place = Place { offset: self.end + HEADER_LENGTH as u64, length };
        self.append(ADD, number, bundle);
        self.live.insert(number, place);
        self.bytes += u64::from(length);
        Some(number)
    }

    /// Removes a bundle; its bytes in the log are dropped when the log is rewritten.
    fn remove(&mut self, number: u64) {
        if self.live.contains_key(&number) {
            self.forget(number);
            self.append(REMOVE, number, &[]);
        }
    }
}

/// Locks the log for this agent alone and returns it.
fn locked(log: File) -> io::Result<Flock<File>> {
    Flock::lock(log, FlockArg::LockExclusiveNonblock)
        .map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "another agent uses this storage"))
}

fn write_record(out: &mut Vec<u8>, kind: u8, number: u64, bundle: &[u8]) {
    let start = out.len();
    out.push(kind);
    out.extend(number.to_be_bytes());
    out.extend((bundle.len() as u32).to_be_bytes());
    out.extend(check(&out[start..start + 13], bundle).to_be_bytes());
    out.extend_from_slice(bundle);
}

fn check(head: &[u8], bundle: &[u8]) -> u32 {
    let mut digest = CASTAGNOLI.digest();
    digest.update(head);
    digest.update(bundle);
    digest.finalize()
}

/// Returns kind, number and length of the record at the beginning of `content`, if it is whole and
/// valid.
fn record(content: &[u8]) -> Option<(u8, u64, u32)> {
    let head = content.get(..HEADER_LENGTH)?;
    let number = u64::from_be_bytes(head[1..9].try_into().ok()?);
    let length = u32::from_be_bytes(head[9..13].try_into().ok()?);
    let bundle = content.get(HEADER_LENGTH..HEADER_LENGTH + length as usize)?;
    let valid = check(&head[..13], bundle).to_be_bytes() == head[13..17] && matches!(head[0], ADD | REMOVE);
    valid.then_some((head[0], number, length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_dtn::agent::Store as _;

    /// Returns a new folder for a test of this name.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bentpipe-store-{}-{name}", std::process::id()));
        let _none_before = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn committed_bundles_survive_and_a_torn_record_is_truncated() {
        let folder = folder("torn");
        let mut store = Store::open(&folder, false).unwrap();
        let [first, second] = [b"first".as_slice(), b"second"].map(|bundle| store.add(bundle).unwrap());
        store.commit().unwrap();
        store.remove(first);
        assert_eq!(store.read(second).unwrap(), Bytes::from("second"));
        let third = store.add(b"third").unwrap();
        assert_eq!(store.read(third).unwrap(), Bytes::from("third"));
        store.commit().unwrap();
        assert!(Store::open(&folder, false).is_err(), "the storage is in use");
        drop(store);
        let path = folder.join("bundles.log");
        let whole = std::fs::read(&path).unwrap();
        // The other records survive any truncation of the last one.
        for cut in 1..=HEADER_LENGTH + 5 {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let store = Store::open(&folder, false).unwrap();
            assert_eq!(store.numbers().collect::<Vec<_>>(), [second]);
            assert_eq!(store.bytes(), 6);
        }
        std::fs::write(&path, &whole).unwrap();
        let mut store = Store::open(&folder, false).unwrap();
        assert_eq!(store.numbers().collect::<Vec<_>>(), [second, third]);
        store.rewrite().unwrap();
        assert_eq!(store.read(third).unwrap(), Bytes::from("third"));
        let fourth = store.add(b"fourth").unwrap();
        store.commit().unwrap();
        drop(store);
        let store = Store::open(&folder, false).unwrap();
        assert_eq!(store.numbers().collect::<Vec<_>>(), [second, third, fourth]);
        assert_eq!(store.read(fourth).unwrap(), Bytes::from("fourth"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
