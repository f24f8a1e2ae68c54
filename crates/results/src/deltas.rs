//! A trace's column of whole numbers, packed as they come: Parquet's own writer packs their bits one value at a time.
//!
//! Values go through one block of 128 straight into a [page](crate::pages) as DELTA_BINARY_PACKED (Parquet's format, "Encodings"): in
//! each block the least difference between neighbours, and in each of its four miniblocks what the differences exceed it by, in as many
//! bits as the largest needs.

use crate::pages::{push_varint, Pages};
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Values in a block, and in a miniblock.
pub(crate) const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;

/// The values of one row group.
pub(crate) struct Deltas {
    pages: Pages,
    /// The block that is being filled.
    block: [i64; BLOCK],
    filled: usize,
    /// The value before the block, and the first of the page.
    before: i64,
    first: i64,
    /// Full blocks of the page.
    packed: Vec<u8>,
    /// Values of the page without those of the block.
    values: usize,
    extremes: Option<(i64, i64)>,
}

impl Deltas {
    /// A column without values; `nullable` if some may be missing.
    pub fn new(nullable: bool) -> Deltas {
        Deltas {
            pages: Pages::new(nullable, Encoding::DELTA_BINARY_PACKED),
            block: [0; BLOCK],
            filled: 0,
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
            let mut count = 1;
            if self.values + self.filled == 0 {
                // It stands in the page's header, and no difference leads to it.
                (self.first, self.before, self.values) = (first, first, 1);
                values = others;
            } else {
                count = values.len().min(BLOCK - self.filled).min(self.pages.room());
                let (these, others) = values.split_at(count);
                self.block[self.filled..self.filled + count].copy_from_slice(these);
                self.filled += count;
                if self.filled == BLOCK {
                    self.pack();
                }
                values = others;
            }
            self.pages.add(count);
            if self.pages.is_full() {
                self.end_page();
            }
        }
    }

    /// Adds rows with a model's values, at most [`BLOCK`] of them: NaN stands for "no value".
    #[inline]
    pub fn extend_numbers(&mut self, numbers: &[f64]) {
        let mut whole = [0; BLOCK];
        let whole = &mut whole[..numbers.len()];
        if convert(numbers, whole) {
            return self.extend(whole);
        }
        for number in numbers {
            if number.is_nan() {
                self.push_null();
            } else {
                self.extend(&[*number as i64]);
            }
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
        let least = deltas[..count].iter().fold(i64::MAX, |least, delta| least.min(*delta));
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
        self.pages.end(|page| {
            for number in [BLOCK, BLOCK / MINIBLOCK, self.values] {
                push_varint(page, number as u64);
            }
            push_varint(page, zigzag(self.first));
            page.extend_from_slice(&self.packed);
        });
        self.packed.clear();
        (self.values, self.first, self.before) = (0, 0, 0);
    }

    /// Takes down the extremes of a batch, for a column whose row groups are skipped by them.
    pub fn note_extremes(&mut self, least: i64, most: i64) {
        let (low, high) = self.extremes.unwrap_or((least, most));
        self.extremes = Some((low.min(least), high.max(most)));
    }

    /// Ends the last page, before [`Deltas::write`].
    pub fn complete(&mut self) {
        if !self.pages.is_empty() {
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
        self.pages.write(descriptor, self.extremes, group)
    }
}

/// Converts numbers to integers if all are whole and below 2^51 in size. Returns whether they are.
///
/// The sum of such a number and 1.5 x 2^52 has it as the low bits of its significand; unlike the conversion of single numbers, this is
/// done for several at a time by any processor.
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
    fn numbers_become_integers_as_one_by_one() {
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
    fn differences_wrap_around() {
        let rows = [i64::MAX, i64::MIN, 0, i64::MIN, i64::MAX, -1].map(Some);
        assert_eq!(round_trip(&rows, false), rows);
    }
}
