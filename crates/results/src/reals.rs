//! A trace's column of real numbers, most of which repeat the previous number. A page is collected
//! as runs of equal numbers. It is stored as indices in a dictionary with one number per run, or in
//! plain encoding if its runs are short.

use crate::pages::{push_varint, repeat, Dictionary, Pages, PAGE};
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// Minimum mean length of the runs that are stored with a dictionary. A plain value takes eight
/// bytes; a run takes eight bytes in the dictionary and about three in the page.
const RUN: usize = 4;

/// Number of slots of the table of numbers whose index in the dictionary is known.
const SLOTS: usize = 1024;

/// The values of one row group.
pub(crate) struct Reals {
    pages: Pages,
    /// Number of each run of the page that is being filled.
    numbers: Vec<f64>,
    /// Number of values up to the end of each run.
    ends: Vec<u32>,
    /// Number of runs of the page.
    runs: usize,
    /// Number of values of the page.
    values: u32,
    /// Numbers of the runs of full pages.
    dictionary: Vec<f64>,
    /// Index in the dictionary of the last number with each [`slot`].
    indices: [u32; SLOTS],
}

impl Reals {
    /// Creates a column without rows.
    pub fn new() -> Reals {
        Reals {
            pages: Pages::new(true),
            numbers: vec![0.0; PAGE],
            ends: vec![0; PAGE],
            runs: 0,
            values: 0,
            dictionary: Vec::new(),
            indices: [0; SLOTS],
        }
    }

    /// Adds rows with a model's values; NaN stands for a missing value.
    #[inline]
    pub fn extend(&mut self, mut numbers: &[f64]) {
        while !numbers.is_empty() {
            let (these, others) = numbers.split_at(numbers.len().min(self.pages.room()));
            if these.iter().fold(false, |missing, number| missing | number.is_nan()) {
                these.iter().for_each(|number| self.push(*number));
            } else {
                self.add(these);
            }
            if self.pages.is_full() {
                self.end_page();
            }
            numbers = others;
        }
    }

    fn push(&mut self, number: f64) {
        if number.is_nan() {
            self.pages.add_null();
        } else {
            self.add(&[number]);
        }
    }

    /// Adds values that fit into the page.
    #[inline]
    fn add(&mut self, values: &[f64]) {
        self.pages.add(values.len());
        if self.runs > 0 && repeat(values, self.numbers[self.runs - 1].to_bits()) {
            self.values += values.len() as u32;
            self.ends[self.runs - 1] = self.values;
            return;
        }
        let mut runs = self.runs;
        let mut last = match runs {
            0 => !values[0].to_bits(),
            _ => self.numbers[runs - 1].to_bits(),
        };
        for value in values {
            // Written without a branch, since the ends of runs cannot be predicted.
            runs += usize::from(value.to_bits() != last);
            last = value.to_bits();
            self.values += 1;
            self.numbers[runs - 1] = *value;
            self.ends[runs - 1] = self.values;
        }
        self.runs = runs;
    }

    fn end_page(&mut self) {
        let numbers = &self.numbers[..self.runs];
        let ends = &self.ends[..self.runs];
        if self.runs * RUN >= self.values as usize {
            self.pages.end(Encoding::PLAIN, |page| {
                let mut begin = 0;
                for (number, end) in numbers.iter().zip(ends) {
                    (begin..*end).for_each(|_| page.extend_from_slice(&number.to_le_bytes()));
                    begin = *end;
                }
            });
        } else {
            let (dictionary, indices) = (&mut self.dictionary, &mut self.indices);
            let max_index = dictionary.len() + numbers.len() - 1;
            let bytes = (usize::BITS - max_index.leading_zeros()).div_ceil(8).max(1);
            self.pages.end(Encoding::RLE_DICTIONARY, |page| {
                page.push(8 * bytes as u8);
                let mut begin = 0;
                for (number, end) in numbers.iter().zip(ends) {
                    let index = &mut indices[slot(*number)];
                    if dictionary.get(*index as usize).map(|known| known.to_bits()) != Some(number.to_bits())
                    {
                        *index = dictionary.len() as u32;
                        dictionary.push(*number);
                    }
                    push_varint(page, u64::from(end - begin) << 1);
                    page.extend_from_slice(&index.to_le_bytes()[..bytes as usize]);
                    begin = *end;
                }
            });
        }
        (self.runs, self.values) = (0, 0);
    }

    /// Ends the last page. Call it before [`Reals::write`].
    pub fn complete(&mut self) {
        if !self.pages.is_empty() {
            self.end_page();
        }
    }

    /// Removes all rows from the column.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.dictionary.clear();
    }

    /// Writes the column as the next column of a row group.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let values = self.dictionary.len() as u32;
        let plain: Vec<u8> = self.dictionary.iter().flat_map(|number| number.to_le_bytes()).collect();
        let dictionary = (values > 0).then_some(Dictionary { values, plain: &plain });
        self.pages.write(descriptor, dictionary, None, group)
    }
}

/// Returns the slot of a number in the table of indices. If another number takes the slot, the
/// first number may be in the dictionary twice.
fn slot(number: f64) -> usize {
    // Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4): the high bits of the
    // product.
    (number.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{tests as pages, PAGE};
    use parquet::data_type::DoubleType;

    /// Writes and reads these rows, and returns the bits of the values read.
    fn round_trip(rows: &[Option<f64>]) -> Vec<Option<u64>> {
        let mut column = Reals::new();
        let numbers: Vec<f64> = rows.iter().map(|row| row.unwrap_or(f64::NAN)).collect();
        numbers.chunks(100).for_each(|these| column.extend(these));
        column.complete();
        let read = pages::round_trip::<DoubleType>(rows.len(), true, |descriptor, group| {
            column.write(descriptor, group)
        });
        bits(&read)
    }

    fn bits(rows: &[Option<f64>]) -> Vec<Option<u64>> {
        rows.iter().map(|row| row.map(f64::to_bits)).collect()
    }

    #[test]
    fn parquet_reads_pages_of_any_length_and_missing_values() {
        for count in [1, 2, 128, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 200] {
            for every in [1, 2, 3, 1000, usize::MAX] {
                // Short runs make plain pages, long ones dictionary pages; the longest makes a page
                // of each kind.
                for run in [1, 5, 3000, PAGE + 100] {
                    let number = |row: usize| 1.0 / ((row / run * (row % PAGE % run + 1)) as f64 + 0.5);
                    let rows: Vec<Option<f64>> =
                        (0..count).map(|row| (row % every != every - 1).then(|| number(row))).collect();
                    assert_eq!(round_trip(&rows), bits(&rows), "{count} rows, every {every}, runs of {run}");
                }
            }
        }
    }

    #[test]
    fn zeros_keep_their_sign_and_recurring_numbers_their_index() {
        let rows: Vec<Option<f64>> =
            (0..PAGE + 500).map(|row| Some([0.0, -0.0, 1.5, f64::INFINITY][row / 50 % 4])).collect();
        assert_eq!(round_trip(&rows), bits(&rows));
        let mut column = Reals::new();
        rows.iter().for_each(|row| column.extend(&[row.unwrap()]));
        column.complete();
        assert_eq!(
            bits(&column.dictionary.iter().copied().map(Some).collect::<Vec<_>>()),
            bits(&rows)[..200].iter().step_by(50).copied().collect::<Vec<_>>()
        );
    }

    #[test]
    fn numbers_with_the_same_slot_are_stored_repeatedly() {
        let mut slots = std::collections::BTreeMap::new();
        let (one, other) = (0..)
            .map(|number| number as f64 / 7.0)
            .find_map(|number| Some((slots.insert(slot(number), number)?, number)))
            .unwrap();
        let rows: Vec<Option<f64>> = (0..2000).map(|row| Some([one, other][row / 50 % 2])).collect();
        assert_eq!(round_trip(&rows), bits(&rows));
    }
}
