#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/option.h>
#include <levin/data/transforms/transform.h>

#include <cstdint>
#include <string>

namespace levin::data {

struct OneHotOptions {
  int64_t num_classes = LEVIN_OPTION(num_classes, 0, "Number of classes; required", {.min = 0});
};

/// Converts `target`, int64 [samples], to float32 [samples, num_classes]: 1 at the class, else 0.
class OneHot final : public Transform {
 public:
  using Options = OneHotOptions;
  /// Throws levin::UsageError without num_classes.
  explicit OneHot(Options options);
  /// Throws levin::Error for a target that is not a class.
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  Options options_;
};

/// Converts class numbers [samples] as OneHot does. Throws levin::Error that starts with `transform`.
at::Tensor one_hot(const at::Tensor& target, int64_t num_classes, const std::string& transform);

}  // namespace levin::data
