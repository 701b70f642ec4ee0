#include <levin/data/datasets/synthetic_digits.h>
#include <levin/data/datasets/digit_glyphs.h>
#include <levin/data/datasets/idx_file.h>
#include <levin/data/datasets/mnist.h>
#include <levin/trainer/core/error.h>

#include <string>

namespace levin::data {
namespace {

enum Split : int64_t { kTrain, kVal, kTest };

std::shared_ptr<const Dataset> draw(int64_t count, int64_t seed, Split split) {
  const DrawnDigits digits = draw_digits(count, seed, split);
  return std::make_shared<TensorDataset>(normalize_bytes(digits.images, 0.1307, 0.3081).unsqueeze_(1),
                                         digits.labels.to(at::kLong));
}

Loaders loader(const std::shared_ptr<const Dataset>& dataset, const SyntheticDigitsOptions& options, bool training) {
  if (!dataset) throw UsageError("SyntheticDigits: call setup before asking for a loader");
  return DataLoader(dataset, {.batch_size = options.batch_size,
                              .shuffle = training && options.shuffle,
                              .num_workers = options.num_workers,
                              .drop_last = training && options.drop_last,
                              .pin_memory = options.pin_memory,
                              .seed = options.seed});
}

}  // namespace

SyntheticDigits::SyntheticDigits(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
}

void SyntheticDigits::setup(Stage stage) {
  if (stage == Stage::Fit && !train_) train_ = draw(options_.train_size, options_.image_seed, kTrain);
  if ((stage == Stage::Fit || stage == Stage::Validate) && !val_) {
    val_ = draw(options_.val_size, options_.image_seed, kVal);
  }
  if ((stage == Stage::Test || stage == Stage::Predict) && !test_) {
    test_ = draw(options_.test_size, options_.image_seed, kTest);
  }
}

Loaders SyntheticDigits::train_dataloader() { return loader(train_, options_, true); }
Loaders SyntheticDigits::val_dataloader() { return loader(val_, options_, false); }
Loaders SyntheticDigits::test_dataloader() { return loader(test_, options_, false); }
Loaders SyntheticDigits::predict_dataloader() { return loader(test_, options_, false); }

void write_synthetic_mnist(const std::filesystem::path& folder, int64_t train_size, int64_t test_size, bool compressed,
                           int64_t image_seed) {
  std::filesystem::create_directories(folder);
  const std::string ending = compressed ? ".gz" : "";
  const auto write = [&](const std::string& prefix, const DrawnDigits& digits) {
    write_idx(folder / (prefix + "-images-idx3-ubyte" + ending), digits.images);
    write_idx(folder / (prefix + "-labels-idx1-ubyte" + ending), digits.labels);
  };
  write("train", draw_digits(train_size, image_seed, kTrain));
  write("t10k", draw_digits(test_size, image_seed, kTest));
}

}  // namespace levin::data
