#include <levin/modules/parallel/tensor/vocabulary_cross_entropy.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/stack.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <levin/modules/parallel/tensor/vocabulary_range.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor largest_over(const at::Tensor& values, ProcessGroup& group) {
  const c10::InferenceMode normal_tensors(false);  // another thread writes to them
  at::Tensor largest = values.clone(at::MemoryFormat::Contiguous);
  group.all_reduce(largest, ReduceOp::Max);
  return largest;
}

/// The negative log-likelihood of each target: logits [targets, rows], target [targets].
struct NegativeLogLikelihood : torch::autograd::Function<NegativeLogLikelihood> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits, const at::Tensor& target,
                            const Partition& rows, ProcessGroup* group) {
    const OwnTokens own = own_tokens(target, rows);
    // A shift by the largest logit of all ranks keeps exp within its range, and changes nothing.
    const at::Tensor shifted = logits - largest_over(at::amax(logits, {1}), *group).unsqueeze(1);
    const at::Tensor of_target = shifted.gather(1, own.places.unsqueeze(1)).squeeze(1).masked_fill(own.others, 0);
    at::Tensor softmax = shifted.exp();
    const at::Tensor sums = sum_over(at::stack({softmax.sum(1), of_target}), *group);
    softmax.div_(sums[0].unsqueeze(1));
    context->save_for_backward({softmax, own.places, own.others});
    return sums[0].log() - sums[1];
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& softmax = saved[0];
    const at::Tensor hit = saved[2].logical_not().to(softmax.scalar_type()).unsqueeze(1);
    at::Tensor of_logits = softmax.clone();
    of_logits.scatter_add_(1, saved[1].unsqueeze(1), hit.neg());
    return {of_logits.mul_(gradients[0].unsqueeze(1)), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

void check_logits(const at::Tensor& logits, const at::Tensor& target, const Partition& rows, int64_t ignored) {
  if (logits.dim() != target.dim() + 1 || logits.sizes().slice(0, target.dim()) != target.sizes() ||
      logits.size(-1) != rows.size_of_part())
    throw UsageError("vocabulary_cross_entropy: logits ", logits.sizes(), " for targets ", target.sizes(),
                     "; expected the shape of the targets and ", rows.size_of_part(), " of a vocabulary of ", rows.size,
                     ", the part of rank ", rows.rank, " of ", rows.ranks);
  if (target.scalar_type() != at::kLong)
    throw UsageError("vocabulary_cross_entropy: expected targets of int64, got ", target.scalar_type());
  check_in_vocabulary(target, rows.size, "vocabulary_cross_entropy: the target", ignored);
}

}  // namespace

at::Tensor vocabulary_cross_entropy(const at::Tensor& logits, const at::Tensor& target, int64_t vocabulary_size,
                                    const TensorGroup& group, VocabularyCrossEntropyOptions options) {
  Partition rows = {.dim = 0, .size = vocabulary_size};
  if (group) {
    rows.rank = group->rank();
    rows.ranks = group->world_size();
  }
  check_logits(logits, target, rows, options.ignore_index);
  const at::Tensor flat = logits.flatten(0, -2), targets = target.flatten();
  if (!group) {
    const at::Tensor loss = at::cross_entropy_loss(flat, targets, {}, options.reduction, options.ignore_index);
    return options.reduction == at::Reduction::None ? loss.view(target.sizes()) : loss;
  }
  const bool is_short = logits.scalar_type() == at::kHalf || logits.scalar_type() == at::kBFloat16;
  const at::Tensor ignored = targets == options.ignore_index;
  const at::Tensor losses = NegativeLogLikelihood::apply(is_short ? flat.to(at::kFloat) : flat,
                                                         targets.masked_fill(ignored, 0), rows, group.get())
                                .masked_fill(ignored, 0);
  if (options.reduction == at::Reduction::None) return losses.view(target.sizes());
  if (options.reduction == at::Reduction::Sum) return losses.sum();
  return losses.sum() / ignored.logical_not().sum();
}

}  // namespace levin::parallel
