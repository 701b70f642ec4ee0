#pragma once
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/datasets/readers/csv_table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// The encoding of a CSV file: learnt from the training rows and used for all others.
struct CsvEncoding {
  /// The names of the features, with the mean and standard deviation of their values that are not missing. The
  /// deviation divides by the number of values, and is 1 if all values are equal.
  std::vector<std::string> features = {};
  std::vector<double> mean = {}, stddev = {};
  /// The names of the category columns, and the meaning of each of their codes.
  std::vector<std::string> categories = {};
  std::vector<std::vector<std::string>> vocabularies = {};
  /// The meaning of each class number; empty without classes.
  std::vector<std::string> class_names = {};
};

/// Returns words in the order of their codes: by value if all are whole numbers, otherwise bytewise.
std::vector<std::string> sorted_words(std::vector<std::string> words);

/// Converts an encoding to a state tree and back; the latter throws levin::Error for another tree.
State state_of(const CsvEncoding& encoding);
CsvEncoding csv_encoding_of(const State& state);

/// Learns means and deviations from the given rows of `table`, vocabularies and classes from all rows. These are
/// ordered as by sorted_words. Throws levin::UsageError for a feature without any value if its mean is needed.
CsvEncoding learn_csv_encoding(const CsvTable& table, const std::vector<int64_t>& rows,
                               const CsvDatasetOptions& options);

/// Encodes rows as tensors: `input` float32 [rows, features], `category` int64 [rows, categories], `target` int64 or
/// float32 [rows]; a name without a column is absent. The fields that the option `fields` names follow.
///
/// Throws levin::UsageError that names file, line and column for a class or category that the encoding lacks; with the
/// option `unknown` "code", an unknown category gets the code after the last one.
Batch encode_csv(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                 const CsvDatasetOptions& options);

}  // namespace levin::data
