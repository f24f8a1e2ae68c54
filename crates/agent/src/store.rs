//! Storage of bundles on disk, which survives a crash of the agent at any time.
//!
//! A store is a folder with one log. Each record of the log adds or removes a bundle. It has a kind
//! (1 byte), the number of the bundle (8 bytes), a length (4 bytes), a checksum (CRC-32C, 4 bytes),
//! and the bytes of an added bundle.
//!
//! [Committed](Store::commit) data is in the kernel and survives a crash of the process. With
//! `sync` it is on the disk and survives a power failure. If the agent crashes while it writes, the
//! log may end in an incomplete record, which was never committed. Opening the store removes this
//! record.
//!
//! A log that exceeds 64 MiB and four times the size of its stored bundles is rewritten: a new file
//! with only the stored bundles atomically replaces it.

use bentpipe_dtn::agent;
use bp7::crc::CASTAGNOLI;
use bytes::Bytes;
use nix::fcntl::{Flock, FlockArg};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Length of a record without the bundle, in bytes.
const HEADER_LENGTH: usize = 17;
/// Kind of a record that adds a bundle.
const ADD: u8 = 1;
/// Kind of a record that removes a bundle.
const REMOVE: u8 = 2;
/// Size in bytes that a log must exceed before it is rewritten.
const MIN_REWRITE: u64 = 64 << 20;

/// The bytes of a bundle in the log.
#[derive(Clone, Copy)]
struct Extent {
    offset: u64,
    length: u32,
}

/// A store of bundles in a folder.
pub struct Store {
    folder: PathBuf,
    log: Flock<File>,
    /// Length of the log, including the pending records.
    end: u64,
    /// Records that are not written yet.
    pending: Vec<u8>,
    /// The extent of each stored bundle, by number.
    live: BTreeMap<u64, Extent>,
    /// Total size of the stored bundles, in bytes.
    bytes: u64,
    /// Number of the next bundle.
    next: u64,
    sync: bool,
}

impl Store {
    /// Opens the store in `folder`, and creates the folder if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created, its log cannot be read, or another agent uses the log.
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
                    store.live.insert(number, Extent { offset, length });
                    store.bytes += u64::from(length);
                }
                _ => store.remove_entry(number),
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
        let Extent { offset, length } = self.live[&number];
        let written = self.end - self.pending.len() as u64;
        if offset >= written {
            let start = (offset - written) as usize;
            return Ok(Bytes::copy_from_slice(&self.pending[start..start + length as usize]));
        }
        let mut bundle = vec![0; length as usize];
        self.log.read_exact_at(&mut bundle, offset)?;
        Ok(Bytes::from(bundle))
    }

    /// Writes all additions and removals since the last commit to the log. After a successful
    /// commit, they survive a crash of the process.
    ///
    /// # Errors
    /// If the log cannot be written. Bundles added since the last commit must then not be
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
        match self.end > MIN_REWRITE
            && self.end > 4 * (self.bytes + HEADER_LENGTH as u64 * self.live.len() as u64)
        {
            true => self.rewrite(),
            false => Ok(()),
        }
    }

    /// Returns the numbers of the stored bundles, oldest first.
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

    /// Returns the total size of the stored bundles, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn remove_entry(&mut self, number: u64) {
        if let Some(extent) = self.live.remove(&number) {
            self.bytes -= u64::from(extent.length);
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
        for (number, extent) in &self.live {
            let bundle = self.read(*number)?;
            let offset = (content.len() + HEADER_LENGTH) as u64;
            write_record(&mut content, ADD, *number, &bundle);
            live.insert(*number, Extent { offset, length: extent.length });
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

    /// Adds a bundle, and returns its number; `None` if the bundle is too long for a record. The
    /// bundle survives a crash after the next [`commit`](Store::commit).
    fn add(&mut self, bundle: &[u8]) -> Option<u64> {
        let length = u32::try_from(bundle.len()).ok()?;
        let number = self.next;
        self.next += 1;
        let extent = Extent { offset: self.end + HEADER_LENGTH as u64, length };
        self.append(ADD, number, bundle);
        self.live.insert(number, extent);
        self.bytes += u64::from(length);
        Some(number)
    }

    /// Removes a bundle. Its bytes stay in the log until the log is rewritten.
    fn remove(&mut self, number: u64) {
        if self.live.contains_key(&number) {
            self.remove_entry(number);
            self.append(REMOVE, number, &[]);
        }
    }
}

/// Returns the log with an exclusive lock.
///
/// # Errors
/// If another agent holds the lock.
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

/// Returns the kind, number and length of the record at the beginning of `content`, if the record
/// is complete and valid.
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

    /// Returns the path of a missing folder for the test of this name.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bentpipe-store-{}-{name}", std::process::id()));
        let _none_before = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn opening_keeps_committed_bundles_and_removes_an_incomplete_record() {
        let folder = folder("incomplete");
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
        let complete = std::fs::read(&path).unwrap();
        // All earlier records survive if the last record is cut off at any byte.
        for cut in 1..=HEADER_LENGTH + 5 {
            std::fs::write(&path, &complete[..complete.len() - cut]).unwrap();
            let store = Store::open(&folder, false).unwrap();
            assert_eq!(store.numbers().collect::<Vec<_>>(), [second]);
            assert_eq!(store.bytes(), 6);
        }
        std::fs::write(&path, &complete).unwrap();
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
