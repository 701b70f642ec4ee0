#pragma once
#include <levin/data/datasets/readers/array_files.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/tables/table.h>

namespace levin::data {

/// Returns whether a field is `input` of columns that hold a number a row: it becomes float32 [rows, columns].
bool is_number_row(const Table& table, const TableField& field);

/// Returns the fields of some rows of a block.
///
/// A field of one column has its type, [rows, ...]; one of several columns [rows, columns], of float64 if their types
/// differ. Texts become int64, their codes in `encoding`; those of `category` [rows, columns]. `input` of numbers is
/// float32 [rows, columns]; floating values of `input` and `target` are float32 unless `dtypes` names them, and whole
/// numbers of a `target` int64.
///
/// Throws levin::UsageError that names file, row and column for a missing value, as which NaN counts, unless the option
/// `missing` says what becomes of it, and for a text that the encoding lacks unless `unknown` is "code".
ArrayFields encode_table(const Table& table, int64_t number, const BlockRows& rows, const CsvEncoding& encoding,
                         const TableFieldOptions& options);

}  // namespace levin::data
