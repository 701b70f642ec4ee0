#include <levin/modules/transformers/blocked_loss.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <levin/core/system/error.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace levin::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The gradients of the hidden states and of the parameters, as far as they are needed, until backward takes them.
struct LossGradients : torch::CustomClassHolder {
  at::Tensor of_hidden = {};
  variable_list of_parameters = {};
  bool were_taken = false;
};

bool has_16_bits(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

/// Adds the gradient of a block to those of the blocks before.
void add_to(at::Tensor& sum, const at::Tensor& gradient) {
  if (!gradient.defined()) return;
  if (sum.defined())
    sum.add_(gradient);
  else
    sum = has_16_bits(gradient) ? gradient.to(at::kFloat) : gradient;
}

/// Adds a^T b.
void add_product_to(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (sum.defined() && !has_16_bits(a))
    sum.addmm_(a.t(), b);  // without another tensor of this size
  else
    add_to(sum, at::mm(a.t(), b));
}

/// Computes the blocks of a loss: adds up their losses and gradients.
class LossBlocks {
 public:
  LossBlocks(const LossHead& head, const at::Tensor& hidden, LossGradients& gradients)
      : head_(head), gradients_(gradients), dtype_(hidden.scalar_type()) {
    if (hidden.requires_grad()) gradients.of_hidden = at::empty_like(hidden, at::MemoryFormat::Contiguous);
    gradients.of_parameters.resize(head.parameters.size());
    used_ = head.parameters;
    const c10::DeviceType device = hidden.device().type();
    if (!at::autocast::is_autocast_enabled(device) || dtype_ == at::kDouble) return;
    dtype_ = at::autocast::get_autocast_dtype(device);
    if (head.is_linear)
      for (at::Tensor& parameter : used_) parameter = parameter.to(dtype_);
  }

  void add(const at::Tensor& hidden, const at::Tensor& target, int64_t begin) {
    at::Tensor of_hidden = head_.is_linear ? of_linear(hidden, target) : of_layer(hidden, target);
    if (of_hidden.defined()) gradients_.of_hidden.narrow(0, begin, hidden.size(0)).copy_(of_hidden);
  }

  at::Tensor loss = {};

 private:
  void add_loss(const at::Tensor& of_block) { loss = loss.defined() ? loss + of_block.detach() : of_block.detach(); }

  at::Tensor of_linear(const at::Tensor& hidden, const at::Tensor& target) {
    const at::Tensor x = hidden.to(dtype_), weight = used_[0], bias = used_.size() > 1 ? used_[1] : at::Tensor();
    const at::Tensor gradient = of_output(at::linear(x, weight, bias), target);
    if (head_.parameters[0].requires_grad()) add_product_to(gradients_.of_parameters[0], gradient, x);
    if (bias.defined() && head_.parameters[1].requires_grad())
      add_to(gradients_.of_parameters[1], gradient.sum(0, /*keepdim=*/false, at::toOpMathType(dtype_)));
    return gradients_.of_hidden.defined() ? at::mm(gradient, weight) : at::Tensor();
  }

  /// Returns the gradient of the loss with respect to the output.
  at::Tensor of_output(const at::Tensor& output, const at::Tensor& target) {
    const at::AutoGradMode with_graph(true);
    const at::Tensor leaf = output.detach().requires_grad_();
    const at::Tensor of_block = head_.loss(leaf, target);
    add_loss(of_block);
    return torch::autograd::grad({of_block}, {leaf})[0];
  }

  at::Tensor of_layer(const at::Tensor& hidden, const at::Tensor& target) {
    const at::AutoGradMode with_graph(true);
    const at::Tensor leaf = hidden.detach().requires_grad_(gradients_.of_hidden.defined());
    variable_list wanted = {};
    if (leaf.requires_grad()) wanted.push_back(leaf);
    for (const at::Tensor& parameter : head_.parameters)
      if (parameter.requires_grad()) wanted.push_back(parameter);
    const at::Tensor of_block = head_.loss(head_.layer(leaf), target);
    add_loss(of_block);
    const variable_list found = torch::autograd::grad({of_block}, wanted, {}, /*retain_graph=*/false,
                                                      /*create_graph=*/false, /*allow_unused=*/true);
    auto next = found.begin();
    const at::Tensor of_hidden = leaf.requires_grad() ? *next++ : at::Tensor();
    const at::NoGradGuard no_graph;
    for (size_t i = 0; i < head_.parameters.size(); ++i)
      if (head_.parameters[i].requires_grad()) add_to(gradients_.of_parameters[i], *next++);
    return of_hidden;
  }

  const LossHead& head_;
  LossGradients& gradients_;
  at::ScalarType dtype_;     ///< in which the layer computes
  variable_list used_ = {};  ///< the parameters, those of a linear layer in this dtype
};

struct BlockedLoss : torch::autograd::Function<BlockedLoss> {
  /// `tensors`: the hidden states, and then the head's parameters.
  static at::Tensor forward(AutogradContext* context, at::TensorList tensors, const at::Tensor& target,
                            const LossHead& head, int64_t block_size) {
    const at::Tensor& hidden = tensors[0];
    auto gradients = c10::make_intrusive<LossGradients>();
    LossBlocks blocks(head, hidden, *gradients);
    for_blocks(hidden.size(0), block_size, [&](int64_t begin, int64_t count) {
      blocks.add(hidden.narrow(0, begin, count), target.narrow(0, begin, count), begin);
    });
    context->saved_data["gradients"] = c10::IValue::make_capsule(std::move(gradients));
    std::vector<int64_t> dtypes;
    for (const at::Tensor& tensor : tensors) dtypes.push_back(static_cast<int64_t>(tensor.scalar_type()));
    context->saved_data["dtypes"] = dtypes;
    return blocks.loss;
  }

  static variable_list backward(AutogradContext* context, const variable_list& upstream) {
    const auto gradients =
        c10::static_intrusive_pointer_cast<LossGradients>(context->saved_data["gradients"].toCapsule());
    if (at::GradMode::is_enabled() || gradients->were_taken)
      throw UsageError(
          "a loss that is computed in blocks has its gradients once, and they have no derivatives; set "
          "cross_entropy_block_size to 0 for several backwards or a graph of the gradients");
    gradients->were_taken = true;
    const std::vector<int64_t> dtypes = context->saved_data["dtypes"].toIntVector();
    variable_list all = {std::move(gradients->of_hidden)};
    std::ranges::move(gradients->of_parameters, std::back_inserter(all));
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].defined()) all[i] = all[i].mul_(upstream[0]).to(static_cast<at::ScalarType>(dtypes[i]));
    all.resize(all.size() + 3);  // none for the other arguments
    return all;
  }
};

}  // namespace

void for_blocks(int64_t rows, int64_t size, c10::function_ref<void(int64_t begin, int64_t count)> work) {
  int64_t begin = 0;
  do {
    work(begin, std::min(size, rows - begin));
    begin += size;
  } while (begin < rows);
}

at::Tensor blocked_loss(const at::Tensor& hidden, const at::Tensor& target, const LossHead& head, int64_t block_size) {
  variable_list tensors = {hidden};
  tensors.insert(tensors.end(), head.parameters.begin(), head.parameters.end());
  const auto is_trained = [](const at::Tensor& tensor) { return tensor.requires_grad(); };
  if (at::GradMode::is_enabled() && std::ranges::any_of(tensors, is_trained))
    return BlockedLoss::apply(at::TensorList(tensors), target, head, block_size);
  at::Tensor sum;
  for_blocks(hidden.size(0), block_size, [&](int64_t begin, int64_t count) {
    const at::Tensor loss = head.loss(head.layer(hidden.narrow(0, begin, count)), target.narrow(0, begin, count));
    sum = sum.defined() ? sum + loss : loss;
  });
  return sum;
}

}  // namespace levin::nn
