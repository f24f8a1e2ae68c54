//! A trace's column of whole numbers, encoded here as it comes: Parquet's own writer keeps the values of a row group, counts their
//! levels and packs their bits one value at a time.
//!
//! Values go through one block of 128 straight into a data page of [`PAGE`] rows: definition levels, if the column may have
//! nulls, and the values as DELTA_BINARY_PACKED (Parquet's format, "Encodings"): in each block the least difference between
//! neighbours, and in each of its four miniblocks what the differences exceed it by, in as many bits as the largest needs.

use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Rows in a data page.
const PAGE: usize = 16 * 1024;
/// Values in a block, and in a miniblock.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// The values of one row group.
pub(crate) struct Deltas {
    /// Whether values may be missing.
    nullable: bool,
    /// The block that is being filled.
    block: [i64; BLOCK],
    filled: usize,
    /// The value before the block, and the first of the page.
    before: i64,
    first: i64,
    /// Full blocks of the page.
    packed: Vec<u8>,
    /// Values and rows of the page without those of the block.
    values: usize,
    rows: usize,
    /// Which rows of the page have a value; empty as long as all have.
    present: Vec<bool>,
    /// Full pages: their number of rows, their length and what is stored.
    pages: Vec<(usize, usize, Vec<u8>)>,
    extremes: Option<(i64, i64)>,
}

impl Deltas {
    /// A column without values; `nullable` if some may be missing.
    pub fn new(nullable: bool) -> Deltas {
        Deltas {
            nullable,
            block: [0; BLOCK],
            filled: 0,
            before: 0,
            first: 0,
            packed: Vec::new(),
            values: 0,
            rows: 0,
            present: Vec::new(),
            pages: Vec::new(),
            extremes: None,
        }
    }

    /// Adds a row with a value.
    #[inline]
    pub fn push(&mut self, value: i64) {
        if self.values + self.filled == 0 {
            self.first = value;
            self.before = value;
            // The first value stands in the page's header, and no difference leads to it.
            self.values = 1;
        } else {
            self.block[self.filled] = value;
            self.filled += 1;
            if self.filled == BLOCK {
                self.pack();
            }
        }
        if !self.present.is_empty() {
            self.present.push(true);
        }
        self.end_row();
    }

    /// Adds a row without a value.
    #[cold]
    pub fn push_null(&mut self) {
        debug_assert!(self.nullable, "a required column has all its values");
        if self.present.is_empty() {
            self.present.resize(self.rows, true);
        }
        self.present.push(false);
        self.end_row();
    }

    /// Adds a model's value: NaN stands for "no value".
    #[inline]
    pub fn push_number(&mut self, number: f64) {
        if number.is_nan() {
            self.push_null();
        } else {
            self.push(number as i64);
        }
    }

    #[inline]
    fn end_row(&mut self) {
        self.rows += 1;
        if self.rows == PAGE {
            self.end_page();
        }
    }

    /// Packs the values of the block, of which those that are missing repeat the last one.
    fn pack(&mut self) {
        let count = std::mem::take(&mut self.filled);
        self.values += count;
        let last = self.block[count - 1];
        self.block[count..].fill(last);
        let mut deltas = [0i64; BLOCK];
        let mut before = self.before;
        for (delta, value) in deltas.iter_mut().zip(&self.block) {
            *delta = value.wrapping_sub(before);
            before = *value;
        }
        self.before = last;
        let least = deltas[..count].iter().copied().min().expect("the block has values");
        // What pads the block need not be smaller than what is packed.
        deltas[count..].fill(least);
        push_varint(&mut self.packed, zigzag(least));
        let mut excess = [0u64; BLOCK];
        for (excess, delta) in excess.iter_mut().zip(&deltas) {
            *excess = delta.wrapping_sub(least) as u64;
        }
        let widths = self.packed.len();
        self.packed.resize(widths + BLOCK / MINIBLOCK, 0);
        for (index, miniblock) in excess.chunks_exact(MINIBLOCK).take(count.div_ceil(MINIBLOCK)).enumerate() {
            let width = u64::BITS - miniblock.iter().fold(0, |bits, value| bits | value).leading_zeros();
            self.packed[widths + index] = width as u8;
            pack_bits(miniblock.try_into().expect("it is a miniblock"), width, &mut self.packed);
        }
    }

    fn end_page(&mut self) {
        if self.filled > 0 {
            self.pack();
        }
        let mut page = Vec::with_capacity(self.packed.len() + self.rows / 8 + 32);
        if self.nullable {
            let levels = levels(self.rows, &self.present);
            page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
            page.extend_from_slice(&levels);
        }
        for number in [BLOCK, BLOCK / MINIBLOCK, self.values] {
            push_varint(&mut page, number as u64);
        }
        push_varint(&mut page, zigzag(self.first));
        page.extend_from_slice(&self.packed);
        let mut stored = vec![0; lz4_flex::block::get_maximum_output_size(page.len())];
        let length = lz4_flex::block::compress_into(&page, &mut stored).expect("there is room for the worst");
        stored.truncate(length);
        self.pages.push((self.rows, page.len(), stored));
        self.packed.clear();
        self.present.clear();
        (self.values, self.rows, self.first, self.before) = (0, 0, 0, 0);
    }

    /// Takes down the extremes of a batch, for a column whose row groups are skipped by them.
    pub fn note_extremes(&mut self, least: i64, most: i64) {
        let (low, high) = self.extremes.unwrap_or((least, most));
        self.extremes = Some((low.min(least), high.max(most)));
    }

    /// Ends the last page, before [`Deltas::write`].
    pub fn complete(&mut self) {
        if self.rows > 0 {
            self.end_page();
        }
    }

    /// Removes all rows from the block, which keeps its memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.extremes = None;
    }

    /// Writes the column as the next of a row group.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let (mut rows, mut size, mut plain, mut first) = (0, 0, 0, None);
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        for (count, length, stored) in &self.pages {
            let page = Page::DataPage {
                buf: stored.clone().into(),
                num_values: *count as u32,
                encoding: Encoding::DELTA_BINARY_PACKED,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let written = pages.write_page(CompressedPage::new(page, *length))?;
            rows += *count as u64;
            size += written.compressed_size as i64;
            plain += written.uncompressed_size as i64;
            first = first.or(Some(written.offset as i64));
        }
        let chunk = chunk.into_inner()?;
        let mut metadata = ColumnChunkMetaData::builder(descriptor)
            .set_encodings(vec![Encoding::RLE, Encoding::DELTA_BINARY_PACKED])
            .set_compression(Compression::LZ4_RAW)
            .set_num_values(rows as i64)
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(plain)
            .set_data_page_offset(first.unwrap_or(0));
        if let Some((least, most)) = self.extremes {
            let nulls = if self.nullable { None } else { Some(0) };
            metadata =
                metadata.set_statistics(Statistics::int64(Some(least), Some(most), None, nulls, false));
        }
        let closed = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: rows,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes::Bytes::from(chunk), closed)
    }
}

/// Definition levels of `rows` rows: one run of ones, or one bit for each.
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

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) fn push_varint(page: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        page.push(value as u8 | 0x80);
        value >>= 7;
    }
    page.push(value as u8);
}

/// Packs the low `width` bits of each value, least significant bit first.
fn pack_bits(values: &[u64; MINIBLOCK], width: u32, out: &mut Vec<u8>) {
    macro_rules! widths {
        ($($width:literal)+) => {
            match width {
                0 => {}
                $($width => pack_width::<$width>(values, out),)+
                _ => unreachable!("a value has 64 bits"),
            }
        };
    }
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

/// The same for one width, so that the compiler knows every shift.
fn pack_width<const WIDTH: usize>(values: &[u64; MINIBLOCK], out: &mut Vec<u8>) {
    let mut words = [0u64; MINIBLOCK];
    for (index, value) in values.iter().enumerate() {
        let (word, shift) = (index * WIDTH / 64, index * WIDTH % 64);
        words[word] |= value << shift;
        if shift + WIDTH > 64 {
            words[word + 1] |= value >> (64 - shift);
        }
    }
    let mut bytes = [0u8; 8 * MINIBLOCK];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&bytes[..WIDTH * MINIBLOCK / 8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::basic::{Repetition, Type as Physical};
    use parquet::data_type::Int64Type;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::{SchemaDescriptor, Type};
    use std::sync::Arc;

    /// Writes a column as a file of one row group and reads it with Parquet's own reader.
    fn round_trip(rows: &[Option<i64>], nullable: bool) -> Vec<Option<i64>> {
        let mut column = Deltas::new(nullable);
        for row in rows {
            match row {
                Some(value) => column.push(*value),
                None => column.push_null(),
            }
        }
        column.complete();
        let repetition = if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder("n", Physical::INT64).with_repetition(repetition).build();
        let group =
            Type::group_type_builder("t").with_fields(vec![Arc::new(field.unwrap())]).build().unwrap();
        let group = Arc::new(group);
        let mut file = SerializedFileWriter::new(Vec::new(), Arc::clone(&group), Default::default()).unwrap();
        let mut row_group = file.next_row_group().unwrap();
        column.write(SchemaDescriptor::new(group).column(0), &mut row_group).unwrap();
        row_group.close().unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(file.into_inner().unwrap())).unwrap();
        let row_group = reader.get_row_group(0).unwrap();
        let mut column = row_group.get_column_reader(0).unwrap();
        let parquet::column::reader::ColumnReader::Int64ColumnReader(reader) = &mut column else { panic!() };
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let reader: &mut parquet::column::reader::ColumnReaderImpl<Int64Type> = reader;
        let (count, _, _) =
            reader.read_records(rows.len() + 1, Some(&mut levels), None, &mut values).unwrap();
        assert_eq!(count, rows.len());
        let mut values = values.into_iter();
        match nullable {
            false => values.map(Some).collect(),
            true => levels.iter().map(|level| (*level == 1).then(|| values.next().unwrap())).collect(),
        }
    }

    /// Numbers whose differences have `bits` bits.
    fn numbers(count: usize, bits: u32) -> Vec<Option<i64>> {
        let mut state = 88_172_645_463_325_252u64;
        let mut value = -5i64;
        (0..count)
            .map(|_| {
                // Xorshift (Marsaglia 2003).
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                value = value.wrapping_add((state.checked_shr(64 - bits).unwrap_or(0)) as i64);
                Some(value)
            })
            .collect()
    }

    #[test]
    fn parquet_reads_what_is_written_for_every_width() {
        for bits in 0..=64 {
            let rows = numbers(300, bits);
            assert_eq!(round_trip(&rows, false), rows, "{bits} bits");
        }
    }

    #[test]
    fn parquet_reads_pages_of_any_length() {
        for count in [1, 2, 128, 129, 130, 161, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 200] {
            let rows = numbers(count, 9);
            assert_eq!(round_trip(&rows, false), rows, "{count} rows");
            assert_eq!(round_trip(&rows, true), rows, "{count} rows");
        }
    }

    #[test]
    fn missing_values_stay_missing() {
        for every in [1, 2, 3, 1000] {
            let mut rows = numbers(PAGE + 700, 11);
            rows.iter_mut().skip(1).step_by(every).for_each(|row| *row = None);
            assert_eq!(round_trip(&rows, true), rows, "every {every}");
        }
        assert_eq!(round_trip(&[None, None], true), [None, None]);
    }

    #[test]
    fn differences_wrap_around() {
        let rows = [i64::MAX, i64::MIN, 0, i64::MIN, i64::MAX, -1].map(Some);
        assert_eq!(round_trip(&rows, false), rows);
    }
}
