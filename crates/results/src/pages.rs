//! The data pages of a trace's column, encoded when rows are added. Parquet's own writer keeps the
//! values of a row group and counts their levels one at a time.
//!
//! A page has [`PAGE`] rows: definition levels, if the column may have nulls, and the values in the
//! column's encoding.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Minimum size of a page's header in bytes.
const HEADER: usize = 32;

/// Number of rows in a data page.
pub(crate) const PAGE: usize = 16 * 1024;

/// The pages of a column in one row group.
pub(crate) struct Pages {
    /// True if values may be missing.
    nullable: bool,
    /// Number of rows of the page that is being filled.
    rows: usize,
    /// For each row, true if it has a value. Empty if no value is missing.
    present: Vec<bool>,
    full: Vec<Full>,
    /// Buffers for a page before and after compression. They are kept because new memory costs a
    /// page fault every 4 KiB.
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

/// A full page.
struct Full {
    rows: usize,
    encoding: Encoding,
    /// Length in bytes before compression.
    length: usize,
    /// The page after compression.
    stored: Bytes,
}

/// Values to which pages of [`Encoding::RLE_DICTIONARY`] refer by index.
pub(crate) struct Dictionary<'a> {
    pub values: u32,
    /// The values in plain encoding.
    pub plain: &'a [u8],
}

impl Pages {
    /// Creates a column without rows. `nullable` is true if values may be missing.
    pub fn new(nullable: bool) -> Pages {
        Pages {
            nullable,
            rows: 0,
            present: Vec::new(),
            full: Vec::new(),
            plain: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Returns true if the page that is being filled has no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the number of rows that fit into the page; at least one unless the page is
    /// [full](Self::is_full).
    #[inline]
    pub fn room(&self) -> usize {
        PAGE - self.rows
    }

    /// Returns true if the page must be [ended](Self::end).
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows == PAGE
    }

    /// Counts `rows` further rows with values.
    #[inline]
    pub fn add(&mut self, rows: usize) {
        self.rows += rows;
        if !self.present.is_empty() {
            self.present.resize(self.rows, true);
        }
    }

    /// Counts a row without a value.
    #[cold]
    pub fn add_null(&mut self) {
        debug_assert!(self.nullable, "a required column has all its values");
        if self.present.is_empty() {
            self.present.resize(self.rows, true);
        }
        self.present.push(false);
        self.rows += 1;
    }

    /// Ends the page. `values` appends the page's encoded values.
    pub fn end(&mut self, encoding: Encoding, values: impl FnOnce(&mut Vec<u8>)) {
        let Pages { plain, compressed, .. } = self;
        plain.clear();
        if self.nullable {
            let levels = levels(self.rows, &self.present);
            plain.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            plain.extend_from_slice(&levels);
        }
        values(plain);
        let (rows, length) = (self.rows, plain.len());
        let stored = Bytes::copy_from_slice(compress(plain, compressed));
        self.full.push(Full { rows, encoding, length, stored });
        self.present.clear();
        self.rows = 0;
    }

    /// Removes all full pages.
    pub fn clear(&mut self) {
        self.full.clear();
    }

    /// Writes the full pages as the next column of a row group. Also writes the `dictionary`, if
    /// the pages refer to one, and the `extremes` of the values, if readers skip row groups by
    /// them.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        dictionary: Option<Dictionary<'_>>,
        extremes: Option<(i64, i64)>,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let (mut rows, mut size, mut plain, mut first) = (0, 0, 0, None);
        let stored: usize = self.full.iter().map(|page| page.stored.len() + HEADER).sum();
        let mut chunk = TrackedWrite::new(Vec::with_capacity(stored));
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let mut encodings = vec![Encoding::RLE];
        let mut dictionary_offset = None;
        if let Some(Dictionary { values, plain: entries }) = dictionary {
            let page = Page::DictionaryPage {
                buf: Bytes::copy_from_slice(compress(entries, &mut Vec::new())),
                num_values: values,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, entries.len()))?;
            size += written.compressed_size as i64;
            plain += written.uncompressed_size as i64;
            dictionary_offset = Some(written.offset as i64);
            encodings.push(Encoding::PLAIN);
        }
        for Full { rows: count, encoding, length, stored } in &self.full {
            let page = Page::DataPage {
                buf: stored.clone(),
                num_values: *count as u32,
                encoding: *encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let written = pages.write_page(CompressedPage::new(page, *length))?;
            rows += *count as u64;
            size += written.compressed_size as i64;
            plain += written.uncompressed_size as i64;
            first = first.or(Some(written.offset as i64));
            if !encodings.contains(encoding) {
                encodings.push(*encoding);
            }
        }
        let chunk = chunk.into_inner()?;
        let mut metadata = ColumnChunkMetaData::builder(descriptor)
            .set_encodings(encodings)
            .set_compression(Compression::LZ4_RAW)
            .set_num_values(rows as i64)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(plain)
            .set_dictionary_page_offset(dictionary_offset)
            .set_data_page_offset(first.unwrap_or(0));
        if let Some((minimum, maximum)) = extremes {
            let nulls = if self.nullable { None } else { Some(0) };
            metadata =
                metadata.set_statistics(Statistics::int64(Some(minimum), Some(maximum), None, nulls, false));
        }
        let closed = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&Bytes::from(chunk), closed)
    }
}

/// Returns true if all numbers have these `bits`, which must not be those of NaN.
#[inline]
pub(crate) fn repeat(numbers: &[f64], bits: u64) -> bool {
    // If numbers differ, usually the first or the last one does.
    let [first, .., last] = numbers else { return false };
    let differ = |number: &f64| number.to_bits() ^ bits;
    differ(first) | differ(last) == 0
        && numbers.iter().fold(0, |differ_yet, number| differ_yet | differ(number)) == 0
        && !f64::from_bits(bits).is_nan()
}

/// Compresses a page into `room` and returns the compressed bytes.
fn compress<'a>(page: &[u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    let max_length = lz4_flex::block::get_maximum_output_size(page.len());
    if room.len() < max_length {
        room.resize(max_length, 0);
    }
    let length = lz4_flex::block::compress_into(page, room).expect("the buffer has the maximum output size");
    &room[..length]
}

/// Returns the definition levels of `rows` rows: a single run of ones, or one bit per row.
fn levels(rows: usize, present: &[bool]) -> Vec<u8> {
    let mut levels = Vec::new();
    if present.is_empty() {
        push_varint(&mut levels, (rows as u64) << 1);
        levels.push(1);
    } else {
        push_varint(&mut levels, (rows.div_ceil(8) as u64) << 1 | 1);
        let bits = |group: &[bool]| group.iter().rev().fold(0, |bits, one| bits << 1 | u8::from(*one));
        levels.extend(present.chunks(8).map(bits));
    }
    levels
}

pub(crate) fn push_varint(page: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        page.push(value as u8 | 0x80);
        value >>= 7;
    }
    page.push(value as u8);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use parquet::basic::Repetition;
    use parquet::data_type::DataType;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::{SchemaDescriptor, Type};
    use std::sync::Arc;

    type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

    /// Writes a column with `write` to a file of one row group, and reads it with Parquet's own
    /// reader.
    pub fn round_trip<T: DataType>(
        rows: usize,
        nullable: bool,
        write: impl FnOnce(ColumnDescPtr, &mut Group<'_>) -> Result<(), ParquetError>,
    ) -> Vec<Option<T::T>> {
        let repetition = if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field =
            Type::primitive_type_builder("n", T::get_physical_type()).with_repetition(repetition).build();
        let group =
            Type::group_type_builder("t").with_fields(vec![Arc::new(field.unwrap())]).build().unwrap();
        let group = Arc::new(group);
        let mut file = SerializedFileWriter::new(Vec::new(), Arc::clone(&group), Default::default()).unwrap();
        let mut row_group = file.next_row_group().unwrap();
        write(SchemaDescriptor::new(group).column(0), &mut row_group).unwrap();
        row_group.close().unwrap();
        let reader = SerializedFileReader::new(Bytes::from(file.into_inner().unwrap())).unwrap();
        let row_group = reader.get_row_group(0).unwrap();
        let mut column = T::get_column_reader(row_group.get_column_reader(0).unwrap()).unwrap();
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let (count, _, _) = column.read_records(rows + 1, Some(&mut levels), None, &mut values).unwrap();
        assert_eq!(count, rows);
        let mut values = values.into_iter();
        match nullable {
            false => values.map(Some).collect(),
            true => levels.iter().map(|level| (*level == 1).then(|| values.next().unwrap())).collect(),
        }
    }
}
