#include <levin/modules/transformers/objectives/distillation.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/transformers/causal_lm.h>

#include <utility>

namespace levin::nn {
namespace {

/// Returns the rows of [batch, time, vocabulary] whose targets count, in at least float32.
at::Tensor counted_rows(const at::Tensor& logits, const at::Tensor& counts) {
  const at::Tensor rows = logits.flatten(0, 1).index_select(0, counts.flatten().nonzero().squeeze(1));
  return rows.scalar_type() == at::kDouble ? rows : rows.to(at::kFloat);
}

}  // namespace

Distillation::Distillation(Options options)
    : options_(std::move(options)), teacher_(options_.teacher, "model.objective.teacher") {
  schema_of<Options>().check(&options_, "model.objective");
}

Objective::Result Distillation::compute(CausalLM& model, const Batch& batch) {
  const at::Tensor &tokens = batch.input(), &target = batch.target();
  if (target.sizes() != tokens.sizes() || target.is_floating_point())
    throw UsageError("Distillation: expected a target of token ids ", tokens.sizes(), ", as the input is, got ",
                     target.sizes(), " of ", target.scalar_type());
  const DecoderInputs inputs = CausalLM::inputs_of(batch);
  const at::Tensor counts = target.ne(kIgnoredTarget);
  const double temperature = options_.temperature;
  const at::Tensor taught =
      at::log_softmax(counted_rows(teacher_.logits(model, tokens, inputs), counts) / temperature, 1);
  const at::Tensor logits = counted_rows(model.forward(tokens, inputs), counts);
  const at::Tensor number = counts.sum(), most = number.clamp_min(1);
  const at::Tensor divergence =
      at::kl_div(at::log_softmax(logits / temperature, 1), taught, at::Reduction::Sum, /*log_target=*/true) / most;
  const at::Tensor entropy =
      at::cross_entropy_loss(logits, target.masked_select(counts).to(at::kLong), {}, at::Reduction::Sum) / most;
  const double share = options_.weight * temperature * temperature;
  return {.loss = share * divergence + (1 - options_.weight) * entropy,
          .weight = number,
          .values = {{"divergence", divergence.detach()}, {"cross_entropy", entropy.detach()}}};
}

}  // namespace levin::nn
