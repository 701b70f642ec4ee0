#include <levin/data/datasets/readers/cifar_dataset.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/files/mapped_file.h>

#include <algorithm>
#include <fstream>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kImageBytes = 3 * 32 * 32;

std::vector<std::string> read_names(const fs::path& path, int64_t num_classes) {
  std::vector<std::string> names = read_cifar_names(path);
  if (!names.empty() && static_cast<int64_t>(names.size()) != num_classes)
    throw UsageError(path.string(), ": ", names.size(), " class names, expected ", num_classes);
  return names;
}

MappedFilePtr open_records(const fs::path& path, int64_t record) {
  MappedFilePtr file = map_file(path, FileAccess::Sequential);
  if (file->size() % record == 0) return file;
  throw UsageError(path.string(), ": ", file->size(), " bytes are no whole number of records of ", record,
                   " bytes; the file is cut off or another one");
}

Batch read(const fs::path& folder, const CIFARFormat& format) {
  const int64_t record = format.label_bytes + kImageBytes;
  std::vector<MappedFilePtr> files;
  int64_t samples = 0;
  for (const std::string& name : format.files) {
    files.push_back(open_records(folder / name, record));
    samples += files.back()->size() / record;
  }
  at::Tensor images = at::empty({samples, 3, 32, 32}, at::TensorOptions(at::kByte));
  at::Tensor labels = at::empty({samples}, at::TensorOptions(at::kLong));
  uint8_t* image = images.mutable_data_ptr<uint8_t>();
  int64_t* label = labels.mutable_data_ptr<int64_t>();
  for (const MappedFilePtr& file : files) {
    for (int64_t at = 0; at < file->size(); at += record, image += kImageBytes) {
      const char* bytes = file->data() + at;
      *label = static_cast<unsigned char>(bytes[format.label_byte]);
      if (*label >= format.num_classes) {
        throw UsageError(file->path().string(), ": record ", at / record, " has the label ", *label, ", none of ",
                         format.num_classes, " classes; the file is broken or another one");
      }
      ++label;
      std::copy_n(bytes + format.label_bytes, kImageBytes, image);
    }
  }
  return Batch(std::move(images), std::move(labels));
}

}  // namespace

std::vector<std::string> read_cifar_names(const fs::path& path) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

CIFARDataset::CIFARDataset(const fs::path& folder, const CIFARFormat& format)
    : tensors_(read(folder, format), read_names(folder / format.names_file, format.num_classes)) {}

CIFAR10Dataset::CIFAR10Dataset(const fs::path& folder, bool train)
    : CIFARDataset(
          folder, {.files = train ? std::vector<std::string>{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                             "data_batch_4.bin", "data_batch_5.bin"}
                                  : std::vector<std::string>{"test_batch.bin"},
                   .names_file = "batches.meta.txt",
                   .label_bytes = 1,
                   .label_byte = 0,
                   .num_classes = 10}) {}

CIFAR100Dataset::CIFAR100Dataset(const fs::path& folder, bool train, bool coarse)
    : CIFARDataset(folder, {.files = {train ? "train.bin" : "test.bin"},
                            .names_file = coarse ? "coarse_label_names.txt" : "fine_label_names.txt",
                            .label_bytes = 2,
                            .label_byte = coarse ? 0 : 1,
                            .num_classes = coarse ? 20 : 100}) {}

}  // namespace levin::data
