#pragma once
#include <levin/data/data_module.h>
#include <levin/data/dataset.h>
#include <levin/data/transforms/registry.h>
#include <levin/data/transforms/transform.h>

#include <cstdint>
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

/// Subtracts means and divides by deviations, one for each channel of floating-point images [samples, channels, height,
/// width]; returns float32.
at::Tensor normalize_numbers(const at::Tensor& images, const std::vector<double>& mean,
                             const std::vector<double>& stddev);

/// Converts images [samples, channels, height, width] to normalised float32: bytes, or floating-point images from 0 to
/// 1, as ConvertImage makes them.
class NormalizeBytes final : public Transform {
 public:
  NormalizeBytes(const std::vector<double>& mean, const std::vector<double>& stddev)
      : mean_(mean), stddev_(stddev), table_(mean, stddev) {}
  /// Throws levin::Error if the number of channels differs.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  std::vector<double> mean_, stddev_;
  ByteTable table_;
};

/// Throws levin::UsageError if one of the transforms normalises images or makes numbers beyond 0 to 1 of their bytes:
/// images of `data_module` are normalised after the transforms, in training as in evaluation. `advice` ends the
/// message.
void refuse_normalizing(const std::vector<ClassChoice<TransformKind>>& transforms, const std::string& path,
                        const std::string& data_module, const std::string& advice = "");

/// What a data module of images knows of its training data.
struct LearnedImages {
  std::vector<std::string> class_names = {};
  std::vector<double> mean = {}, stddev = {};  ///< empty: images stay bytes

  State state_dict() const;
  /// Throws levin::Error for another tree.
  static LearnedImages of(const State& state);
  /// Returns how images of bytes become what a module takes.
  RawInput raw_input(int64_t channels, int64_t height, int64_t width) const;
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
