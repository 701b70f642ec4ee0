#include <levin/data/datasets/table_module.h>
#include <fnmatch.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/column_names.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/datasets/readers/raw_rows.h>
#include <levin/data/datasets/readers/split_rows.h>
#include <levin/data/datasets/readers/without_target.h>
#include <levin/data/tables/learn_table.h>
#include <levin/data/tables/table.h>
#include <levin/data/tables/table_dataset.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

/// The rows of each block whose numbers among all rows of `from` are in `samples`, in order.
std::vector<BlockRows> share_of(const std::vector<BlockRows>& from, std::vector<int64_t> samples) {
  std::ranges::sort(samples);
  std::vector<BlockRows> share;
  int64_t begin = 0;
  size_t next = 0;
  for (const BlockRows& block : from) {
    BlockRows& own = share.emplace_back(BlockRows{.all = block.all, .are_all = false});
    for (; next < samples.size() && samples[next] < begin + block.size(); ++next)
      own.rows.push_back(block[samples[next] - begin]);
    begin += block.size();
  }
  return share;
}

}  // namespace

TableModule::TableModule(std::string name, TableFileOptions files, DataLoaderOptions loader)
    : DatasetModule(std::move(name), loader), options_(std::move(files)), loader_(std::move(loader)) {
  schema_of<TableFileOptions>().check(&options_, "data");
  if (!options_.group_by_length.empty()) check_length_groups("data.group_by_length", loader_.shuffle);
  if (!options_.val_files.empty() && options_.val_fraction > 0)
    throw UsageError("data.val_fraction: validation data are given by data.val_files already; set one of the two");
}

std::shared_ptr<Table> TableModule::table_of(const std::vector<std::string>& files, const std::string& option,
                                             const TableFieldOptions& columns) {
  return std::make_shared<Table>(open_files(files, option, columns), columns, files.front());
}

void TableModule::read_training_files() {
  if (train_) return;
  if (options_.files.empty()) throw UsageError("data.files: not set; it names the files with the training rows");
  const TableFieldOptions& columns = options_.columns;
  const std::shared_ptr<Table> table = table_of(options_.files, "data.files", columns);
  std::vector<BlockRows> all = table->choose_rows(), train = all, val;
  if (options_.val_fraction > 0) {
    int64_t count = 0;
    for (const BlockRows& block : all) count += block.size();
    SplitRows split = split_rows(count, options_.val_fraction, options_.split_seed, table->name());
    train = share_of(all, std::move(split.train));
    val = share_of(all, std::move(split.val));
  }
  const CsvEncoding encoding = loaded_ ? *loaded_ : learn_table(*table, train, all, columns);
  if (options_.val_fraction > 0) val_ = std::make_shared<const TableDataset>(table, std::move(val), encoding, columns);
  train_ = std::make_shared<const TableDataset>(table, std::move(train), encoding, columns);
  table->forget_blocks();
}

const CsvEncoding& TableModule::encoding() {
  if (loaded_) return *loaded_;
  read_training_files();
  return train_->encoding();
}

TabularSizes TableModule::tabular_sizes() {
  const CsvEncoding& learned = encoding();
  TabularSizes sizes{.features = static_cast<int64_t>(learned.features.size()),
                     .classes = static_cast<int64_t>(learned.class_names.size())};
  const auto& fields = options_.columns.fields.values();
  const auto named = fields.find("category");
  for (const std::string& part : divided_at_commas(named == fields.end() ? "category" : named->second))
    for (size_t i = 0; i < learned.categories.size(); ++i) {
      if (fnmatch(part.c_str(), learned.categories[i].c_str(), 0) != 0) continue;
      sizes.categories.push_back(std::ssize(learned.vocabularies[i]) + (options_.columns.unknown == CsvUnknown::Code));
    }
  return sizes;
}

State TableModule::learned_state() {
  State state = state_of(encoding());
  state["standardize"] = options_.columns.standardize;
  return state;
}

void TableModule::load_learned_state(const State& state) {
  loaded_ = csv_encoding_of(state);
  options_.columns.standardize = state.at("standardize").to_bool();
  train_ = val_ = nullptr;
}

std::optional<RawInput> TableModule::raw_input() {
  const CsvEncoding& learned = encoding();
  const bool has_other_texts = learned.categories.size() != tabular_sizes().categories.size();
  if (learned.features.empty() || has_other_texts) return {};
  return raw_rows(learned, options_.columns.standardize, options_.columns.missing);
}

DatasetPtr TableModule::open(const std::vector<std::string>& files, const std::string& option, Split split) {
  if (files.empty()) return nullptr;
  TableFieldOptions columns = options_.columns;
  if (split == Split::Predict) {
    columns.fields = without_target(columns.fields);
    columns.field_options = without_target(columns.field_options);
  }
  const std::shared_ptr<Table> table = table_of(files, option, columns);
  std::vector<BlockRows> rows = table->choose_rows();
  auto made = std::make_shared<const TableDataset>(table, std::move(rows), encoding(), columns);
  table->forget_blocks();
  return made;
}

DatasetPtr TableModule::make_dataset(Split split) {
  switch (split) {
    case Split::Train:
      read_training_files();
      return train_;
    case Split::Val:
      if (options_.val_fraction <= 0) return open(options_.val_files, "data.val_files", split);
      read_training_files();
      return val_;
    case Split::Test:
    case Split::Predict:
      return open(options_.test_files, "data.test_files", split);
  }
  return nullptr;
}

Loaders TableModule::train_dataloader() {
  const DatasetPtr& samples = dataset(Split::Train);
  const bool is_grouped = !options_.group_by_length.empty();
  if (!samples || (!is_grouped && (train_->is_in_memory() || !loader_.shuffle)))
    return DatasetModule::train_dataloader();
  DataLoaderOptions loader = loader_;
  loader.batch_size = *batch_size();
  if (is_grouped)
    return length_grouped_loader(samples, std::move(loader),
                                 train_->lengths(options_.group_by_length, "data.group_by_length"));
  loader.shuffle = false;
  loader.sampler = train_->block_sampler(loader.batch_size);
  return DataLoader(samples, std::move(loader));
}

}  // namespace levin::data
