#include <levin/data/datasets/readers/text_records_module.h>
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/json_line.h>
#include <levin/data/datasets/readers/length_groups.h>
#include <levin/data/datasets/readers/tar_shards.h>
#include <levin/data/datasets/readers/text_lines.h>
#include <levin/data/datasets/readers/tokenizer_settings.h>

#include <numeric>
#include <utility>

namespace levin::data {

TextRecordsModule::TextRecordsModule(std::string name, Settings settings)
    : DatasetModule(std::move(name), settings.loader), settings_(std::move(settings)) {
  if (!settings_.files.val_files.empty() && settings_.files.val_fraction > 0)
    throw UsageError("data.val_fraction: validation data are given by data.val_files already; set one of the two");
  if (settings_.group_by_length) check_length_groups("data.group_by_length", settings_.loader.shuffle);
}

nlohmann::json TextRecordsModule::Share::record(int64_t i) const {
  return parse_json_line(records->line(which[static_cast<size_t>(i)]), place(i));
}

const TextTokens& TextRecordsModule::tokens() {
  if (!tokens_) tokens_ = std::make_shared<const TextTokens>(settings_.tokens);
  return *tokens_;
}

TextRecordsModule::Share TextRecordsModule::open(const std::vector<std::string>& files, const char* option) const {
  if (files.empty()) throw UsageError(option, ": not set; it names files of JSON lines or tables, such as train.jsonl");
  Share share{.records = std::make_shared<const TextRecords>(find_shards(files, option))};
  if (share.records->size() == 0)
    throw UsageError(option, ": no lines in ", files.front(), files.size() > 1 ? ", ..." : "");
  share.which.resize(static_cast<size_t>(share.records->size()));
  std::iota(share.which.begin(), share.which.end(), 0);
  return share;
}

const TextRecordsModule::Share& TextRecordsModule::training_records() {
  if (!training_) training_ = open(settings_.files.files, "data.files");
  return *training_;
}

LabelReader& TextRecordsModule::learned_labels(LabelType type, const std::vector<std::string>& names,
                                               const std::string& field) {
  if (labels_) return *labels_;
  LabelReader labels(type,
                     names.empty() ? class_names_of_folder(folder_of_tokenizer(settings_.tokens.tokenizer)) : names);
  const Share& all = training_records();
  labels.learn([&](const auto& visit) {
    for (int64_t i = 0; i < all.size(); ++i) {
      const std::string place = all.place(i);
      visit(field_of(all.record(i), field, place), place);
    }
  });
  return labels_.emplace(std::move(labels));
}

std::vector<std::string> TextRecordsModule::names_if_known(LabelType type, const std::vector<std::string>& names,
                                                           const std::string& field) {
  if (!labels_ && settings_.files.files.empty()) return names;
  return learned_labels(type, names, field).names();
}

void TextRecordsModule::load_labels(LabelType type, const State& state) {
  labels_.emplace(type, std::vector<std::string>()).load(state);
}

DatasetPtr TextRecordsModule::training_share(bool held_out, Split split) {
  const Share& all = training_records();
  const double fraction = settings_.files.val_fraction;
  Share share{.records = all.records};
  for (const int64_t i : all.which)
    if (is_held_out(all.records->line(i), fraction) == held_out) share.which.push_back(i);
  if (share.which.empty())
    throw UsageError("data.val_fraction: ", fraction, " leaves none of ", counted(all.size(), "line"), " for ",
                     held_out ? "validation" : "training", "; set another, or data.val_files");
  return make_rows(share, split);
}

DatasetPtr TextRecordsModule::make_dataset(Split split) {
  const TextRecordFiles& files = settings_.files;
  const auto rows_of = [&](const std::vector<std::string>& names, const char* option) {
    return names.empty() ? nullptr : make_rows(open(names, option), split);
  };
  switch (split) {
    case Split::Train:
      return training_share(/*held_out=*/false, split);
    case Split::Val:
      return files.val_fraction > 0 ? training_share(/*held_out=*/true, split)
                                    : rows_of(files.val_files, "data.val_files");
    case Split::Test:
    case Split::Predict:
      return rows_of(files.test_files, "data.test_files");
  }
  return nullptr;
}

Loaders TextRecordsModule::train_dataloader() {
  const DatasetPtr& samples = dataset(Split::Train);
  if (!settings_.group_by_length || !samples) return DatasetModule::train_dataloader();
  DataLoaderOptions loader = settings_.loader;
  loader.batch_size = *batch_size();
  return length_grouped_loader(samples, std::move(loader), dynamic_cast<const TokenRows&>(*samples).lengths());
}

}  // namespace levin::data
