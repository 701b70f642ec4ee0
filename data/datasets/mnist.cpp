#include <levin/data/datasets/mnist.h>
#include <levin/data/cache_folder.h>
#include <levin/data/datasets/idx_file.h>
#include <levin/trainer/core/error.h>

#include <filesystem>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

fs::path find_file(const fs::path& root, const fs::path& in_cache, const std::string& name) {
  for (const fs::path& folder : {root, in_cache}) {
    if (const auto found = find_idx(folder / name)) return *found;
  }
  throw UsageError("data.root: no file ", (root / name).string(), "(.gz), nor one in ", in_cache.string(),
                   "; set --data.root to the folder that has it");
}

DataLoaderOptions loader_options(const auto& options) {
  return {.batch_size = options.batch_size,
          .shuffle = options.shuffle,
          .num_workers = options.num_workers,
          .drop_last = options.drop_last,
          .pin_memory = options.pin_memory,
          .seed = options.seed};
}

}  // namespace

at::Tensor normalize_bytes(const at::Tensor& bytes, double mean, double stddev) {
  return bytes.to(at::kFloat).div_(255).sub_(mean).div_(stddev);
}

IdxImages::IdxImages(std::string root, std::string name, double mean, double stddev, DataLoaderOptions train)
    : root_(std::move(root)), name_(std::move(name)), mean_(mean), stddev_(stddev), options_(std::move(train)) {}

std::shared_ptr<const Dataset> IdxImages::read(const std::string& prefix) const {
  const fs::path in_cache = cache_folder() / name_;
  const fs::path image_file = find_file(root_, in_cache, prefix + "-images-idx3-ubyte");
  const fs::path label_file = find_file(root_, in_cache, prefix + "-labels-idx1-ubyte");
  const at::Tensor images = read_idx(image_file, 3), labels = read_idx(label_file, 1);
  if (images.size(0) != labels.size(0)) {
    throw UsageError("data.root: ", images.size(0), " images in ", image_file.string(), ", but ", labels.size(0),
                     " labels in ", label_file.string());
  }
  if (images.numel() == 0) throw UsageError("data.root: no images in ", image_file.string());
  return std::make_shared<TensorDataset>(normalize_bytes(images, mean_, stddev_).unsqueeze_(1), labels.to(at::kLong));
}

void IdxImages::setup(Stage stage) {
  if (stage == Stage::Fit && !train_) train_ = read("train");
  if (!evaluation_) evaluation_ = read("t10k");
}

Loaders IdxImages::train_dataloader() {
  if (!train_) throw UsageError(name_, ": call setup(Stage::Fit) before train_dataloader()");
  return DataLoader(train_, options_);
}

Loaders IdxImages::evaluation_loader() const {
  if (!evaluation_) throw UsageError(name_, ": call setup before asking for a loader");
  DataLoaderOptions options = options_;
  options.shuffle = options.drop_last = false;
  return DataLoader(evaluation_, options);
}

Loaders IdxImages::val_dataloader() { return evaluation_loader(); }
Loaders IdxImages::test_dataloader() { return evaluation_loader(); }
Loaders IdxImages::predict_dataloader() { return evaluation_loader(); }

MNIST::MNIST(Options options) : IdxImages(options.root, "mnist", 0.1307, 0.3081, loader_options(options)) {}

FashionMNIST::FashionMNIST(Options options)
    : IdxImages(options.root, "fashion_mnist", 0.2860, 0.3530, loader_options(options)) {}

}  // namespace levin::data
