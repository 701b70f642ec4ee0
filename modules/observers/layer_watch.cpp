#include <levin/modules/observers/layer_watch.h>
#include <ATen/record_function.h>

#include <exception>
#include <utility>

namespace levin {
namespace {

thread_local LayerWatch* watch_of_thread = nullptr;

/// Keeps a description of an operation's inputs, since the inputs are gone when the operation ends.
struct Begun : at::ObserverContext {
  explicit Begun(std::string text_) : text(std::move(text_)) {}
  std::string text;
};

}  // namespace

LayerWatch::LayerWatch(const torch::nn::Module& module)
    : layers_(module), exceptions_before_(std::uncaught_exceptions()), outer_(std::exchange(watch_of_thread, this)) {
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&LayerWatch::begins, &LayerWatch::ends)
                                           .needsInputs(true)
                                           .scopes({at::RecordScope::FUNCTION}));
}

LayerWatch::~LayerWatch() {
  at::removeCallback(handle_);
  watch_of_thread = outer_;
}

std::unique_ptr<at::ObserverContext> LayerWatch::begins(const at::RecordFunction& operation) {
  if (watch_of_thread == nullptr) return nullptr;
  return std::make_unique<Begun>(watch_of_thread->layers_.described(operation));
}

/// An exception leaves operations from the innermost outwards: the last one of a layer is the operation that the module
/// called. An operation without parameters, such as a transposition inside a layer's operation, does not replace it.
void LayerWatch::ends(const at::RecordFunction& /*operation*/, at::ObserverContext* context) {
  LayerWatch* const watch = watch_of_thread;
  if (watch == nullptr || context == nullptr || std::uncaught_exceptions() <= watch->exceptions_before_) return;
  const std::string& text = static_cast<const Begun*>(context)->text;
  if (LayerNames::names_layer(text) || !watch->failed_ || !LayerNames::names_layer(*watch->failed_))
    watch->failed_ = text;
}

}  // namespace levin
