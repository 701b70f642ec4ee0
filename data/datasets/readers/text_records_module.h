#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/readers/label_reader.h>
#include <levin/data/datasets/readers/text_records.h>
#include <levin/data/datasets/readers/text_tokens.h>
#include <levin/data/datasets/readers/token_rows.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

/// The base of data modules whose samples are texts in files, tokenized once when the data are set up.
class TextRecordsModule : public DatasetModule {
 public:
  Loaders train_dataloader() override;

 protected:
  struct Settings {
    TextRecordFiles files = {};
    TextTokensOptions tokens = {};
    bool group_by_length = false;
    DataLoaderOptions loader = {};
  };
  /// Throws levin::UsageError for options that contradict each other.
  TextRecordsModule(std::string name, Settings settings);

  /// Some of the records of some files.
  struct Share {
    std::shared_ptr<const TextRecords> records = {};
    std::vector<int64_t> which = {};

    int64_t size() const { return static_cast<int64_t>(which.size()); }
    std::string place(int64_t i) const { return records->place(which[static_cast<size_t>(i)]); }
    nlohmann::json record(int64_t i) const;
  };
  /// Makes the dataset of a split.
  virtual DatasetPtr make_rows(const Share& share, Split split) = 0;
  DatasetPtr make_dataset(Split split) final;

  const TextTokens& tokens();
  /// Returns the training records, those that are held out too.
  const Share& training_records();
  const Settings& settings() const { return settings_; }

  /// Learns labels from a field of all training records, unless `load_learned_state` has said what they taught.
  LabelReader& learned_labels(LabelType type, const std::vector<std::string>& names, const std::string& field);
  /// Returns the names of the classes; none if neither a run nor training files say them.
  std::vector<std::string> names_if_known(LabelType type, const std::vector<std::string>& names,
                                          const std::string& field);
  /// Takes what the training data of another run taught.
  void load_labels(LabelType type, const State& state);

 private:
  Share open(const std::vector<std::string>& files, const char* option) const;
  DatasetPtr training_share(bool held_out, Split split);

  Settings settings_;
  std::shared_ptr<const TextTokens> tokens_ = {};
  std::optional<Share> training_ = {};
  std::optional<LabelReader> labels_ = {};
};

}  // namespace levin::data
