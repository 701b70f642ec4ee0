#include <levin/modules/observers/flop_counter.h>
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace levin {
namespace {

std::atomic<bool> counter_is_there = false;

/// What was counted, also on the threads of autograd.
struct Counted {
  std::mutex mutex = {};
  std::map<MatrixProduct, int64_t> products = {};

  void add(const MatrixProduct& product, int64_t calls = 1) {
    const std::lock_guard lock(mutex);
    products[product] += calls;
  }
};

Counted& counted() {
  static auto* const all = new Counted;  // outlives threads that still run operations
  return *all;
}

using Inputs = c10::ArrayRef<const c10::IValue>;

int64_t product(at::IntArrayRef sizes, size_t from = 0) {
  int64_t result = 1;
  for (size_t i = from; i < sizes.size(); ++i) result *= sizes[i];
  return result;
}

/// [n, k] by [k, m], or [b, n, k] by [b, k, m]; vectors are matrices of one column.
MatrixProduct of_matrices(const at::Tensor& a, const at::Tensor& b) {
  if (b.dim() < 2) return {.rows = a.dim() < 2 ? 1 : a.size(0), .inner = b.numel(), .columns = 1};
  return {.count = a.dim() == 3 ? a.size(0) : 1, .rows = a.size(-2), .inner = a.size(-1), .columns = b.size(-1)};
}

/// `elements` of the output; transposed: of the input.
MatrixProduct of_convolution(int64_t elements, const at::Tensor& weight, int64_t groups, bool transposed) {
  const int64_t channels = weight.size(0), patch = product(weight.sizes(), 1);
  if (channels == 0) return {};
  return {.count = groups,
          .rows = transposed ? patch : channels / groups,
          .inner = transposed ? channels / groups : patch,
          .columns = elements / channels};
}

bool are_tensors(Inputs inputs, size_t first, size_t number) {
  if (inputs.size() < first + number) return false;
  for (size_t i = first; i < first + number; ++i)
    if (!inputs[i].isTensor() || !inputs[i].toTensor().defined()) return false;
  return true;
}

/// The gradients of input and weight take as many operations as the forward, each.
void count_convolution_backward(Inputs inputs) {
  if (!are_tensors(inputs, 0, 3) || inputs.size() < 11) return;
  const at::Tensor &gradient = inputs[0].toTensor(), &input = inputs[1].toTensor(), &weight = inputs[2].toTensor();
  const bool transposed = inputs[7].toBool();
  const MatrixProduct forward =
      of_convolution(transposed ? input.numel() : gradient.numel(), weight, inputs[9].toInt(), transposed);
  const auto wanted = inputs[10].toBoolList();
  // The output of one product is an operand of the other.
  if (wanted[0]) counted().add({forward.count, forward.inner, forward.rows, forward.columns});
  if (wanted[1]) counted().add({forward.count, forward.rows, forward.columns, forward.inner});
}

/// Queries by keys (`of_scores` times) and weights by values (`of_values` times).
void count_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t of_scores,
                     int64_t of_values) {
  const int64_t heads = product(query.sizes().slice(0, static_cast<size_t>(query.dim() - 2)));
  counted().add({heads, query.size(-2), query.size(-1), key.size(-2)}, of_scores);
  counted().add({heads, query.size(-2), value.size(-2), value.size(-1)}, of_values);
}

void count_others(std::string_view name, Inputs inputs) {
  const size_t first = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : 0;
  if (first == 1 || name == "aten::mm" || name == "aten::bmm" || name == "aten::mv" || name == "aten::dot") {
    if (are_tensors(inputs, first, 2))
      counted().add(of_matrices(inputs[first].toTensor(), inputs[first + 1].toTensor()));
    return;
  }
  if (name == "aten::convolution_backward") return count_convolution_backward(inputs);
  if (!name.starts_with("aten::_scaled_dot_product_") || name.ends_with("_math")) return;
  const bool is_backward = name.find("_backward") != std::string_view::npos;
  const size_t query = is_backward ? 1 : 0;
  if (!are_tensors(inputs, query, 3)) return;
  // In backward the scores are computed again, and each product of the forward has two gradients.
  count_attention(inputs[query].toTensor(), inputs[query + 1].toTensor(), inputs[query + 2].toTensor(),
                  is_backward ? 3 : 1, is_backward ? 2 : 1);
}

/// A convolution whose output is not there yet.
struct BegunConvolution : at::ObserverContext {
  BegunConvolution(at::Tensor weight_, int64_t groups_) : weight(std::move(weight_)), groups(groups_) {}
  at::Tensor weight;
  int64_t groups;
};

std::unique_ptr<at::ObserverContext> count_at_begin(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  const Inputs inputs = operation.inputs();
  if (name != "aten::convolution") {
    count_others(name, inputs);
    return nullptr;
  }
  if (!are_tensors(inputs, 0, 2) || inputs.size() < 9) return nullptr;
  const at::Tensor& weight = inputs[1].toTensor();
  const int64_t groups = inputs[8].toInt();
  if (!inputs[6].toBool()) return std::make_unique<BegunConvolution>(weight, groups);
  counted().add(of_convolution(inputs[0].toTensor().numel(), weight, groups, /*transposed=*/true));
  return nullptr;
}

void count_at_end(const at::RecordFunction& operation, at::ObserverContext* context) {
  if (context == nullptr || operation.outputs().empty() || !operation.outputs()[0].isTensor()) return;
  const auto* const begun = static_cast<const BegunConvolution*>(context);
  counted().add(of_convolution(operation.outputs()[0].toTensor().numel(), begun->weight, begun->groups,
                               /*transposed=*/false));
}

}  // namespace

FlopCounter::FlopCounter() : counts_(!counter_is_there.exchange(true)) {
  if (!counts_) return;
  {
    const std::lock_guard lock(counted().mutex);
    counted().products.clear();
  }
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

int64_t FlopCounter::flops() const {
  int64_t all = 0;
  for (const auto& [product, calls] : products()) all += calls * product.flops();
  return all;
}

std::map<MatrixProduct, int64_t> FlopCounter::products() const {
  if (!counts_) return {};
  const std::lock_guard lock(counted().mutex);
  return counted().products;
}

}  // namespace levin
