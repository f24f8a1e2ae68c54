//! A trace's column of names, encoded here. Parquet's own writer takes a string per row and hashes
//! it, which takes about 65 ns. The encoding here uses the known number of the entity and writes a
//! few bits.
//!
//! A column chunk is a dictionary page with the distinct names, and a data page with the index of
//! each row's name in one bit-packed run (Parquet's format, "Encodings": RLE_DICTIONARY).

use crate::pages::push_varint;
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// The names of the rows of one row group.
#[derive(Default)]
pub(crate) struct Names {
    /// For each entity: the index in the dictionary plus one, or 0 if no row has the entity's name.
    indices: Vec<u32>,
    /// The dictionary page: each name, preceded by its length in four bytes.
    dictionary: Vec<u8>,
    /// Number of names in the dictionary.
    distinct: u32,
    /// Index in the dictionary of each row's name.
    rows: Vec<u32>,
}

impl Names {
    /// Adds rows about these entities, given by number. `names` are the names of all entities.
    #[inline]
    pub fn extend(&mut self, entities: impl Iterator<Item = u32> + Clone, names: &[String]) {
        for entity in entities.clone() {
            if self.indices.get(entity as usize).is_none_or(|index| *index == 0) {
                self.enter(entity, &names[entity as usize]);
            }
        }
        self.rows.extend(entities.map(|entity| self.indices[entity as usize] - 1));
    }

    #[cold]
    fn enter(&mut self, entity: u32, name: &str) {
        let entity = entity as usize;
        if self.indices.len() <= entity {
            self.indices.resize(entity + 1, 0);
        }
        self.dictionary.extend_from_slice(&(name.len() as u32).to_le_bytes());
        self.dictionary.extend_from_slice(name.as_bytes());
        self.distinct += 1;
        self.indices[entity] = self.distinct;
    }

    /// Removes all rows; the column keeps its memory.
    pub fn clear(&mut self) {
        self.indices.clear();
        self.dictionary.clear();
        self.distinct = 0;
        self.rows.clear();
    }

    /// Writes the column as the next column of a row group. `descriptor` must describe a required
    /// column of strings.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let rows = self.rows.len();
        let packed = self.packed();
        let (dictionary_size, packed_size) = (self.dictionary.len(), packed.len());
        let dictionary = Page::DictionaryPage {
            buf: self.dictionary.clone().into(),
            num_values: self.distinct,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let data = Page::DataPage {
            buf: packed.into(),
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let dictionary = pages.write_page(CompressedPage::new(dictionary, dictionary_size))?;
        let data = pages.write_page(CompressedPage::new(data, packed_size))?;
        let chunk = chunk.into_inner()?;
        let size = chunk.len() as i64;
        let metadata = ColumnChunkMetaData::builder(descriptor)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_num_values(rows as i64)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64)
            .build()?;
        let closed = ColumnCloseResult {
            bytes_written: size as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes::Bytes::from(chunk), closed)
    }

    /// Returns the data page: the width of an index in bits, then one run of all indices. A single
    /// name is a run of equal indices. Several names are bit-packed, least significant bit first,
    /// in groups of eight.
    fn packed(&self) -> Vec<u8> {
        let width = (u32::BITS - self.distinct.saturating_sub(1).leading_zeros()).max(1);
        let groups = self.rows.len().div_ceil(8);
        let mut page = vec![width as u8];
        if self.distinct == 1 {
            push_varint(&mut page, (self.rows.len() as u64) << 1);
            page.push(0);
            return page;
        }
        push_varint(&mut page, (groups as u64) << 1 | 1);
        page.reserve_exact(groups * width as usize);
        for group in self.rows.chunks(8) {
            let (mut bits, mut waiting) = (0u64, 0);
            for index in 0..8 {
                bits |= u64::from(group.get(index).copied().unwrap_or(0)) << waiting;
                waiting += width;
                while waiting >= 8 {
                    page.push(bits as u8);
                    bits >>= 8;
                    waiting -= 8;
                }
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_packed_as_in_the_format_description() {
        // The example in the format's description: 0 to 7 in three bits each.
        let mut names = Names::default();
        let all: Vec<String> = (0..8).map(|name| name.to_string()).collect();
        names.extend(0..8, &all);
        assert_eq!(names.packed(), [3, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        names.clear();
        names.extend(std::iter::repeat_n(5, 90), &all);
        assert_eq!(names.packed(), [1, 0b1011_0100, 1, 0]);
        assert_eq!(names.dictionary, [1, 0, 0, 0, b'5']);
    }
}
