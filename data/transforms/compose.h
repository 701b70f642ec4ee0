#pragma once
#include <levin/data/transforms/transform.h>

#include <concepts>
#include <memory>
#include <utility>
#include <vector>

namespace levin::data {

/// Takes any transform by value or by pointer.
struct TransformRef {
  template <std::derived_from<Transform> T>
  TransformRef(T transform) : pointer(std::make_shared<const T>(std::move(transform))) {}
  template <std::derived_from<Transform> T>
  TransformRef(std::shared_ptr<T> transform) : pointer(std::move(transform)) {}
  template <std::derived_from<Transform> T>
  TransformRef(std::shared_ptr<const T> transform) : pointer(std::move(transform)) {}

  TransformPtr pointer;
};

/// Applies transforms in sequence: `Compose({RandomHorizontalFlip(), ConvertImage()})`.
///
/// A list of transforms in a config means the same.
class Compose final : public Transform {
 public:
  /// Throws levin::UsageError for a null pointer.
  explicit Compose(std::vector<TransformRef> transforms);
  void operator()(Batch& batch, std::span<Rng> rngs) const override;

 private:
  std::vector<TransformRef> transforms_;
};

}  // namespace levin::data
