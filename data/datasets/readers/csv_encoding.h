#pragma once
#include <levin/data/batch.h>
#include <levin/data/datasets/readers/csv_table.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin::data {

/// What is learnt from the training rows of a CSV file and used for all others.
struct CsvEncoding {
  /// The features' names, and mean and standard deviation (divided by the number of values; 1 where all are the same)
  /// of the values that are there.
  std::vector<std::string> features = {};
  std::vector<double> mean = {}, stddev = {};
  /// The category columns' names, and what each of their codes means.
  std::vector<std::string> categories = {};
  std::vector<std::vector<std::string>> vocabularies = {};
  /// What each class number means; empty without classes.
  std::vector<std::string> class_names = {};
};

/// Learns from the rows of `table` with these numbers; vocabularies and classes from all rows, sorted: by value where
/// all are whole numbers, otherwise by their bytes. Throws levin::UsageError for a feature without any value where the
/// mean is asked for.
CsvEncoding learn_csv_encoding(const CsvTable& table, const std::vector<int64_t>& rows,
                               const CsvDatasetOptions& options);

/// The rows as tensors: `input` float32 [rows, features], `category` int64 [rows, categories], `target` int64 or
/// float32 [rows]; those that have no column are absent.
///
/// Throws levin::UsageError that names file, line and column for a class or category that the encoding lacks; an
/// unknown category is the code behind the last where the options say so.
Batch encode_csv(const CsvTable& table, const std::vector<int64_t>& rows, const CsvEncoding& encoding,
                 const CsvDatasetOptions& options);

}  // namespace levin::data
