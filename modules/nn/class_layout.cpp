#include <levin/modules/nn/class_layout.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/recording/is_recording.h>

namespace levin {
namespace {

bool fits_second(const at::Tensor& output, const at::Tensor& target) {
  at::DimVector expected(output.sizes());
  expected.erase(expected.begin() + 1);
  return target.sizes() == expected;
}

bool fits_last(const at::Tensor& output, const at::Tensor& target) {
  return target.sizes() == output.sizes().slice(0, static_cast<size_t>(output.dim() - 1));
}

bool are_last(const at::Tensor& output, const at::Tensor& target, ClassDimension dimension) {
  if (output.dim() < 3 || dimension == ClassDimension::Second) return false;
  if (dimension == ClassDimension::Last) return true;
  const bool is_open = target.is_floating_point() ? target.sizes() == output.sizes()
                                                  : fits_second(output, target) && fits_last(output, target);
  if (is_open)
    throw UsageError("model.class_dimension: the model makes ", output.sizes(), " and the target is ", target.sizes(),
                     ", so that the classes may be in dimension 1 or in the last one; set it to second or last");
  return fits_last(output, target);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> with_classes_second(const at::Tensor& output, const at::Tensor& target,
                                                      ClassDimension dimension) {
  if (!are_last(output, target, dimension)) return {output, target};
  const bool fits = target.is_floating_point() ? target.sizes() == output.sizes() : fits_last(output, target);
  if (!fits)
    throw UsageError("data: the model makes ", output.sizes(), " with the classes last, and the target is ",
                     target.sizes(), "; it has to be ", output.sizes().slice(0, static_cast<size_t>(output.dim() - 1)));
  const int64_t classes = output.size(-1);
  const at::Tensor values = output.reshape({-1, classes});
  return {values, target.is_floating_point() ? target.reshape({-1, classes}) : target.reshape({-1})};
}

ClassHits count_class_hits(const at::Tensor& output, const at::Tensor& target, bool has_ignored) {
  const at::Tensor hits = output.argmax(1).eq(target);
  if (!has_ignored && output.dim() == 2) return {hits.to(at::kFloat).mean(), target.numel()};
  const int64_t counted = target.ne(kIgnoredTarget).sum().item<int64_t>();
  return {hits.sum().to(at::kFloat).div(static_cast<double>(counted > 0 ? counted : 1)), counted};
}

StepOutput weighed_by_targets(const LightningModule& module, const at::Tensor& loss, const at::Tensor& target) {
  const auto is_whole_step = [&] {
    return module.world_size() == 1 && module.run().state().accumulate_grad_batches == 1;
  };
  if ((!target.is_cpu() || recording::is_recording()) && is_whole_step()) return loss;
  return {loss, target.ne(kIgnoredTarget).sum()};
}

}  // namespace levin
