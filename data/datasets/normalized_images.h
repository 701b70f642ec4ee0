#pragma once
#include <levin/data/dataset.h>
#include <levin/data/transforms/transform.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Bytes to float32: `((x / 255) - mean) / stddev`, in this order.
at::Tensor normalize_bytes(const at::Tensor& bytes, double mean, double stddev);

/// `normalize_bytes` for each channel of images, looked up in a table: the same numbers bit for bit.
class ByteTable {
 public:
  /// Throws levin::UsageError for another number of means than of deviations, and for none.
  ByteTable(const std::vector<double>& mean, const std::vector<double>& stddev);
  int64_t channels() const { return static_cast<int64_t>(channels_.size()); }
  /// Writes `count` images of `pixels` pixels for each channel.
  void write(const uint8_t* from, float* to, int64_t count, int64_t pixels) const;

 private:
  std::vector<std::vector<float>> channels_ = {};
};

/// uint8 images [samples, channels, height, width] become normalised float32; others stay as they are.
class NormalizeBytes final : public Transform {
 public:
  NormalizeBytes(const std::vector<double>& mean, const std::vector<double>& stddev) : table_(mean, stddev) {}
  /// Throws levin::Error for another number of channels.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  ByteTable table_;
};

/// Images in memory, kept as bytes and given out as normalised float32 with their labels.
class NormalizedImages final : public Dataset {
 public:
  /// `images` uint8 [samples, channels, height, width], `labels` int64 [samples]. Throws levin::UsageError for others.
  NormalizedImages(at::Tensor images, at::Tensor labels, ByteTable table, std::vector<std::string> class_names = {});
  int64_t size() const override { return images_.size(0); }
  void get_batch(const Indices& indices, Batch& out) const override;
  std::vector<std::string> class_names() const override { return class_names_; }

 private:
  at::Tensor images_, labels_;
  ByteTable table_;
  std::vector<std::string> class_names_;
};

}  // namespace levin::data
