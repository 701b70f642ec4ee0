#pragma once
#include <levin/data/data_loader.h>
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace levin::data {

struct MNISTOptions {
  std::string root = LEVIN_OPTION(root, "mnist", "Folder with the four idx files, plain or gzip");
  int64_t batch_size = LEVIN_OPTION(batch_size, 32, "Samples per batch and device", {.min = 1});
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});
  bool shuffle = LEVIN_OPTION(shuffle, true, "Draw a new order of the training samples for each epoch");
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last training batch that is not full");
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of the order; unset: the run's seed");
};

struct FashionMNISTOptions {
  std::string root = LEVIN_OPTION(root, "fashion_mnist", "Folder with the four idx files, plain or gzip");
  int64_t batch_size = LEVIN_OPTION(batch_size, 32, "Samples per batch and device", {.min = 1});
  int64_t num_workers = LEVIN_OPTION(num_workers, 0, "Threads that load ahead; 0: none", {.min = 0});
  bool shuffle = LEVIN_OPTION(shuffle, true, "Draw a new order of the training samples for each epoch");
  bool drop_last = LEVIN_OPTION(drop_last, false, "Leave out a last training batch that is not full");
  bool pin_memory = LEVIN_OPTION(pin_memory, false, "Load into page-locked memory, for faster copies to a GPU");
  std::optional<int64_t> seed = LEVIN_OPTION(seed, {}, "Seed of the order; unset: the run's seed");
};

/// Images and labels from MNIST's four files: what MNIST and FashionMNIST share.
///
/// Inputs are float32 [samples, 1, height, width], `((x / 255) - mean) / stddev`; targets int64 [samples]. Training
/// uses the train files; validation, test and prediction the t10k files. Each is read once. Throws levin::UsageError
/// that names the file which is missing or broken.
class IdxImages : public DataModule {
 public:
  void setup(Stage stage) override;
  Loaders train_dataloader() override;
  Loaders val_dataloader() override;
  Loaders test_dataloader() override;
  Loaders predict_dataloader() override;

 protected:
  /// Files are looked for in `root`, then in the cache folder's `name`.
  IdxImages(std::string root, std::string name, double mean, double stddev, DataLoaderOptions train);

 private:
  std::shared_ptr<const Dataset> read(const std::string& prefix) const;
  Loaders evaluation_loader() const;

  std::string root_, name_;
  double mean_, stddev_;
  DataLoaderOptions options_;
  std::shared_ptr<const Dataset> train_ = {}, evaluation_ = {};
};

/// Handwritten digits (LeCun, Cortes, Burges), mean 0.1307 and standard deviation 0.3081.
class MNIST : public IdxImages {
 public:
  using Options = MNISTOptions;
  explicit MNIST(Options options = {});
};

/// Articles of clothing (Xiao, Rasul, Vollgraf 2017), mean 0.2860 and standard deviation 0.3530.
class FashionMNIST : public IdxImages {
 public:
  using Options = FashionMNISTOptions;
  explicit FashionMNIST(Options options = {});
};

/// Bytes to float32: `((x / 255) - mean) / stddev`, in this order.
at::Tensor normalize_bytes(const at::Tensor& bytes, double mean, double stddev);

}  // namespace levin::data
