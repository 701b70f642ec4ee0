#include <levin/data/datasets/csv.h>
#include <levin/trainer/core/system/error.h>

#include <numeric>
#include <utility>

namespace levin::data {
namespace {

std::vector<int64_t> all_rows(const CsvTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

/// A dataset that has only a size, for random_split of rows.
class Rows final : public Dataset {
 public:
  explicit Rows(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }

 private:
  int64_t size_;
};

}  // namespace

CsvDataset::CsvDataset(const CsvTable& table, const std::vector<int64_t>& rows, const Options& options,
                       CsvEncoding encoding)
    : encoding_(std::make_shared<const CsvEncoding>(std::move(encoding))),
      has_unknown_code_(options.unknown == "code"),
      rows_(encode_csv(table, rows, *encoding_, options), encoding_->class_names) {}

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
  const auto parts = random_split(Rows(table.rows()), {1 - val_fraction, val_fraction}, seed);
  const std::vector<int64_t>&train = parts[0].indices(), &val = parts[1].indices();
  if (train.empty() || val.empty()) {
    throw UsageError("data.val_fraction: ", val_fraction, " of the ", table.rows(), " rows of ", table.file, " leaves ",
                     train.size(), " for training and ", val.size(), " for validation");
  }
  const CsvEncoding encoding = learn_csv_encoding(table, train, options);
  return {CsvDataset(table, train, options, encoding), CsvDataset(table, val, options, encoding)};
}

std::vector<int64_t> CsvDataset::category_sizes() const {
  std::vector<int64_t> sizes;
  for (const auto& vocabulary : encoding_->vocabularies) {
    sizes.push_back(static_cast<int64_t>(vocabulary.size()) + has_unknown_code_);
  }
  return sizes;
}

Csv::Csv(Options options) : DatasetModule("Csv", loader_options(options)), options_(std::move(options)) {
  if (!options_.val_file.empty() && options_.val_fraction > 0) {
    throw UsageError("data.val_fraction: validation rows are given by data.val_file already; set one of the two");
  }
}

void Csv::read_training_file() {
  if (train_) return;
  if (options_.file.empty()) throw UsageError("data.file: not set; it names the CSV file with the training rows");
  if (options_.val_fraction > 0) {
    auto [train, val] = CsvDataset::split(options_.file, options_.columns, options_.val_fraction, options_.split_seed);
    val_ = std::make_shared<const CsvDataset>(std::move(val));
    train_ = std::make_shared<const CsvDataset>(std::move(train));
  } else {
    train_ = std::make_shared<const CsvDataset>(options_.file, options_.columns);
  }
}

const CsvEncoding& Csv::encoding() {
  read_training_file();
  return train_->encoding();
}

std::vector<int64_t> Csv::category_sizes() {
  read_training_file();
  return train_->category_sizes();
}

DatasetPtr Csv::open(const std::string& file, Split split) {
  if (file.empty()) return nullptr;
  CsvDatasetOptions columns = options_.columns;
  if (split == Split::Predict) columns.target.clear();
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
