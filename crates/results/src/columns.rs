//! Columns to be written to a Parquet file: their properties, and their values for the next row
//! group.

use crate::deltas::Deltas;
use crate::names::Names;
use crate::reals::Reals;
use bentpipe_core::Column;
use parquet::data_type::ByteArray;

/// Metadata of a file and its columns.
pub(crate) struct Schema {
    pub table: String,
    pub about: String,
    pub fields: Vec<Field>,
}

/// One column of a table.
pub(crate) struct Field {
    pub name: String,
    pub unit: String,
    pub about: String,
    pub kind: Kind,
}

/// The storage format of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nanoseconds since the start of the run, never null. Each value is close to the previous
    /// row's value.
    Time,
    /// The name of the row's entity, never null, with few distinct values.
    Entity,
    /// A text column in which values can be missing.
    Text,
    /// A 64-bit integer or null.
    Whole,
    /// A 64-bit float or null.
    Real,
}

impl Field {
    pub fn time() -> Field {
        let about = "when, since the start of the run".to_owned();
        Field { name: "time".to_owned(), unit: "ns".to_owned(), about, kind: Kind::Time }
    }

    pub fn entity(entity: &str) -> Field {
        let about = format!("name of the {entity}");
        Field { name: entity.to_owned(), unit: "1".to_owned(), about, kind: Kind::Entity }
    }

    pub fn of(column: &Column) -> Field {
        Field {
            name: column.name.to_owned(),
            unit: column.unit.to_owned(),
            about: column.about.to_owned(),
            kind: if column.whole { Kind::Whole } else { Kind::Real },
        }
    }

    /// Creates an empty buffer for the values of this column of a trace, which are added row by
    /// row.
    pub fn trace_values(&self) -> Values {
        match self.kind {
            Kind::Time => Values::Deltas(Box::new(Deltas::new(false))),
            Kind::Whole => Values::Deltas(Box::new(Deltas::new(true))),
            Kind::Entity => Values::Names(Names::default()),
            Kind::Real => Values::Reals(Box::new(Reals::new())),
            Kind::Text => self.values(),
        }
    }

    /// Creates an empty buffer for the values of this column.
    pub fn values(&self) -> Values {
        match self.kind {
            Kind::Time | Kind::Whole => Values::Whole(Nullable::default()),
            Kind::Entity | Kind::Text => Values::Text(Nullable::default()),
            Kind::Real => Values::Real(Nullable::default()),
        }
    }
}

/// The values of one column.
pub(crate) enum Values {
    Whole(Nullable<i64>),
    /// Whole numbers of a trace.
    Deltas(Box<Deltas>),
    Text(Nullable<ByteArray>),
    /// For a column of kind [`Kind::Entity`], by numbers.
    Names(Names),
    Real(Nullable<f64>),
    /// Real numbers of a trace.
    Reals(Box<Reals>),
}

impl Values {
    pub fn clear(&mut self) {
        match self {
            Values::Whole(values) => values.clear(),
            Values::Deltas(deltas) => deltas.clear(),
            Values::Text(values) => values.clear(),
            Values::Names(names) => names.clear(),
            Values::Real(values) => values.clear(),
            Values::Reals(reals) => reals.clear(),
        }
    }

    /// Completes the encoding before the column is written.
    pub fn complete(&mut self) {
        match self {
            Values::Deltas(deltas) => deltas.complete(),
            Values::Reals(reals) => reals.complete(),
            Values::Whole(_) | Values::Text(_) | Values::Names(_) | Values::Real(_) => {}
        }
    }

    /// Adds a model's value; NaN stands for "no value".
    pub fn push_number(&mut self, value: f64) {
        self.extend_numbers(std::iter::once(value));
    }

    /// Appends a model's values to a column of a report.
    pub fn extend_numbers(&mut self, numbers: impl Iterator<Item = f64> + Clone) {
        match self {
            Values::Whole(values) => values.extend(numbers, |number| number as i64),
            Values::Real(values) => values.extend(numbers, |number| number),
            _ => unreachable!("numbers for a column of text or of a trace"),
        }
    }

    /// Appends a model's values to a column of a trace, at most [`BLOCK`](crate::deltas::BLOCK)
    /// values.
    pub fn extend_trace(&mut self, numbers: &[f64]) {
        match self {
            Values::Deltas(deltas) => deltas.extend_numbers(numbers),
            Values::Reals(reals) => reals.extend(numbers),
            _ => unreachable!("numbers for a column of text or of a report"),
        }
    }
}

/// Values, some of which may be missing, in Parquet's form: the existing values, and a definition
/// level per row. Levels are stored only from the first missing value on, since most columns have
/// no missing values.
pub(crate) struct Nullable<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Default for Nullable<T> {
    fn default() -> Nullable<T> {
        Nullable { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Nullable<T> {
    #[inline]
    pub fn push(&mut self, value: Option<T>) {
        match value {
            Some(value) => {
                self.values.push(value);
                if !self.levels.is_empty() {
                    self.levels.push(1);
                }
            }
            None => self.push_null(),
        }
    }

    /// Appends a model's values; NaN stands for a missing value.
    fn extend(&mut self, numbers: impl Iterator<Item = f64> + Clone, convert: impl Fn(f64) -> T) {
        if self.levels.is_empty() {
            let (before, mut missing) = (self.values.len(), false);
            self.values.extend(numbers.clone().map(|number| {
                missing |= number.is_nan();
                convert(number)
            }));
            if !missing {
                return;
            }
            self.values.truncate(before);
        }
        numbers.for_each(|number| self.push((!number.is_nan()).then(|| convert(number))));
    }

    #[cold]
    fn push_null(&mut self) {
        if self.levels.is_empty() {
            self.levels.resize(self.values.len(), 1);
        }
        self.levels.push(0);
    }

    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the definition levels. If no value is missing, the levels are taken from `ones`.
    pub fn levels<'a>(&'a self, ones: &'a [i16]) -> &'a [i16] {
        if self.levels.is_empty() {
            &ones[..self.values.len()]
        } else {
            &self.levels
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_begin_with_the_first_missing_value() {
        let mut column = Nullable::default();
        let ones = [1; 4];
        assert_eq!(column.levels(&ones), [0i16; 0]);
        column.push(Some(5));
        column.push(Some(6));
        assert_eq!(column.levels(&ones), [1, 1]);
        column.push(None);
        column.push(Some(7));
        assert_eq!((column.values(), column.levels(&ones)), (&[5, 6, 7][..], &[1, 1, 0, 1][..]));
        column.clear();
        column.push(None);
        assert_eq!((column.values(), column.levels(&ones)), (&[][..], &[0][..]));
    }
}
