#pragma once
#include <levin/data/dataset.h>
#include <levin/data/transforms/transform.h>

#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Converts bytes to float32: `((x / 255) - mean) / stddev`, in this order.
at::Tensor normalize_bytes(const at::Tensor& bytes, double mean, double stddev);

/// `normalize_bytes` for each channel of images, by table lookup; results are bitwise equal.
class ByteTable {
 public:
  /// Throws levin::UsageError if there are no means, or another number of means than of deviations.
  ByteTable(const std::vector<double>& mean, const std::vector<double>& stddev);
  int64_t channels() const { return static_cast<int64_t>(channels_.size()); }
  /// Writes `count` images with `pixels` pixels per channel.
  void write(const uint8_t* from, float* to, int64_t count, int64_t pixels) const;

 private:
  std::vector<std::vector<float>> channels_ = {};
};

/// Converts uint8 images [samples, channels, height, width] to normalised float32; other images stay as they are.
class NormalizeBytes final : public Transform {
 public:
  NormalizeBytes(const std::vector<double>& mean, const std::vector<double>& stddev) : table_(mean, stddev) {}
  /// Throws levin::Error if the number of channels differs.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  ByteTable table_;
};

/// Images kept in memory as bytes and returned as normalised float32, with their labels.
class NormalizedImages final : public Dataset {
 public:
  /// `images` uint8 [samples, channels, height, width], `labels` int64 [samples]; throws levin::UsageError for others.
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
