#pragma once
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/datasets/readers/csv_table.h>
#include <levin/data/datasets/readers/field_dataset.h>
#include <levin/data/loader_options.h>
#include <levin/data/tabular_data.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// The rows of a CSV file, read into memory at once.
///
/// Batches hold `input` float32 [samples, features], `category` int64 [samples, categories], and `target` [samples],
/// int64 (classes) or float32 (numbers); a name without a column is absent. The options `fields` and `lists` add fields
/// of other names, float32 unless `dtypes` says otherwise.
class CsvDataset final : public Dataset {
 public:
  using Options = CsvDatasetOptions;
  /// Reads a training file; codes, means and deviations come from its own rows. Throws levin::UsageError as
  /// read_csv_table.
  explicit CsvDataset(const std::filesystem::path& file, const Options& options = {});
  /// Reads another file and encodes it like the training file: `encoding` sets the features and categories, by name.
  /// Throws levin::UsageError that names file, line and column, also for a class or category that training lacked.
  CsvDataset(const std::filesystem::path& file, Options options, CsvEncoding encoding);
  /// Splits one file into training and validation rows, as random_split does; means and deviations come from the
  /// training rows, codes from all rows.
  static std::pair<CsvDataset, CsvDataset> split(const std::filesystem::path& file, const Options& options,
                                                 double val_fraction, int64_t seed = 0);
  /// Splits in the same way, and encodes all rows by `encoding`.
  static std::pair<CsvDataset, CsvDataset> split(const std::filesystem::path& file, Options options,
                                                 double val_fraction, int64_t seed, const CsvEncoding& encoding);

  int64_t size() const override { return rows_.size(); }
  Batch get(int64_t index, Rng& rng) const override { return rows_.get(index, rng); }
  void get_batch(const Indices& indices, Batch& out) const override { rows_.get_batch(indices, out); }
  std::vector<std::string> class_names() const override { return rows_.class_names(); }

  const CsvEncoding& encoding() const { return *encoding_; }
  /// Returns the number of codes of each category column, as an embedding needs it.
  std::vector<int64_t> category_sizes() const;
  /// Returns the number of each sample's row among all rows of the file, from 0.
  const std::vector<int64_t>& row_numbers() const { return row_numbers_; }
  /// Returns the numbers of the rows that were left out since they lack a value.
  const std::vector<int64_t>& left_out() const { return left_out_; }
  /// Returns the length of each sample's list in a field of the option `lists`. Throws levin::UsageError, which names
  /// `option`, for another field.
  std::vector<int64_t> lengths(const std::string& field, const std::string& option) const {
    return rows_.lengths(field, option);
  }
  /// Returns all rows, but for those of lists.
  const Batch& tensors() const { return rows_.tensors(); }

 private:
  CsvDataset(const CsvTable& table, const std::vector<int64_t>& rows, const Options& options, CsvEncoding encoding);

  std::shared_ptr<const CsvEncoding> encoding_;
  bool has_unknown_code_;
  FieldDataset rows_;
  std::vector<int64_t> row_numbers_ = {}, left_out_ = {};
};

struct CsvOptions {
  std::string file = LEVIN_OPTION(file, "", "CSV file with the training rows");
  std::string val_file = LEVIN_OPTION(val_file, "", "Validation rows; empty: none, or a share of the training rows");
  std::string test_file = LEVIN_OPTION(test_file, "", "Rows for test and predict; empty: none");
  /// The columns to read and how to read them; these options appear beside the others, without a prefix.
  CsvDatasetOptions columns = {};
  double val_fraction = LEVIN_OPTION(val_fraction, 0, "Share of the training rows that is drawn for validation",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Seed of the rows that val_fraction draws");
  std::string group_by_length =
      LEVIN_OPTION(group_by_length, "",
                   "Field of lists: training batches are of samples whose lists have similar lengths; needs shuffle");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Tables in CSV files. The encoding learnt from the training rows is used for all others; rows for predict need no
/// target.
class Csv : public DatasetModule, public TabularData {
 public:
  using Options = CsvOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit Csv(Options options = {});

  /// Returns the encoding learnt from the training rows; reads them if that has not happened yet and no other encoding
  /// was loaded.
  const CsvEncoding& encoding();
  /// Returns the number of codes of each category column; reads the training rows as `encoding` does.
  std::vector<int64_t> category_sizes();
  TabularSizes tabular_sizes() override;

  Loaders train_dataloader() override;
  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  void read_training_file();
  DatasetPtr open(const std::string& file, Split split);

  Options options_;
  std::optional<CsvEncoding> loaded_ = {};
  std::shared_ptr<const CsvDataset> train_ = {}, val_ = {};
};

}  // namespace levin::data
