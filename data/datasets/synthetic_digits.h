#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace levin::data {

struct SyntheticDigitsOptions {
  int64_t train_size = LEVIN_OPTION(train_size, 10000, "Training images", {.min = 1});
  int64_t val_size = LEVIN_OPTION(val_size, 2000, "Validation images", {.min = 1});
  int64_t test_size = LEVIN_OPTION(test_size, 2000, "Images for test and predict", {.min = 1});
  int64_t batch_size = LEVIN_OPTION(batch_size, 32, "Samples per batch and device", {.min = 1});
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});
  bool shuffle = LEVIN_OPTION(shuffle, true, "Draw a new order of the training samples for each epoch");
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last training batch that is not full");
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of the order; unset: the run's seed");
  int64_t image_seed = LEVIN_OPTION(image_seed, 0, "Seed of the images themselves");
};

/// Digits drawn and distorted by code, in the shape and scale of MNIST: an example that needs no file.
///
/// Inputs are float32 [samples, 1, 28, 28] and targets int64 [samples]. The images depend on image_seed alone.
class SyntheticDigits : public DataModule {
 public:
  using Options = SyntheticDigitsOptions;
  explicit SyntheticDigits(Options options = {});

  void setup(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;

 private:
  Options options_;
  std::shared_ptr<const Dataset> train_ = {}, val_ = {}, test_ = {};
};

/// Writes synthetic digits as MNIST's four idx files into `folder`, which is made; gzip where `compressed`.
void write_synthetic_mnist(const std::filesystem::path& folder, int64_t train_size, int64_t test_size,
                           bool compressed = false, int64_t image_seed = 0);

}  // namespace levin::data
