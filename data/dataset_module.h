#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>

#include <array>
#include <string>

namespace levin::data {

/// The splits of the data.
enum class Split { Train, Val, Test, Predict };

/// "train", "val", "test" or "predict".
const char* to_text(Split split);

/// A data module whose splits are datasets; a derived class makes each of them.
///
/// Each split is made once, by the first `setup` of a stage that needs it. Training batches follow the options; the
/// other splits are neither shuffled nor cut by drop_last.
class DatasetModule : public DataModule {
 public:
  void setup(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;

  /// Unset with a batch sampler, which sets the sizes itself.
  std::optional<int64_t> batch_size() const override;
  void set_batch_size(int64_t batch_size) override;

  /// Returns the dataset of a split after `setup`; null if the data has no such split or no stage has needed it yet.
  const DatasetPtr& dataset(Split split) const { return datasets_[static_cast<size_t>(split)]; }

 protected:
  /// `name` is the class name, for messages.
  DatasetModule(std::string name, DataLoaderOptions train);
  /// Makes the dataset of a split; null if the data has none. Throws levin::UsageError.
  virtual DatasetPtr make_dataset(Split split) = 0;

 private:
  Loaders loader(Split split) const;

  std::string name_;
  DataLoaderOptions train_options_;
  std::array<DatasetPtr, 4> datasets_ = {};
  std::array<bool, 4> made_ = {};
};

}  // namespace levin::data
