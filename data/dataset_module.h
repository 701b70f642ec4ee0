#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>

#include <array>
#include <string>

namespace levin::data {

/// The parts of a set of data.
enum class Split { Train, Val, Test, Predict };

/// "train", "val", "test" or "predict".
const char* to_text(Split split);

/// A data module whose splits are datasets; a derived class says how each is made.
///
/// Each split is made once, by the first `setup` of a stage that needs it. Training batches come as the options say;
/// the others in order, with the last batch.
class DatasetModule : public DataModule {
 public:
  void setup(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;

  /// Unset under a batch sampler, which decides itself.
  std::optional<int64_t> batch_size() const override;
  void set_batch_size(int64_t batch_size) override;

  /// The split's dataset after `setup`; null where there is none, or where no stage needed it yet.
  const DatasetPtr& dataset(Split split) const { return datasets_[static_cast<size_t>(split)]; }

 protected:
  /// `name` is the class's, for messages.
  DatasetModule(std::string name, DataLoaderOptions train);
  /// Makes the dataset of a split; null where these data have none. Throws levin::UsageError.
  virtual DatasetPtr make_dataset(Split split) = 0;

 private:
  Loaders loader(Split split) const;

  std::string name_;
  DataLoaderOptions train_options_;
  std::array<DatasetPtr, 4> datasets_ = {};
  std::array<bool, 4> made_ = {};
};

}  // namespace levin::data
