#include <levin/data/datasets/cifar.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/download/file_lock.h>
#include <levin/data/files/archive.h>
#include <levin/data/remote/output_place.h>
#include <levin/data/transforms/compose.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace fs = std::filesystem;

CIFARModule::CIFARModule(Source source, const std::string& root, std::string url, DataLoaderOptions train,
                         TransformPtr transform, TransformPtr batch_transform)
    : DatasetModule(source.class_name, std::move(train)),
      source_(std::move(source)),
      root_(root),
      url_(std::move(url)),
      transform_(std::move(transform)),
      batch_transform_(std::move(batch_transform)) {
  require_local("data.root", root);
}

fs::path CIFARModule::find_folder() const {
  for (const fs::path& parent : {root_, cache_folder() / source_.cache_name}) {
    for (const fs::path& folder : {parent, parent / source_.folder}) {
      const auto has = [&](const std::string& name) {
        std::error_code ignored;
        return fs::is_regular_file(folder / name, ignored);
      };
      if (std::ranges::all_of(source_.files, has)) return folder;
    }
  }
  return {};
}

void CIFARModule::prepare_data() {
  if (url_.empty() || !find_folder().empty()) return;
  std::error_code ignored;
  fs::create_directories(root_, ignored);
  const FileLock turn(root_ / (source_.folder + ".lock"), "prepares " + (root_ / source_.folder).string());
  if (find_folder().empty()) {
    download(source_.archive, url_, root_);
    const fs::path archive = root_ / source_.archive.name;
    unpack_archive(archive, root_ / source_.folder, /*strip_components=*/1);
    fs::remove(archive, ignored);
  }
  turn.remove();
}

fs::path CIFARModule::folder() const {
  fs::path folder = find_folder();
  if (folder.empty()) {
    throw UsageError(
        "data.root: no files ", source_.files.front(), " to ", source_.files.back(), " in ", root_.string(), " or ",
        (root_ / source_.folder).string(), ", nor in ", (cache_folder() / source_.cache_name).string(),
        url_.empty() ? "; set --data.root or pass --data.download true" : "; prepare_data() has not downloaded them");
  }
  return folder;
}

State CIFARModule::learned_state() {
  return LearnedImages{.class_names = loaded_names_ ? *loaded_names_ : read_cifar_names(folder() / source_.names_file),
                       .mean = source_.mean,
                       .stddev = source_.stddev}
      .state_dict();
}

void CIFARModule::load_learned_state(const State& state) {
  LearnedImages learned = LearnedImages::of(state);
  loaded_names_ = std::move(learned.class_names);
  source_.mean = std::move(learned.mean);
  source_.stddev = std::move(learned.stddev);
}

std::optional<RawInput> CIFARModule::raw_input() {
  return LearnedImages{.mean = source_.mean, .stddev = source_.stddev}.raw_input(3, 32, 32);
}

DatasetPtr CIFARModule::make_dataset(Split split) {
  const bool training = split == Split::Train;
  if (!training && evaluation_) return evaluation_;
  const std::unique_ptr<const CIFARDataset> bytes = read(folder(), training);
  if (!loaded_names_) loaded_names_ = bytes->class_names();
  if (training) return training_images(*bytes);
  const Batch& tensors = bytes->tensors();
  evaluation_ = std::make_shared<const NormalizedImages>(tensors.input(), tensors.target(),
                                                         ByteTable(source_.mean, source_.stddev), *loaded_names_);
  return evaluation_;
}

DatasetPtr CIFARModule::training_images(const CIFARDataset& bytes) const {
  const Batch& tensors = bytes.tensors();
  if (!transform_) {
    auto normalized = std::make_shared<const NormalizedImages>(
        tensors.input(), tensors.target(), ByteTable(source_.mean, source_.stddev), bytes.class_names());
    if (!batch_transform_) return normalized;
    return std::make_shared<const TransformedDataset>(std::move(normalized), batch_transform_);
  }
  std::vector<TransformRef> changes = {transform_, NormalizeBytes(source_.mean, source_.stddev)};
  if (batch_transform_) changes.emplace_back(batch_transform_);
  return std::make_shared<const TransformedDataset>(TensorDataset(tensors, bytes.class_names()),
                                                    std::make_shared<const Compose>(std::move(changes)));
}

// Sizes and checksums are from tensorflow/datasets (url_checksums); other projects have the same values.
CIFAR10::CIFAR10(Options options)
    : CIFARModule(options, {.class_name = "CIFAR10",
                            .cache_name = "cifar10",
                            .folder = "cifar-10-batches-bin",
                            .files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                      "data_batch_5.bin", "test_batch.bin"},
                            .names_file = "batches.meta.txt",
                            .mean = {0.4914, 0.4822, 0.4465},
                            .stddev = {0.2470, 0.2435, 0.2616},
                            .archive = {"cifar-10-binary.tar.gz", 170052171,
                                        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}}) {}

std::unique_ptr<const CIFARDataset> CIFAR10::read(const fs::path& folder, bool train) const {
  return std::make_unique<const CIFAR10Dataset>(folder, train);
}

CIFAR100::CIFAR100(Options options)
    : CIFARModule(options, {.class_name = "CIFAR100",
                            .cache_name = "cifar100",
                            .folder = "cifar-100-binary",
                            .files = {"train.bin", "test.bin"},
                            .names_file = options.coarse ? "coarse_label_names.txt" : "fine_label_names.txt",
                            .mean = {0.5071, 0.4865, 0.4409},
                            .stddev = {0.2673, 0.2564, 0.2762},
                            .archive = {"cifar-100-binary.tar.gz", 168513733,
                                        "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"}}),
      coarse_(options.coarse) {}

std::unique_ptr<const CIFARDataset> CIFAR100::read(const fs::path& folder, bool train) const {
  return std::make_unique<const CIFAR100Dataset>(folder, train, coarse_);
}

}  // namespace levin::data
