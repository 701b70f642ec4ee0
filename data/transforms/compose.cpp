#include <levin/data/transforms/compose.h>
#include <levin/core/system/error.h>

namespace levin::data {

Compose::Compose(std::vector<TransformRef> transforms) : transforms_(std::move(transforms)) {
  for (const TransformRef& transform : transforms_) {
    if (!transform.pointer) throw UsageError("Compose: expected a transform, got a null pointer");
  }
}

void Compose::operator()(Batch& batch, std::span<Rng> rngs) const {
  for (const TransformRef& transform : transforms_) (*transform.pointer)(batch, rngs);
}

}  // namespace levin::data
