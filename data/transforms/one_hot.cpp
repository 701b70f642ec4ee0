#include <levin/data/transforms/one_hot.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/engine/image_batch.h>

namespace levin::data {

OneHot::OneHot(Options options) : options_(options) {
  schema_of<Options>().check(&options_, "OneHot");
  if (options_.num_classes == 0) throw UsageError("OneHot.num_classes: missing; give the number of classes");
}

void OneHot::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  batch.set("target", one_hot(batch.target(), options_.num_classes, "OneHot"));
}

at::Tensor one_hot(const at::Tensor& target, int64_t num_classes, const std::string& transform) {
  if (target.dim() != 1 || target.scalar_type() != at::kLong || !target.is_cpu()) {
    throw Error(transform, ": needs `target` as class numbers, int64 [samples] on the CPU, got ", describe(target));
  }
  const at::Tensor classes = target.contiguous();
  const int64_t* from = classes.const_data_ptr<int64_t>();
  at::Tensor out = at::zeros({classes.size(0), num_classes}, at::TensorOptions(at::kFloat));
  float* row = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < classes.size(0); ++i, row += num_classes) {
    if (from[i] < 0 || from[i] >= num_classes)
      throw Error(transform, ": the target ", from[i], " is none of ", num_classes, " classes, 0 to ", num_classes - 1);
    row[from[i]] = 1;
  }
  return out;
}

}  // namespace levin::data
