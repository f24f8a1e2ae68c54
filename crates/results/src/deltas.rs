//! A trace's column of whole numbers, packed when rows are added. Parquet's own writer packs the
//! bits of one value at a time.
//!
//! Values pass through a block of 128 into a [page](crate::pages) as DELTA_BINARY_PACKED (Parquet's
//! format, "Encodings"). Each block stores the minimum difference between adjacent values. Each of
//! its four miniblocks stores the differences minus this minimum, with the number of bits of the
//! largest one.

use crate::pages::{push_varint, repeat, Pages};
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Number of values in a block.
pub(crate) const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// The values of one row group.
pub(crate) struct Deltas {
    pages: Pages,
    /// The block that is being filled.
    block: [i64; BLOCK],
    /// Number of values in the block.
    filled: usize,
    /// The bits of the last number that the model added, and its integer; NaN before the first.
    last: (u64, i64),
    /// The value before the block.
    before: i64,
    /// The first value of the page.
    first: i64,
    /// The full blocks of the page, packed.
    packed: Vec<u8>,
    /// Number of values in the page's full blocks.
    values: usize,
    /// The minimum and maximum value, if readers skip row groups by them.
    extremes: Option<(i64, i64)>,
}

impl Deltas {
    /// Creates a column without values. `nullable` is true if values may be missing.
    pub fn new(nullable: bool) -> Deltas {
        Deltas {
            pages: Pages::new(nullable),
            block: [0; BLOCK],
            filled: 0,
            last: (f64::NAN.to_bits(), 0),
            before: 0,
            first: 0,
            packed: Vec::new(),
            values: 0,
            extremes: None,
        }
    }

    /// Adds rows with these values.
    #[inline]
    pub fn extend(&mut self, mut values: &[i64]) {
        while let Some((&first, others)) = values.split_first() {
            if self.is_new_page() {
                self.push(first);
                values = others;
                continue;
            }
            let (these, others) = values.split_at(values.len().min(self.room()));
            self.block[self.filled..][..these.len()].copy_from_slice(these);
            self.add(these.len());
            values = others;
        }
    }

    /// Adds rows with a model's values; NaN stands for a missing value.
    #[inline]
    pub fn extend_numbers(&mut self, mut numbers: &[f64]) {
        while let Some((first, others)) = numbers.split_first() {
            if self.is_new_page() {
                self.push_number(*first);
                numbers = others;
                continue;
            }
            let (these, others) = numbers.split_at(numbers.len().min(self.room()));
            let block = &mut self.block[self.filled..][..these.len()];
            if repeat(these, self.last.0) {
                block.fill(self.last.1);
                self.add(these.len());
            } else if convert(these, block) {
                self.last = (these[these.len() - 1].to_bits(), block[these.len() - 1]);
                self.add(these.len());
            } else {
                these.iter().for_each(|number| self.push_number(*number));
            }
            numbers = others;
        }
    }

    /// Returns true if the next value is the first of a page. It is stored in the header and has no
    /// difference.
    #[inline]
    fn is_new_page(&self) -> bool {
        self.values + self.filled == 0
    }

    /// Returns the number of values that fit into the block and the page.
    #[inline]
    fn room(&self) -> usize {
        self.pages.room().min(BLOCK - self.filled)
    }

    /// Counts `rows` rows whose values are in the block.
    #[inline]
    fn add(&mut self, rows: usize) {
        self.filled += rows;
        if self.filled == BLOCK {
            self.pack();
        }
        self.pages.add(rows);
        if self.pages.is_full() {
            self.end_page();
        }
    }

    fn push(&mut self, value: i64) {
        if !self.is_new_page() {
            self.block[self.filled] = value;
            return self.add(1);
        }
        (self.first, self.before, self.values) = (value, value, 1);
        self.pages.add(1);
        if self.pages.is_full() {
            self.end_page();
        }
    }

    fn push_number(&mut self, number: f64) {
        if number.is_nan() {
            self.push_null();
        } else {
            self.push(number as i64);
        }
    }

    /// Adds a row without a value.
    #[cold]
    pub fn push_null(&mut self) {
        self.pages.add_null();
        if self.pages.is_full() {
            self.end_page();
        }
    }

    /// Packs the values of the block. Missing values repeat the previous value.
    fn pack(&mut self) {
        let count = std::mem::take(&mut self.filled);
        self.values += count;
        let mut deltas = [0i64; BLOCK];
        let mut before = self.before;
        for (delta, value) in deltas.iter_mut().zip(&self.block) {
            *delta = value.wrapping_sub(before);
            before = *value;
        }
        self.before = self.block[count - 1];
        let first = deltas[0];
        // The padding of the block should not be smaller than the packed values.
        deltas[count..].fill(first);
        if deltas.iter().fold(0, |differ, delta| differ | (delta ^ first)) == 0 {
            // Most counters are constant or grow evenly for long times.
            push_varint(&mut self.packed, zigzag(first));
            self.packed.extend_from_slice(&[0; BLOCK / MINIBLOCK]);
            return;
        }
        // Four values at a time, so that no comparison waits for the previous one.
        let mut lanes = [first; 4];
        for deltas in deltas.chunks_exact(4) {
            lanes.iter_mut().zip(deltas).for_each(|(minimum, delta)| *minimum = (*minimum).min(*delta));
        }
        let minimum = lanes.into_iter().fold(first, i64::min);
        push_varint(&mut self.packed, zigzag(minimum));
        let excess = deltas.map(|delta| delta.wrapping_sub(minimum) as u64);
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
        self.pages.end(Encoding::DELTA_BINARY_PACKED, |page| {
            for number in [BLOCK, BLOCK / MINIBLOCK, self.values] {
                push_varint(page, number as u64);
            }
            push_varint(page, zigzag(self.first));
            page.extend_from_slice(&self.packed);
        });
        self.packed.clear();
        (self.values, self.first, self.before) = (0, 0, 0);
    }

    /// Records the minimum and maximum of a batch, for a column by which readers skip row groups.
    pub fn note_extremes(&mut self, minimum: i64, maximum: i64) {
        let (low, high) = self.extremes.unwrap_or((minimum, maximum));
        self.extremes = Some((low.min(minimum), high.max(maximum)));
    }

    /// Ends the last page. Call it before [`Deltas::write`].
    pub fn complete(&mut self) {
        if !self.pages.is_empty() {
            self.end_page();
        }
    }

    /// Removes all rows; the column keeps its memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.extremes = None;
    }

    /// Writes the column as the next column of a row group.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        self.pages.write(descriptor, None, self.extremes, group)
    }
}

/// Converts numbers to integers. Returns true if all of them are whole and their absolute values
/// are below 2^51.
///
/// The sum of such a number and 1.5 x 2^52 has the number in the low bits of its significand.
/// Unlike single conversions, processors can compute several of these sums at a time.
#[inline]
fn convert(numbers: &[f64], whole: &mut [i64]) -> bool {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LIMIT: f64 = 2_251_799_813_685_248.0;
    let mut exact = true;
    for (whole, number) in whole.iter_mut().zip(numbers) {
        let shifted = number + SHIFT;
        *whole = shifted.to_bits() as i64 - SHIFT.to_bits() as i64;
        exact &= (shifted - SHIFT == *number) & (number.abs() < LIMIT);
    }
    exact
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Packs the low `width` bits of each value, least significant bit first.
fn pack_bits(values: &[u64; MINIBLOCK], width: u32, out: &mut Vec<u8>) {
    let mut bytes = [0u8; 8 * MINIBLOCK + 8];
    let (mut at, mut waiting, mut used) = (0, 0u64, 0);
    // Complete bytes are written at once, together with the following bits; fewer than eight bits
    // wait.
    let mut append = |bits: u64, width: u32| {
        waiting |= bits << used;
        used += width;
        bytes[at..at + 8].copy_from_slice(&waiting.to_le_bytes());
        at += used as usize / 8;
        waiting >>= used / 8 * 8;
        used %= 8;
    };
    let pair = |values: &[u64]| values[0] | values[1] << width;
    match width {
        0..=14 => values
            .chunks_exact(4)
            .for_each(|four| append(pair(&four[..2]) | pair(&four[2..]) << (2 * width), 4 * width)),
        15..=28 => values.chunks_exact(2).for_each(|two| append(pair(two), 2 * width)),
        29..=56 => values.iter().for_each(|value| append(*value, width)),
        _ => values.iter().for_each(|value| {
            append(value & u64::from(u32::MAX), u32::BITS);
            append(value >> u32::BITS, width - u32::BITS);
        }),
    }
    out.extend_from_slice(&bytes[..width as usize * MINIBLOCK / 8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{tests as pages, PAGE};
    use parquet::data_type::Int64Type;

    fn round_trip(rows: &[Option<i64>], nullable: bool) -> Vec<Option<i64>> {
        let mut column = Deltas::new(nullable);
        for row in rows {
            match row {
                Some(value) => column.extend(&[*value]),
                None => column.push_null(),
            }
        }
        column.complete();
        pages::round_trip::<Int64Type>(rows.len(), nullable, |descriptor, group| {
            column.write(descriptor, group)
        })
    }

    /// Returns numbers whose differences have `bits` bits.
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
    fn parquet_reads_every_bit_width() {
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
    fn conversion_equals_the_conversion_of_single_numbers() {
        let edge = (1i64 << 51) as f64;
        let special = [
            0.0,
            -0.0,
            0.5,
            -1.5,
            3.0,
            f64::NAN,
            edge,
            edge - 1.0,
            -edge,
            1.0 - edge,
            1e18,
            -1e300,
            f64::INFINITY,
        ];
        for count in 1..=special.len() {
            let mut whole = vec![0; count];
            let numbers = &special[special.len() - count..];
            if convert(numbers, &mut whole) {
                assert_eq!(whole, numbers.iter().map(|number| *number as i64).collect::<Vec<_>>());
            }
        }
        let small: Vec<f64> = (-64..64).map(|number| f64::from(number) * 35_184_372_088_831.0).collect();
        let mut whole = [0; BLOCK];
        assert!(convert(&small, &mut whole));
        assert!(whole.iter().zip(&small).all(|(whole, number)| *whole == *number as i64));
        for number in special {
            let exact = number.fract() == 0.0 && number.abs() < edge;
            assert_eq!(convert(&[number], &mut [0]), exact, "{number}");
        }
    }

    #[test]
    fn repeated_and_evenly_growing_numbers_are_read_back() {
        for (run, step) in [(1, 0.0), (1, 1448.0), (50, 1.0), (128, 2.0), (700, -3.0), (700, 0.5)] {
            for every in [2, 129, usize::MAX] {
                let number = |row: usize| -1000.0 + (row / run) as f64 * step;
                let rows: Vec<Option<f64>> =
                    (0..PAGE + 700).map(|row| (row % every != every - 1).then(|| number(row))).collect();
                let mut column = Deltas::new(true);
                let numbers: Vec<f64> = rows.iter().map(|row| row.unwrap_or(f64::NAN)).collect();
                numbers.chunks(BLOCK).for_each(|numbers| column.extend_numbers(numbers));
                column.complete();
                let read = pages::round_trip::<Int64Type>(rows.len(), true, |descriptor, group| {
                    column.write(descriptor, group)
                });
                let whole: Vec<_> = rows.iter().map(|row| row.map(|number| number as i64)).collect();
                assert_eq!(read, whole, "runs of {run}, by {step}, every {every}");
            }
        }
    }

    #[test]
    fn differences_wrap_around() {
        let rows = [i64::MAX, i64::MIN, 0, i64::MIN, i64::MAX, -1].map(Some);
        assert_eq!(round_trip(&rows, false), rows);
    }
}
