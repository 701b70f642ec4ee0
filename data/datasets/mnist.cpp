#include <levin/data/datasets/mnist.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/idx_file.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/remote/output_place.h>
#include <levin/data/transforms/compose.h>

#include <filesystem>
#include <utility>

namespace levin::data {
namespace fs = std::filesystem;

IdxImages::IdxImages(Source source, std::string root, std::string url, DataLoaderOptions train, TransformPtr transform,
                     TransformPtr batch_transform)
    : DatasetModule(source.class_name, std::move(train)),
      source_(std::move(source)),
      root_(std::move(root)),
      url_(std::move(url)),
      transform_(std::move(transform)),
      batch_transform_(std::move(batch_transform)) {
  require_local("data.root", root_);
}

LearnedImages IdxImages::learned() const {
  return {.class_names = source_.class_names, .mean = {source_.mean}, .stddev = {source_.stddev}};
}

void IdxImages::load_learned_state(const State& state) {
  const LearnedImages learned = LearnedImages::of(state);
  source_.class_names = learned.class_names;
  source_.mean = learned.mean.at(0);
  source_.stddev = learned.stddev.at(0);
}

void IdxImages::prepare_data() {
  if (url_.empty()) return;
  for (const PublicFile& file : source_.files) {
    const fs::path plain = fs::path(file.name).stem();
    if (find_idx(fs::path(root_) / plain) || find_idx(cache_folder() / source_.cache_name / plain)) continue;
    download(file, url_, root_);
  }
}

DatasetPtr IdxImages::read(const std::string& prefix, bool training) const {
  const fs::path root = root_, in_cache = cache_folder() / source_.cache_name;
  const auto find_file = [&](const std::string& name) {
    for (const fs::path& folder : {root, in_cache}) {
      if (const auto found = find_idx(folder / name)) return *found;
    }
    throw UsageError(
        "data.root: no file ", (root / name).string(), "(.gz), nor one in ", in_cache.string(),
        url_.empty() ? "; set --data.root or pass --data.download true" : "; prepare_data() has not downloaded it");
  };
  const fs::path image_file = find_file(prefix + "-images-idx3-ubyte");
  const fs::path label_file = find_file(prefix + "-labels-idx1-ubyte");
  at::Tensor images = read_idx(image_file, 3), labels = read_idx(label_file, 1);
  if (images.size(0) != labels.size(0)) {
    throw UsageError("data.root: ", images.size(0), " images in ", image_file.string(), ", but ", labels.size(0),
                     " labels in ", label_file.string());
  }
  if (images.numel() == 0) throw UsageError("data.root: no images in ", image_file.string());
  labels = labels.to(at::kLong);
  images = images.unsqueeze(1);
  const bool as_bytes = training && transform_;
  if (!as_bytes) images = normalize_bytes(images, source_.mean, source_.stddev);
  const auto plain = std::make_shared<const TensorDataset>(Batch(images, labels), source_.class_names);
  if (!training) return plain;
  std::vector<TransformRef> changes;
  if (transform_) changes = {transform_, NormalizeBytes({source_.mean}, {source_.stddev})};
  if (batch_transform_) changes.emplace_back(batch_transform_);
  if (changes.empty()) return plain;
  return std::make_shared<const TransformedDataset>(plain, std::make_shared<const Compose>(std::move(changes)));
}

DatasetPtr IdxImages::make_dataset(Split split) {
  if (split == Split::Train) return read("train", true);
  if (!evaluation_) evaluation_ = read("t10k", false);
  return evaluation_;
}

// Sizes and checksums are from tensorflow/datasets (url_checksums); other projects have the same values.
MNIST::MNIST(Options options)
    : IdxImages(options, {.class_name = "MNIST",
                          .cache_name = "mnist",
                          .mean = 0.1307,
                          .stddev = 0.3081,
                          .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                          .files = {{{"train-images-idx3-ubyte.gz", 9912422,
                                      "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
                                     {"train-labels-idx1-ubyte.gz", 28881,
                                      "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
                                     {"t10k-images-idx3-ubyte.gz", 1648877,
                                      "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
                                     {"t10k-labels-idx1-ubyte.gz", 4542,
                                      "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}}}}) {}

FashionMNIST::FashionMNIST(Options options)
    : IdxImages(options, {.class_name = "FashionMNIST",
                          .cache_name = "fashion_mnist",
                          .mean = 0.2860,
                          .stddev = 0.3530,
                          .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                                          "Sneaker", "Bag", "Ankle boot"},
                          .files = {{{"train-images-idx3-ubyte.gz", 26421880,
                                      "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
                                     {"train-labels-idx1-ubyte.gz", 29515,
                                      "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
                                     {"t10k-images-idx3-ubyte.gz", 4422102,
                                      "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
                                     {"t10k-labels-idx1-ubyte.gz", 5148,
                                      "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}}}}) {}

}  // namespace levin::data
