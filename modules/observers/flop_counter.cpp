#include <levin/modules/observers/flop_counter.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <string_view>

namespace levin {
namespace {

std::atomic<bool> counter_is_there = false;
std::atomic<int64_t> counted_flops = 0;

using Inputs = c10::ArrayRef<const c10::IValue>;

int64_t product(at::IntArrayRef sizes, size_t from = 0) {
  int64_t result = 1;
  for (size_t i = from; i < sizes.size(); ++i) result *= sizes[i];
  return result;
}

/// [n, k] by [k, m], or [b, n, k] by [b, k, m].
int64_t flops_of_product(const at::Tensor& a, const at::Tensor& b) { return 2 * product(a.sizes()) * b.size(-1); }

/// Each element of the output (transposed: of the input) meets the weight without its first dimension.
int64_t flops_of_convolution(int64_t elements, const at::Tensor& weight) {
  return 2 * elements * product(weight.sizes(), 1);
}

/// Queries by keys and weights by values.
int64_t flops_of_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  return 2 * query.numel() * key.size(-2) +
         2 * product(query.sizes().slice(0, query.dim() - 1)) * value.size(-2) * value.size(-1);
}

bool are_tensors(Inputs inputs, size_t first, size_t number) {
  if (inputs.size() < first + number) return false;
  for (size_t i = first; i < first + number; ++i)
    if (!inputs[i].isTensor() || !inputs[i].toTensor().defined()) return false;
  return true;
}

/// Of convolution_backward: the gradients of input and weight take as many operations as the forward, each.
int64_t flops_of_convolution_backward(Inputs inputs) {
  if (!are_tensors(inputs, 0, 3) || inputs.size() < 11) return 0;
  const at::Tensor &gradient = inputs[0].toTensor(), &input = inputs[1].toTensor(), &weight = inputs[2].toTensor();
  const int64_t forward = flops_of_convolution(inputs[7].toBool() ? input.numel() : gradient.numel(), weight);
  const auto wanted = inputs[10].toBoolList();
  return forward * (int64_t{wanted[0]} + int64_t{wanted[1]});
}

int64_t flops_at_begin(std::string_view name, Inputs inputs) {
  if (name == "aten::mm" || name == "aten::bmm" || name == "aten::mv" || name == "aten::dot") {
    if (!are_tensors(inputs, 0, 2)) return 0;
    const at::Tensor &a = inputs[0].toTensor(), &b = inputs[1].toTensor();
    return b.dim() < 2 ? 2 * a.numel() : flops_of_product(a, b);
  }
  if (name == "aten::addmm" || name == "aten::baddbmm")
    return are_tensors(inputs, 1, 2) ? flops_of_product(inputs[1].toTensor(), inputs[2].toTensor()) : 0;
  if (name == "aten::convolution_backward") return flops_of_convolution_backward(inputs);
  const bool attention = name.starts_with("aten::_scaled_dot_product_") && !name.ends_with("_math");
  if (!attention) return 0;
  if (name.find("_backward") == std::string_view::npos)
    return are_tensors(inputs, 0, 3)
               ? flops_of_attention(inputs[0].toTensor(), inputs[1].toTensor(), inputs[2].toTensor())
               : 0;
  // The scores are computed again; then two products for each of the two of the forward.
  return are_tensors(inputs, 1, 3)
             ? flops_of_attention(inputs[1].toTensor(), inputs[2].toTensor(), inputs[3].toTensor()) * 5 / 2
             : 0;
}

/// A convolution whose output is not there yet.
struct BegunConvolution : at::ObserverContext {
  explicit BegunConvolution(int64_t of_element_) : of_element(of_element_) {}
  int64_t of_element;  ///< operations for each element of the output
};

std::unique_ptr<at::ObserverContext> count_at_begin(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  const Inputs inputs = operation.inputs();
  if (name != "aten::convolution") {
    counted_flops += flops_at_begin(name, inputs);
    return nullptr;
  }
  if (!are_tensors(inputs, 0, 2) || inputs.size() < 7) return nullptr;
  const at::Tensor& weight = inputs[1].toTensor();
  if (!inputs[6].toBool()) return std::make_unique<BegunConvolution>(flops_of_convolution(1, weight));
  counted_flops += flops_of_convolution(inputs[0].toTensor().numel(), weight);
  return nullptr;
}

void count_at_end(const at::RecordFunction& operation, at::ObserverContext* context) {
  if (context == nullptr || operation.outputs().empty() || !operation.outputs()[0].isTensor()) return;
  counted_flops +=
      static_cast<const BegunConvolution*>(context)->of_element * operation.outputs()[0].toTensor().numel();
}

}  // namespace

FlopCounter::FlopCounter() : counts_(!counter_is_there.exchange(true)) {
  if (!counts_) return;
  counted_flops = 0;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&count_at_begin, &count_at_end)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

FlopCounter::~FlopCounter() {
  if (!counts_) return;
  at::removeCallback(handle_);
  counter_is_there = false;
}

int64_t FlopCounter::flops() const { return counts_ ? counted_flops.load() : 0; }

}  // namespace levin
