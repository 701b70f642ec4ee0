#include <levin/modules/observers/finite_watch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/isposinf.h>
#include <ATen/ops/real.h>
#include <ATen/record_function.h>

#include <string_view>
#include <utility>

namespace levin {
namespace {

thread_local FiniteWatch* finite_watch_of_thread = nullptr;

/// Returns whether an operation makes or passes on masks, whose minus infinity is intended.
bool may_give_minus_infinity(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  for (const char* fills : {"aten::masked_fill", "aten::full", "aten::fill", "aten::where", "aten::scalar_tensor",
                            "aten::index_fill", "aten::index_put", "aten::new_full", "aten::scatter"})
    if (name.starts_with(fills)) return true;
  for (const c10::IValue& input : operation.inputs())
    if (input.isTensor() && !is_finite(input.toTensor())) return true;
  return false;
}

/// Returns whether an operation leaves memory unset, in which anything may stand.
bool leaves_unset(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  return name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name.starts_with("aten::resize");
}

bool has_nan_or_plus_infinity(const at::Tensor& tensor) {
  if (is_finite(tensor)) return false;
  const at::NoGradGuard no_grad;
  return (at::isnan(tensor) | at::isposinf(at::real(tensor))).any().item<bool>();  // host sync
}

}  // namespace

/// What is known of an operation at its beginning: its inputs are gone at its end.
struct FiniteWatch::Operation : at::ObserverContext {
  Operation(std::string text_, bool minus_infinity_) : text(std::move(text_)), minus_infinity(minus_infinity_) {}
  std::string text;
  bool minus_infinity;  ///< is allowed in its result
};

bool is_finite(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.numel() == 0 || !(tensor.is_floating_point() || tensor.is_complex())) return true;
  const at::NoGradGuard no_grad;
  return at::isfinite(tensor.is_sparse() ? tensor._values() : tensor).all().item<bool>();  // host sync
}

FiniteWatch::FiniteWatch(const torch::nn::Module& module, bool gradients)
    : layers_(module), gradients_(gradients), outer_(std::exchange(finite_watch_of_thread, this)) {
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&FiniteWatch::begins, &FiniteWatch::ends)
                                           .needsInputs(true)
                                           .needsOutputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

FiniteWatch::~FiniteWatch() {
  at::removeCallback(handle_);
  finite_watch_of_thread = outer_;
}

std::unique_ptr<at::ObserverContext> FiniteWatch::begins(const at::RecordFunction& operation) {
  FiniteWatch* const watch = finite_watch_of_thread;
  if (watch == nullptr) return nullptr;
  std::string text = watch->layers_.described(operation);
  const bool is_outermost = watch->open_++ == 0;
  if (!LayerNames::names_layer(text))
    text += watch->last_layer_.empty() ? "" : ", after " + watch->last_layer_;
  else if (is_outermost)
    watch->last_layer_ = text;
  const at::RecordFunctionGuard without_the_watch(/*is_enabled=*/false);
  return std::make_unique<Operation>(std::move(text), may_give_minus_infinity(operation));
}

void FiniteWatch::ends(const at::RecordFunction& operation, at::ObserverContext* context) {
  FiniteWatch* const watch = finite_watch_of_thread;
  if (watch == nullptr || context == nullptr) return;
  // The module does not see the results of those inside another.
  const bool counts = --watch->open_ == 0 && !leaves_unset(operation);
  const at::RecordFunctionGuard without_the_watch(/*is_enabled=*/false);
  const auto& begun = *static_cast<const Operation*>(context);
  for (const c10::IValue& output : operation.outputs()) {
    if (output.isTensor()) watch->see(output.toTensor(), begun, counts);
    if (output.isTensorList())
      for (const at::Tensor& tensor : output.toTensorVector()) watch->see(tensor, begun, counts);
  }
}

void FiniteWatch::see(const at::Tensor& result, const Operation& operation, bool counts) {
  if (layers_.is_parameter(result)) return;  // or a view of one
  if (counts && !found_->output && (operation.minus_infinity ? has_nan_or_plus_infinity(result) : !is_finite(result)))
    found_->output = operation.text;
  if (!gradients_ || !result.defined() || !result.requires_grad()) return;
  result.register_hook([found = found_, description = operation.text](const at::Tensor& gradient) {
    if (!found->gradient && !is_finite(gradient)) found->gradient = description;
  });
}

}  // namespace levin
