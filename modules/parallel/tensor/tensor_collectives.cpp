#include <levin/modules/parallel/tensor/tensor_collectives.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/system/error.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>
#include <vector>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What a backward keeps. A graph may outlive the layers, so it shares the group.
struct Held : torch::CustomClassHolder {
  Held(TensorGroup group_, Partition partition_ = {}) : group(std::move(group_)), partition(partition_) {}
  TensorGroup group;
  Partition partition;
};

void hold(AutogradContext* context, const TensorGroup& group, const Partition& partition = {}) {
  context->saved_data["held"] = c10::IValue::make_capsule(c10::make_intrusive<Held>(group, partition));
}

const Held& held(AutogradContext* context) {
  return *static_cast<Held*>(context->saved_data["held"].toCapsule().get());
}

struct CopyToGroup;

struct ReduceFromGroup : torch::autograd::Function<ReduceFromGroup> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const TensorGroup& group) {
    hold(context, group);
    return sum_over(x, *group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients);
};

struct CopyToGroup : torch::autograd::Function<CopyToGroup> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const TensorGroup& group) {
    hold(context, group);
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {ReduceFromGroup::apply(gradients[0], held(context).group), at::Tensor()};
  }
};

variable_list ReduceFromGroup::backward(AutogradContext* context, variable_list gradients) {
  return {CopyToGroup::apply(gradients[0], held(context).group), at::Tensor()};
}

struct GatherFromGroup : torch::autograd::Function<GatherFromGroup> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Partition& partition,
                            const TensorGroup& group) {
    hold(context, group, partition);
    return gather_parts(x, partition, *group);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients);
};

struct ScatterToGroup : torch::autograd::Function<ScatterToGroup> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Partition& partition,
                            const TensorGroup& group) {
    hold(context, group, partition);
    return partition.part_of(x).contiguous();
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Held& of = held(context);
    return {GatherFromGroup::apply(gradients[0], of.partition, of.group), at::Tensor(), at::Tensor()};
  }
};

variable_list GatherFromGroup::backward(AutogradContext* context, variable_list gradients) {
  const Held& of = held(context);
  return {ScatterToGroup::apply(gradients[0], of.partition, of.group), at::Tensor(), at::Tensor()};
}

int64_t positive(int64_t dim, const at::Tensor& x) { return dim < 0 ? dim + x.dim() : dim; }

}  // namespace

at::Tensor sum_over(const at::Tensor& x, ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  const c10::InferenceMode normal_tensors(false);  // another thread writes to them
  const bool is_short = x.is_cpu() && (x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16);
  at::Tensor sum = at::empty(x.sizes(), is_short ? x.options().dtype(at::kFloat) : x.options());
  sum.copy_(x);
  group.all_reduce(sum, ReduceOp::Sum);
  return is_short ? sum.to(x.scalar_type()) : sum;
}

at::Tensor gather_parts(const at::Tensor& part, const Partition& partition, ProcessGroup& group) {
  const at::NoGradGuard no_grad;
  const c10::InferenceMode normal_tensors(false);
  const int64_t largest = partition.largest_part(), dim = partition.dim;
  // all_gather needs tensors of equal shape.
  std::vector<int64_t> sizes = part.sizes().vec();
  sizes[static_cast<size_t>(dim)] = largest;
  at::Tensor sent = at::empty(sizes, part.options());
  sent.narrow(dim, 0, part.size(dim)).copy_(part);
  if (part.size(dim) < largest) sent.narrow(dim, part.size(dim), largest - part.size(dim)).zero_();
  std::vector<at::Tensor> parts = group.all_gather(sent);
  Partition of_rank = partition;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    of_rank.rank = static_cast<int64_t>(rank);
    parts[rank] = parts[rank].narrow(dim, 0, of_rank.size_of_part());
  }
  return partition.join(parts);
}

at::Tensor copy_to_tensor_group(const at::Tensor& x, const TensorGroup& group) {
  return group ? CopyToGroup::apply(x, group) : x;
}

at::Tensor reduce_from_tensor_group(const at::Tensor& x, const TensorGroup& group) {
  return group ? ReduceFromGroup::apply(x, group) : x;
}

at::Tensor gather_from_tensor_group(const at::Tensor& x, Partition partition, const TensorGroup& group) {
  if (!group) return x;
  partition.dim = positive(partition.dim, x);
  partition.rank = group->rank();
  partition.ranks = group->world_size();
  if (x.size(partition.dim) != partition.size_of_part())
    throw UsageError("gather_from_tensor_group: rank ", partition.rank, " of ", partition.ranks, " has ",
                     x.size(partition.dim), " elements of a dimension of ", partition.size, ", and its part is ",
                     partition.size_of_part());
  return GatherFromGroup::apply(x, partition, group);
}

at::Tensor scatter_to_tensor_group(const at::Tensor& x, int64_t dim, const TensorGroup& group) {
  if (!group) return x;
  const int64_t of = positive(dim, x);
  const Partition partition = {.dim = of, .size = x.size(of), .rank = group->rank(), .ranks = group->world_size()};
  return ScatterToGroup::apply(x, partition, group);
}

}  // namespace levin::parallel
