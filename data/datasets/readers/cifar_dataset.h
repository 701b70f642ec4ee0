#pragma once
#include <levin/data/dataset.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// The file format of a CIFAR set: records of labels and 3 * 32 * 32 bytes.
struct CIFARFormat {
  std::vector<std::string> files;
  std::string names_file;  ///< one class name a line; may be missing
  int64_t label_bytes;     ///< label bytes in front of each image
  int64_t label_byte;      ///< index of the label byte that is the target
  int64_t num_classes;
};

/// Returns the lines of a file of class names; none if there is no such file.
std::vector<std::string> read_cifar_names(const std::filesystem::path& path);

/// The base of the CIFAR datasets: images uint8 [samples, 3, 32, 32] in memory, targets int64 [samples].
class CIFARDataset : public Dataset {
 public:
  int64_t size() const override { return tensors_.size(); }
  Batch get(int64_t index, Rng& rng) const override { return tensors_.get(index, rng); }
  void get_batch(const Indices& indices, Batch& out) const override { tensors_.get_batch(indices, out); }
  std::vector<std::string> class_names() const override { return tensors_.class_names(); }
  /// Returns all images and targets.
  const Batch& tensors() const { return tensors_.tensors(); }

 protected:
  /// Throws levin::UsageError that names the file if it is missing, does not have a whole number of records, or has a
  /// label that is no class.
  CIFARDataset(const std::filesystem::path& folder, const CIFARFormat& format);

 private:
  TensorDataset tensors_;
};

/// CIFAR-10's binary version: data_batch_1.bin to data_batch_5.bin, or test_batch.bin, in `folder`. Class names are in
/// batches.meta.txt.
/// Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images".
/// Source: https://www.cs.toronto.edu/~kriz/cifar.html
class CIFAR10Dataset final : public CIFARDataset {
 public:
  explicit CIFAR10Dataset(const std::filesystem::path& folder, bool train = true);
};

/// CIFAR-100's binary version: train.bin or test.bin in `folder`; the 100 fine classes, or the 20 coarse ones. Class
/// names are in fine_label_names.txt and coarse_label_names.txt.
class CIFAR100Dataset final : public CIFARDataset {
 public:
  explicit CIFAR100Dataset(const std::filesystem::path& folder, bool train = true, bool coarse = false);
};

}  // namespace levin::data
