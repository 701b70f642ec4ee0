#include "tests/fuzz/work_limit.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <stdexcept>

namespace levin::testing {
namespace {

using c10::DispatchKey, c10::DispatchKeySet;

/// Nothing on the CPU includes it, and each operation passes it before it computes.
constexpr DispatchKey kKey = DispatchKey::AutocastIPU;
constexpr int64_t kMostElements = 1 << 22;

void check(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() > kMostElements)
    throw std::length_error("a tensor of too many elements");
}

void run_limited(const c10::OperatorHandle& operation, DispatchKeySet keys, torch::jit::Stack* stack) {
  const size_t arguments = operation.schema().arguments().size();
  for (size_t i = stack->size() - arguments; i < stack->size(); ++i) {
    const c10::IValue& value = (*stack)[i];
    check(value);
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorVector()) check(tensor);
  }
  operation.redispatchBoxed(keys & DispatchKeySet(DispatchKeySet::FULL_AFTER, kKey), stack);
}

TORCH_LIBRARY_IMPL(_, AutocastIPU, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_limited>());
}

}  // namespace

WorkLimit::WorkLimit() : key_(kKey) {}

}  // namespace levin::testing
