#pragma once
#include <levin/data/data_module.h>
#include <levin/data/datasets/mixture_dataset.h>
#include <levin/data/loader_options.h>
#include <levin/data/registry.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace levin::data {

struct MixtureOptions {
  std::vector<ClassChoice<DataModuleKind>> datasets = LEVIN_OPTION(
      datasets, {},
      "The data that are mixed, each as `data` would name it. Of their own loaders' options shuffle and seed count");
  std::vector<double> weights = LEVIN_OPTION(
      weights, {},
      "How often a sample of each comes, in proportion: [3, 1] takes three of the first for each one of the second; "
      "empty: equally often");
  /// These options appear beside the others, without a prefix.
  MixtureDatasetOptions mixing = {};
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Several data modules as one: training samples are mixed by weights (MixtureDataset), those of validation, test and
/// predict come one dataset after another, each sample once.
///
/// Batches are moved to their device as usual: a data module that changes batches there, by a hook of its own, is
/// refused.
class Mixture : public DataModule {
 public:
  using Options = MixtureOptions;
  /// Throws levin::UsageError for invalid options, and the errors of the data modules.
  explicit Mixture(Options options = {});

  void prepare_data() override;
  void setup(Stage stage) override;
  void teardown(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;
  std::optional<int64_t> batch_size() const override { return options_.batch_size; }
  void set_batch_size(int64_t batch_size) override { options_.batch_size = checked_batch_size(batch_size); }
  /// What each data module learns, in their order.
  State learned_state() override;
  void load_learned_state(const State& state) override;
  State state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  Loaders evaluation_loader(Loaders (DataModule::*loaders)()) const;

  Options options_;
  std::vector<std::shared_ptr<DataModule>> modules_ = {};
};

}  // namespace levin::data
