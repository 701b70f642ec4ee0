#include <levin/modules/parallel/ranks/all_gather.h>
#include <ATen/ops/stack.h>
#include <torch/csrc/autograd/custom_function.h>

namespace levin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct AllGather : torch::autograd::Function<AllGather> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor, int64_t ranks) {
    context->saved_data["ranks"] = ranks;
    return at::stack(reinterpret_cast<Comm*>(ranks)->all_gather(tensor));
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto& ranks = *reinterpret_cast<Comm*>(context->saved_data["ranks"].toInt());
    at::Tensor sums = gradients[0].clone();
    ranks.all_reduce(sums, ReduceOp::Sum);
    return {sums[ranks.rank()], at::Tensor()};
  }
};

}  // namespace

at::Tensor all_gather_with_gradients(const at::Tensor& tensor, Comm& ranks) {
  return AllGather::apply(tensor, reinterpret_cast<int64_t>(&ranks));
}

}  // namespace levin::parallel
