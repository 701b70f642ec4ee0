#pragma once
#include <levin/data/dataset_module.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/loader_options.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace levin::data {

struct SyntheticDigitsOptions {
  int64_t train_size = LEVIN_OPTION(train_size, 10000, "Training images", {.min = 1});
  int64_t val_size = LEVIN_OPTION(val_size, 2000, "Validation images", {.min = 1});
  int64_t test_size = LEVIN_OPTION(test_size, 2000, "Images for test and predict", {.min = 1});
  int64_t image_seed = LEVIN_OPTION(image_seed, 0, "Seed of the images themselves");
  LEVIN_LOADER_OPTIONS(32, true);
};

/// Digits drawn and distorted by code, in the shape and scale of MNIST: a dataset for examples, without files.
///
/// Inputs are float32 [samples, 1, 28, 28] and targets int64 [samples]. The images depend on image_seed alone.
class SyntheticDigits : public DatasetModule {
 public:
  using Options = SyntheticDigitsOptions;
  explicit SyntheticDigits(Options options = {});

  State learned_state() override { return learned_.state_dict(); }
  void load_learned_state(const State& state) override { learned_ = LearnedImages::of(state); }
  std::optional<RawInput> raw_input() override { return learned_.raw_input(1, 28, 28); }

 protected:
  DatasetPtr make_dataset(Split split) override;

 private:
  Options options_;
  LearnedImages learned_ = {
      .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, .mean = {0.1307}, .stddev = {0.3081}};
};

/// Writes synthetic digits to `folder`, which is created, as MNIST's four idx files; as gzip if `compressed`.
void write_synthetic_mnist(const std::filesystem::path& folder, int64_t train_size, int64_t test_size,
                           bool compressed = false, int64_t image_seed = 0);

}  // namespace levin::data
