//! A Parquet file that can be read at any time.
//!
//! A Parquet file without a footer at its end cannot be read. The footer is therefore written after
//! every row group, and the next row group replaces it. A process can be killed during a large
//! `write`, so a row group is written in three steps: first a copy of the old footer at the future
//! end of the file; then the row group into the gap before it, which readers ignore because footers
//! contain offsets; then the new footer over the copy. Only the last step must not be interrupted;
//! it takes some microseconds for a few kilobytes. If the disk is full, the old footer is restored
//! at its old position.
//!
//! Encodings were chosen by measurements (`benches/rates.rs`, and earlier versions of it). With the
//! 14 columns of a TCP trace, delta-encoded integers are faster than plain ones, because they leave
//! less to compress. LZ4 takes no more time than no compression, because it saves copying, and
//! halves the file. Zstandard at level 1 saves a further 10 % and takes 1.4 times as long.
//! Byte-stream-split encoding of real numbers saves a further 14 % and takes 1.2 times as long.
//! Dictionaries are worthwhile for names, and for real numbers that mostly repeat the previous one
//! (`reals.rs`).

use crate::columns::{Field, Kind, Nullable, Schema, Values};
use crate::ResultsError;
use parquet::basic::{ColumnOrder, Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaDataBuilder, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use serde_json::{json, Value};
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Number of rows in a row group of a trace: about a megabyte per column, as recommended for
/// readers.
pub(crate) const ROW_GROUP: usize = 128 * 1024;

/// A Parquet file being written.
pub(crate) struct TableFile {
    label: String,
    file: File,
    writer: SerializedFileWriter<Vec<u8>>,
    row_groups: Vec<RowGroupMetaData>,
    key_values: Vec<KeyValue>,
    /// Offset of the footer in the file.
    end: u64,
    footer: Vec<u8>,
    /// Definition levels of rows without missing values.
    ones: Vec<i16>,
    rows: u64,
}

impl TableFile {
    /// Creates the file `label` below `root`, readable and without rows.
    pub fn create(root: &Path, label: &str, schema: &Schema) -> Result<TableFile, ResultsError> {
        let path = root.join(label);
        let file = File::create(&path).map_err(|error| ResultsError::write(label, error))?;
        let writer =
            SerializedFileWriter::new(Vec::new(), parquet_schema(schema), Arc::new(properties(schema)))
                .expect("writing to memory cannot fail");
        let mut table = TableFile {
            label: label.to_owned(),
            file,
            writer,
            row_groups: Vec::new(),
            key_values: vec![KeyValue::new("bentpipe".to_owned(), description(schema).to_string())],
            end: 0,
            footer: Vec::new(),
            ones: Vec::new(),
            rows: 0,
        };
        if let Err(error) = table.store() {
            // Without a footer the file would not be a Parquet file.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        Ok(table)
    }

    /// Returns the number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes one row group. `columns` has one entry per field of the schema.
    pub fn row_group(&mut self, columns: &[Values]) -> Result<(), ResultsError> {
        self.encode(columns)
            .map_err(|error| ResultsError::Format { file: self.label.clone(), problem: error.to_string() })?;
        self.store()
    }

    fn encode(&mut self, columns: &[Values]) -> Result<(), ParquetError> {
        let descriptor = SchemaDescriptor::new(self.writer.schema_descr().root_schema_ptr());
        let mut group = self.writer.next_row_group()?;
        for (index, values) in columns.iter().enumerate() {
            match values {
                Values::Names(names) => {
                    names.write(descriptor.column(index), &mut group)?;
                    continue;
                }
                Values::Deltas(deltas) => {
                    deltas.write(descriptor.column(index), &mut group)?;
                    continue;
                }
                Values::Reals(reals) => {
                    reals.write(descriptor.column(index), &mut group)?;
                    continue;
                }
                _ => {}
            }
            let mut column = group.next_column()?.expect("one column of values per field");
            match (column.untyped(), values) {
                (ColumnWriter::Int64ColumnWriter(writer), Values::Whole(values)) => {
                    write(writer, values, &mut self.ones)?
                }
                (ColumnWriter::DoubleColumnWriter(writer), Values::Real(values)) => {
                    write(writer, values, &mut self.ones)?
                }
                (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
                    write(writer, values, &mut self.ones)?
                }
                _ => unreachable!("the values are made for the schema"),
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the data encoded since the last call, and a footer for the whole file.
    fn store(&mut self) -> Result<(), ResultsError> {
        self.writer.flush().expect("writing to memory cannot fail");
        let mut bytes = std::mem::take(self.writer.inner_mut());
        let length = bytes.len();
        let flushed = self.writer.flushed_row_groups();
        self.row_groups.extend_from_slice(&flushed[self.row_groups.len()..]);
        let rows = self.row_groups.iter().map(|group| group.num_rows() as u64).sum();
        self.write_footer(&mut bytes, rows);
        if let Err(error) = self.replace_footer(&bytes) {
            // The first error is the one that is reported.
            let _ = self.restore();
            return Err(ResultsError::write(self.label.as_str(), error));
        }
        self.end += length as u64;
        self.rows = rows;
        self.footer.clear();
        self.footer.extend_from_slice(&bytes[length..]);
        bytes.clear();
        *self.writer.inner_mut() = bytes;
        Ok(())
    }

    /// Writes `bytes`, which end with the new footer, in place of the old footer.
    fn replace_footer(&mut self, bytes: &[u8]) -> io::Result<()> {
        // The footer is written last. Footers only grow; if one did not, the bytes would be written
        // in one step.
        let split = bytes.len().saturating_sub(self.footer.len());
        let last = self.end + split as u64;
        self.file.seek(SeekFrom::Start(last))?;
        self.file.write_all(&self.footer)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&bytes[..split])?;
        self.file.write_all(&bytes[split..])
    }

    fn write_footer(&mut self, out: &mut Vec<u8>, rows: u64) {
        let schema = self.writer.schema_descr();
        let orders = schema.columns().iter().map(|column| {
            ColumnOrder::TYPE_DEFINED_ORDER(ColumnOrder::sort_order_for_type(
                column.logical_type_ref(),
                column.converted_type(),
                column.physical_type(),
            ))
        });
        let file = FileMetaData::new(
            self.writer.properties().writer_version().as_num(),
            rows as i64,
            Some(self.writer.properties().created_by().to_owned()),
            Some(self.key_values.clone()),
            Arc::new(SchemaDescriptor::new(schema.root_schema_ptr())),
            Some(orders.collect()),
        );
        let row_groups = std::mem::take(&mut self.row_groups);
        let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(row_groups).build();
        ParquetMetaDataWriter::new(out, &metadata).finish().expect("writing to memory cannot fail");
        self.row_groups = metadata.into_builder().take_row_groups();
    }

    fn restore(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&self.footer)?;
        self.file.set_len(self.end + self.footer.len() as u64)
    }
}

fn write<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    column: &Nullable<T::T>,
    ones: &mut Vec<i16>,
) -> Result<(), ParquetError> {
    if ones.len() < column.values().len() {
        ones.resize(column.values().len(), 1);
    }
    let required = writer.get_descriptor().max_def_level() == 0;
    let levels = (!required).then(|| column.levels(ones));
    writer.write_batch(column.values(), levels, None).map(|_| ())
}

fn parquet_schema(schema: &Schema) -> Arc<Type> {
    let fields = schema.fields.iter().map(|field| Arc::new(parquet_type(field))).collect();
    let group = Type::group_type_builder(&schema.table).with_fields(fields).build();
    Arc::new(group.expect("a group of columns is a valid type"))
}

fn parquet_type(field: &Field) -> Type {
    let (physical, logical) = match field.kind {
        Kind::Time | Kind::Whole => (Physical::INT64, None),
        Kind::Entity | Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Real => (Physical::DOUBLE, None),
    };
    let repetition = match field.kind {
        Kind::Time | Kind::Entity => Repetition::REQUIRED,
        Kind::Text | Kind::Whole | Kind::Real => Repetition::OPTIONAL,
    };
    Type::primitive_type_builder(&field.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
        .expect("a plain column is a valid type")
}

fn properties(schema: &Schema) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("bentpipe version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_write_batch_size(8192)
        .set_data_page_row_count_limit(16 * 1024);
    for field in &schema.fields {
        let path = ColumnPath::new(vec![field.name.clone()]);
        properties = match field.kind {
            // Readers skip row groups by the minimum and maximum of their times.
            Kind::Time => properties
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_statistics_enabled(path, EnabledStatistics::Chunk),
            Kind::Whole => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Kind::Entity | Kind::Text => properties.set_column_dictionary_enabled(path, true),
            Kind::Real => properties.set_column_encoding(path, Encoding::PLAIN),
        };
    }
    properties.build()
}

fn description(schema: &Schema) -> Value {
    let columns: Vec<Value> = schema
        .fields
        .iter()
        .map(|field| json!({ "name": field.name, "unit": field.unit, "about": field.about }))
        .collect();
    json!({ "table": schema.table, "about": schema.about, "columns": columns })
}
