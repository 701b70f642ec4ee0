#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/core/options/text_table.h>
#include <levin/data/datasets/readers/csv_table.h>
#include <levin/data/datasets/readers/field_options.h>

#include <string>
#include <vector>

namespace levin::data {

/// How the columns of files become the fields of samples. As a member without LEVIN_OPTION these options appear beside
/// those of the data set.
struct TableFieldOptions {
  TextTable fields = LEVIN_OPTION(
      fields, {},
      "Columns by the names of the fields they become: {\"input\": \"x*\", \"target\": \"label\", \"size\": "
      "\"width,height\"}; a pattern takes the columns that no other field names; \"*\": each column by its own name, "
      "as "
      "without this option");
  std::vector<std::string> where =
      LEVIN_OPTION(where, {}, "Conditions that rows fulfil, all of them: [\"year >= 2020\", \"language == en\"]");
  Choice<CsvMissing> missing = LEVIN_OPTION(
      missing, CsvMissing::Error,
      "A value is missing: stop (error), take its mean in `input` (mean), zero, or leave the row out (drop)");
  Choice<CsvUnknown> unknown =
      LEVIN_OPTION(unknown, CsvUnknown::Error,
                   "A text that the training data lack: stop (error), or give all of them one code more (code)");
  bool standardize = LEVIN_OPTION(standardize, false,
                                  "Subtract from each column of `input` its mean and divide by its standard deviation");
  double memory_gb = LEVIN_OPTION(memory_gb, 4,
                                  "Data up to this size are read into memory at once; of larger ones, blocks of rows "
                                  "(the row groups of Parquet) are held as long as there is room",
                                  {.exclusive_min = 0});
  /// What becomes of the fields in batches, in the same way.
  FieldOptions field_options = {};
};

/// The files of a data module of tables, in the same way.
struct TableFileOptions {
  std::vector<std::string> files =
      LEVIN_OPTION(files, {}, "Training files, by name or pattern, or folders of them: train, part-{000..009}, day-*");
  std::vector<std::string> val_files = LEVIN_OPTION(val_files, {}, "Validation files; empty: none, or a share");
  std::vector<std::string> test_files = LEVIN_OPTION(test_files, {}, "Files for test and predict; empty: none");
  double val_fraction = LEVIN_OPTION(val_fraction, 0, "Share of the training rows that is drawn for validation",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Seed of the rows that val_fraction draws");
  TableFieldOptions columns = {};
  std::string group_by_length =
      LEVIN_OPTION(group_by_length, "",
                   "Field of lists: training batches are of samples whose lists have similar lengths; needs shuffle");
};

}  // namespace levin::data
