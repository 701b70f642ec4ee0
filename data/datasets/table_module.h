#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/csv_encoding.h>
#include <levin/data/loader_options.h>
#include <levin/data/tables/table_options.h>
#include <levin/data/tabular_data.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

class Table;
class TableDataset;
class TableSource;

/// Data modules whose samples are rows of named columns in files: Parquet, Hdf5, JsonLines.
///
/// The codes of texts, and means where they are needed, are learnt of the training rows and used for all others; rows
/// for predict need no target.
class TableModule : public DatasetModule, public TabularData {
 public:
  /// Returns what was learnt of the training rows; reads them if that has not happened yet and nothing else was loaded.
  const CsvEncoding& encoding();
  TabularSizes tabular_sizes() override;

  Loaders train_dataloader() override;
  State learned_state() override;
  void load_learned_state(const State& state) override;
  std::optional<RawInput> raw_input() override;

 protected:
  /// Throws levin::UsageError for options that contradict each other.
  TableModule(std::string name, TableFileOptions files, DataLoaderOptions loader);
  /// Opens the files of an option, for these columns. Throws levin::UsageError.
  virtual std::unique_ptr<TableSource> open_files(const std::vector<std::string>& files, const std::string& option,
                                                  const TableFieldOptions& columns) = 0;

  DatasetPtr make_dataset(Split split) override;

 private:
  std::shared_ptr<Table> table_of(const std::vector<std::string>& files, const std::string& option,
                                  const TableFieldOptions& columns);
  void read_training_files();
  DatasetPtr open(const std::vector<std::string>& files, const std::string& option, Split split);

  TableFileOptions options_;
  DataLoaderOptions loader_;
  std::optional<CsvEncoding> loaded_ = {};
  std::shared_ptr<const TableDataset> train_ = {}, val_ = {};
};

}  // namespace levin::data
