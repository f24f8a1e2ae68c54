//! A trace's column of real numbers: plain values, collected for a [page](crate::pages) at a time.

use crate::pages::Pages;
use parquet::basic::Encoding;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// The values of one row group.
pub(crate) struct Reals {
    pages: Pages,
    /// Values of the page that is being filled.
    values: Vec<f64>,
}

impl Reals {
    /// A column without rows.
    pub fn new() -> Reals {
        Reals { pages: Pages::new(true, Encoding::PLAIN), values: Vec::new() }
    }

    /// Adds rows with a model's values: NaN stands for "no value".
    #[inline]
    pub fn extend(&mut self, mut numbers: &[f64]) {
        while !numbers.is_empty() {
            let (these, others) = numbers.split_at(numbers.len().min(self.pages.room()));
            if these.iter().fold(false, |missing, number| missing | number.is_nan()) {
                these.iter().for_each(|number| self.push(*number));
            } else {
                self.values.extend_from_slice(these);
                self.pages.add(these.len());
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
            self.values.push(number);
            self.pages.add(1);
        }
    }

    fn end_page(&mut self) {
        self.pages.end(|page| {
            let begin = page.len();
            page.resize(begin + size_of::<f64>() * self.values.len(), 0);
            for (bytes, value) in page[begin..].chunks_exact_mut(size_of::<f64>()).zip(&self.values) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        });
        self.values.clear();
    }

    /// Ends the last page, before [`Reals::write`].
    pub fn complete(&mut self) {
        if !self.pages.is_empty() {
            self.end_page();
        }
    }

    /// Removes all rows from the column.
    pub fn clear(&mut self) {
        self.pages.clear();
    }

    /// Writes the column as the next of a row group.
    pub fn write<W: Write + Send>(
        &self,
        descriptor: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        self.pages.write(descriptor, None, group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{tests::round_trip, PAGE};
    use parquet::data_type::DoubleType;

    #[test]
    fn parquet_reads_pages_of_any_length_and_missing_values() {
        for count in [1, 2, 128, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 200] {
            for every in [1, 2, 3, 1000, usize::MAX] {
                let number = |row: usize| 1.0 / (row as f64 + 0.5);
                let rows: Vec<Option<f64>> =
                    (0..count).map(|row| (row % every != every - 1).then(|| number(row))).collect();
                let mut column = Reals::new();
                let numbers: Vec<f64> = rows.iter().map(|row| row.unwrap_or(f64::NAN)).collect();
                numbers.chunks(100).for_each(|these| column.extend(these));
                column.complete();
                let read = round_trip::<DoubleType>(rows.len(), true, |descriptor, group| {
                    column.write(descriptor, group)
                });
                assert_eq!(read, rows, "{count} rows, every {every}");
            }
        }
    }
}
