#pragma once
#include <levin/data/data_module.h>
#include <levin/data/datasets/readers/csv_encoding.h>

#include <optional>

namespace levin::data {

/// Returns how the numbers and category codes of a table's rows become `input` and `category`.
std::optional<RawInput> raw_rows(const CsvEncoding& encoding, bool standardize, CsvMissing missing);

}  // namespace levin::data
