#include <levin/data/datasets/csv.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/datasets/readers/raw_rows.h>
#include <levin/data/datasets/readers/split_rows.h>
#include <levin/data/datasets/readers/without_target.h>

#include <numeric>
#include <utility>

namespace levin::data {
namespace {

std::vector<int64_t> all_rows(const CsvTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

/// Returns the number of codes of each category column.
std::vector<int64_t> sizes_of(const CsvEncoding& encoding, bool has_unknown_code) {
  std::vector<int64_t> sizes;
  for (const auto& vocabulary : encoding.vocabularies) {
    sizes.push_back(static_cast<int64_t>(vocabulary.size()) + has_unknown_code);
  }
  return sizes;
}

std::vector<VaryingField> lists_of(const CsvTable& table, const std::vector<int64_t>& rows) {
  std::vector<VaryingField> lists;
  for (const CsvField& field : table.fields)
    if (field.is_list) lists.push_back(varying_field(field, rows));
  return lists;
}

}  // namespace

CsvDataset::CsvDataset(const CsvTable& table, const std::vector<int64_t>& rows, const Options& options,
                       CsvEncoding encoding)
    : encoding_(std::make_shared<const CsvEncoding>(std::move(encoding))),
      has_unknown_code_(options.unknown == CsvUnknown::Code),
      rows_(encode_csv(table, rows, *encoding_, options), lists_of(table, rows), options.field_options,
            encoding_->class_names),
      left_out_(table.left_out) {
  for (const int64_t row : rows) row_numbers_.push_back(table.numbers_of_rows[static_cast<size_t>(row)]);
}

CsvDataset::CsvDataset(const std::filesystem::path& file, const Options& options)
    : CsvDataset([&] {
        const CsvTable table = read_csv_table(file, options);
        const std::vector<int64_t> rows = all_rows(table);
        return CsvDataset(table, rows, options, learn_csv_encoding(table, rows, options));
      }()) {}

CsvDataset::CsvDataset(const std::filesystem::path& file, Options options, CsvEncoding encoding)
    : CsvDataset([&] {
        options.categories = encoding.categories;
        const CsvTable table = read_csv_table(file, options, &encoding.features);
        return CsvDataset(table, all_rows(table), options, std::move(encoding));
      }()) {}

std::pair<CsvDataset, CsvDataset> CsvDataset::split(const std::filesystem::path& file, const Options& options,
                                                    double val_fraction, int64_t seed) {
  const CsvTable table = read_csv_table(file, options);
  const auto [train, val] = split_rows(table.rows(), val_fraction, seed, table.file);
  const CsvEncoding encoding = learn_csv_encoding(table, train, options);
  return {CsvDataset(table, train, options, encoding), CsvDataset(table, val, options, encoding)};
}

std::pair<CsvDataset, CsvDataset> CsvDataset::split(const std::filesystem::path& file, Options options,
                                                    double val_fraction, int64_t seed, const CsvEncoding& encoding) {
  options.categories = encoding.categories;
  const CsvTable table = read_csv_table(file, options, &encoding.features);
  const auto [train, val] = split_rows(table.rows(), val_fraction, seed, table.file);
  return {CsvDataset(table, train, options, encoding), CsvDataset(table, val, options, encoding)};
}

std::vector<int64_t> CsvDataset::category_sizes() const { return sizes_of(*encoding_, has_unknown_code_); }

Csv::Csv(Options options) : DatasetModule("Csv", loader_options(options)), options_(std::move(options)) {
  if (!options_.group_by_length.empty()) check_length_groups("data.group_by_length", options_.shuffle);
  if (!options_.val_file.empty() && options_.val_fraction > 0) {
    throw UsageError("data.val_fraction: validation rows are given by data.val_file already; set one of the two");
  }
}

void Csv::read_training_file() {
  if (train_) return;
  if (options_.file.empty()) throw UsageError("data.file: not set; it names the CSV file with the training rows");
  const CsvDatasetOptions& columns = options_.columns;
  if (options_.val_fraction > 0) {
    auto [train, val] =
        loaded_ ? CsvDataset::split(options_.file, columns, options_.val_fraction, options_.split_seed, *loaded_)
                : CsvDataset::split(options_.file, columns, options_.val_fraction, options_.split_seed);
    val_ = std::make_shared<const CsvDataset>(std::move(val));
    train_ = std::make_shared<const CsvDataset>(std::move(train));
  } else if (loaded_) {
    train_ = std::make_shared<const CsvDataset>(options_.file, columns, *loaded_);
  } else {
    train_ = std::make_shared<const CsvDataset>(options_.file, columns);
  }
}

const CsvEncoding& Csv::encoding() {
  if (loaded_) return *loaded_;
  read_training_file();
  return train_->encoding();
}

std::vector<int64_t> Csv::category_sizes() {
  return sizes_of(encoding(), options_.columns.unknown == CsvUnknown::Code);
}

TabularSizes Csv::tabular_sizes() {
  const CsvEncoding& learned = encoding();
  return {.features = static_cast<int64_t>(learned.features.size()),
          .categories = category_sizes(),
          .classes = static_cast<int64_t>(learned.class_names.size())};
}

State Csv::learned_state() {
  State state = state_of(encoding());
  state["standardize"] = options_.columns.standardize;
  return state;
}

void Csv::load_learned_state(const State& state) {
  loaded_ = csv_encoding_of(state);
  options_.columns.standardize = state.at("standardize").to_bool();
  train_ = val_ = nullptr;
}

std::optional<RawInput> Csv::raw_input() {
  const CsvDatasetOptions& columns = options_.columns;
  if (!columns.fields.empty() || !columns.lists.empty()) return {};
  return raw_rows(encoding(), columns.standardize, columns.missing);
}

Loaders Csv::train_dataloader() {
  const DatasetPtr& samples = dataset(Split::Train);
  if (options_.group_by_length.empty() || !samples) return DatasetModule::train_dataloader();
  DataLoaderOptions loader = loader_options(options_);
  loader.batch_size = *batch_size();
  return length_grouped_loader(samples, std::move(loader),
                               train_->lengths(options_.group_by_length, "data.group_by_length"));
}

DatasetPtr Csv::open(const std::string& file, Split split) {
  if (file.empty()) return nullptr;
  CsvDatasetOptions columns = options_.columns;
  if (split == Split::Predict) {
    columns.target.clear();
    columns.fields = without_target(columns.fields);
    columns.lists = without_target(columns.lists);
    columns.field_options = without_target(columns.field_options);
  }
  return std::make_shared<const CsvDataset>(file, std::move(columns), encoding());
}

DatasetPtr Csv::make_dataset(Split split) {
  switch (split) {
    case Split::Train:
      read_training_file();
      return train_;
    case Split::Val:
      if (options_.val_fraction <= 0) return open(options_.val_file, split);
      read_training_file();
      return val_;
    case Split::Test:
    case Split::Predict:
      return open(options_.test_file, split);
  }
  return nullptr;
}

}  // namespace levin::data
