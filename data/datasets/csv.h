#pragma once
#include <levin/data/dataset.h>
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/datasets/readers/csv_table.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// The rows of a CSV file, read into memory at once.
///
/// Batches hold `input` float32 [samples, features], `category` int64 [samples, categories], and `target`, int64
/// (classes) or float32 (numbers) [samples]; those that no column is for are absent.
class CsvDataset final : public Dataset {
 public:
  using Options = CsvDatasetOptions;
  /// A training file: codes, means and deviations come from its own rows. Throws levin::UsageError as read_csv_table.
  explicit CsvDataset(const std::filesystem::path& file, const Options& options = {});
  /// Another file, encoded as the training file was, with the encoding's features and categories, by name. Throws
  /// levin::UsageError that names file, line and column, also for a class or category that training lacked.
  CsvDataset(const std::filesystem::path& file, Options options, CsvEncoding encoding);
  /// Training and validation rows of one file, drawn as random_split does; means and deviations come from the training
  /// rows, codes from all.
  static std::pair<CsvDataset, CsvDataset> split(const std::filesystem::path& file, const Options& options,
                                                 double val_fraction, int64_t seed = 0);

  int64_t size() const override { return rows_.size(); }
  Batch get(int64_t index, Rng& rng) const override { return rows_.get(index, rng); }
  void get_batch(const Indices& indices, Batch& out) const override { rows_.get_batch(indices, out); }
  std::vector<std::string> class_names() const override { return rows_.class_names(); }

  const CsvEncoding& encoding() const { return *encoding_; }
  /// For each category column the number of its codes: what an embedding needs.
  std::vector<int64_t> category_sizes() const;
  /// All rows.
  const Batch& tensors() const { return rows_.tensors(); }

 private:
  CsvDataset(const CsvTable& table, const std::vector<int64_t>& rows, const Options& options, CsvEncoding encoding);

  std::shared_ptr<const CsvEncoding> encoding_;
  bool has_unknown_code_;
  TensorDataset rows_;
};

struct CsvOptions {
  std::string file = LEVIN_OPTION(file, "", "CSV file with the training rows");
  std::string val_file = LEVIN_OPTION(val_file, "", "Validation rows; empty: none, or a share of the training rows");
  std::string test_file = LEVIN_OPTION(test_file, "", "Rows for test and predict; empty: none");
  /// Which columns are read, and how; these options stand beside the others.
  CsvDatasetOptions columns = {};
  double val_fraction = LEVIN_OPTION(val_fraction, 0, "Share of the training rows that is drawn for validation",
                                     {.min = 0, .exclusive_max = 1});
  int64_t split_seed = LEVIN_OPTION(split_seed, 0, "Seed of the rows that val_fraction draws");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Tables in CSV files. What is learnt from the training rows encodes all others; rows for predict need no target.
class Csv : public DatasetModule {
 public:
  using Options = CsvOptions;
  /// Throws levin::UsageError for options that contradict each other.
  explicit Csv(Options options = {});

  /// What was learnt from the training rows; reads them where that was not done yet.
  const CsvEncoding& encoding();
  /// For each category column the number of its codes; reads the training rows as `encoding` does.
  std::vector<int64_t> category_sizes();

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  void read_training_file();
  DatasetPtr open(const std::string& file, Split split);

  Options options_;
  std::shared_ptr<const CsvDataset> train_ = {}, val_ = {};
};

}  // namespace levin::data
