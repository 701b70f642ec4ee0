#include <levin/modules/recording/trace_watch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/scope.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace levin::recording {
namespace {

namespace tracer = torch::jit::tracer;
using torch::jit::Node, torch::jit::Value;

constexpr const char* kWithGradients = "with_gradients";

torch::jit::ScopePtr scope_of(const char* name) {
  return c10::make_intrusive<torch::jit::Scope>()->push(c10::Symbol::scope(name));
}

bool draws(const Node& node) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return false;
  const auto found = c10::Dispatcher::singleton().findOp(schema->operator_name());
  return found && found->hasTag(at::Tag::nondeterministic_seeded);
}

/// "the result of aten::sum", "an input"
std::string described(const at::Tensor& tensor) {
  const auto& state = tracer::getTracingState();
  const Node* const node = state->hasValue(tensor) ? state->getValue(tensor)->node() : nullptr;
  if (node == nullptr || node->kind() == c10::prim::Param) return "an input";
  if (node->kind() == c10::prim::Constant) return "a parameter or buffer";
  return c10::str("the result of ", node->kind().toQualString());
}

/// Whether two tensors are equal whatever their values, or not equal.
bool is_decided(c10::ArrayRef<const c10::IValue> inputs) {
  const at::Tensor &one = inputs.at(0).toTensor(), &other = inputs.at(1).toTensor();
  return views_the_same(one, other) || one.sizes() != other.sizes();
}

}  // namespace

bool views_the_same(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) || (a.has_storage() && b.has_storage() && a.scalar_type() == b.scalar_type() &&
                          a.storage().is_alias_of(b.storage()) && a.storage_offset() == b.storage_offset() &&
                          a.sizes() == b.sizes() && a.strides() == b.strides());
}

TraceWatch*& TraceWatch::current() {
  thread_local TraceWatch* watch = nullptr;
  return watch;
}

TraceWatch::TraceWatch(const std::vector<at::Tensor>& inputs)
    : inputs_(inputs),
      outer_(std::exchange(current(), this)),
      handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(
              [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
                if (current() != nullptr && tracer::isTracing()) current()->begin(function);
                return nullptr;
              },
              [](const at::RecordFunction&, at::ObserverContext*) {
                if (current() != nullptr && tracer::isTracing()) current()->mark_nodes();
              })
              .needsInputs(true)
              .scopes({at::RecordScope::FUNCTION}))) {}

TraceWatch::~TraceWatch() {
  at::removeCallback(handle_);
  current() = outer_;
}

void TraceWatch::begin(const at::RecordFunction& function) {
  const std::string_view name = function.name();
  if (name != "aten::_local_scalar_dense" && name != "aten::equal") return;
  // LibTorch's attention compares query, key and value, which are mostly one tensor.
  if (name == "aten::equal" && is_decided(function.inputs())) return;
  for (const c10::IValue& input : function.inputs())
    if (!read_ && input.isTensor() && depends(input.toTensor())) read_ = "a number of " + described(input.toTensor());
}

/// An operator has ended: its nodes are the last ones of the graph, back to the first that is marked already.
void TraceWatch::mark_nodes() const {
  static const torch::jit::ScopePtr with = scope_of(kWithGradients), without = scope_of(kWithoutGradients);
  const torch::jit::ScopePtr& scope = at::GradMode::is_enabled() ? with : without;
  auto nodes = tracer::getTracingState()->graph->nodes();
  for (auto place = nodes.end(); place != nodes.begin();) {
    Node* const node = *--place;
    if (node->scope() == with || node->scope() == without) return;
    node->setScope(scope);
  }
}

bool TraceWatch::depends(const at::Tensor& tensor) const {
  const auto is_input = [&](const at::Tensor& other) {
    return std::ranges::any_of(inputs_, [&](const at::Tensor& input) { return views_the_same(input, other); });
  };
  if (is_input(tensor)) return true;
  const auto& state = tracer::getTracingState();
  if (!state->hasValue(tensor)) return false;  // made from numbers of C++
  std::vector<const Value*> next = {state->getValue(tensor)};
  std::unordered_set<const Node*> known;
  while (!next.empty()) {
    const Node* const node = next.back()->node();
    next.pop_back();
    if (!known.insert(node).second) continue;
    if (node->kind() == c10::prim::Param || draws(*node)) return true;
    if (node->kind() == c10::prim::Constant && node->output()->type()->isSubtypeOf(*c10::TensorType::get())) {
      const auto constant = torch::jit::toIValue(node->output());
      if (constant && constant->isTensor() && is_input(constant->toTensor())) return true;
    }
    for (const Value* input : node->inputs()) next.push_back(input);
  }
  return false;
}

}  // namespace levin::recording
