#include <levin/trainer/strategies/step_error.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/device/out_of_memory.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_tensors.h>

#include <optional>
#include <string>
#include <string_view>

namespace levin {
namespace {

/// The most tensors that an error names.
constexpr size_t kMostNamed = 6;

class Elsewhere {
 public:
  explicit Elsewhere(c10::Device device) : device_(device) {}

  void see(const std::string& what, const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.device() == device_) return;
    if (++count_ <= kMostNamed) text_ += (text_.empty() ? "" : ", ") + what + " is on " + tensor.device().str();
  }

  std::string text() const {
    if (count_ == 0)
      return "all parameters, buffers and tensors of the batch are; look for tensors that the step makes "
             "or that are members, and make them on device()";
    return count_ > kMostNamed ? text_ + c10::str(", and ", count_ - kMostNamed, " more are elsewhere") : text_;
  }

 private:
  c10::Device device_;
  size_t count_ = 0;
  std::string text_ = {};
};

/// Returns whether LibTorch's error is about tensors on different devices.
bool is_about_devices(std::string_view text) {
  for (const std::string_view words :
       {"same device", "expected device", "different devices", "different from other tensors", "should be the same"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

/// Returns whether LibTorch's error is about gradients of tensors that have none.
bool is_about_gradients(std::string_view text) {
  for (const std::string_view words :
       {"does not require grad", "Inference tensor", "requires_grad on inference tensor", "inference tensors"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

/// Returns whether LibTorch's error is about a device that it was built without.
bool is_about_missing_device(std::string_view text) {
  return text.starts_with("Could not run 'aten::") ||
         text.find("not linked with support for") != std::string_view::npos;
}

/// Returns whether detect_anomaly has found gradients that are NaN, in a backward inside of the step.
bool is_of_anomaly_mode(std::string_view text) {
  return text.find("returned nan values in its") != std::string_view::npos;
}

constexpr std::string_view kScriptFailed = "The following operation failed in the TorchScript interpreter.";

/// Returns LibTorch's error text without C++ and script stacks; nothing for an exception that is not LibTorch's.
std::optional<std::string> text_of_libtorch(const std::exception& error) {
  if (const auto* own = dynamic_cast<const c10::Error*>(&error)) return own->what_without_backtrace();
  std::string text = error.what();
  if (!text.starts_with(kScriptFailed)) return {};
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the first sentence of a text, whose periods inside of names have no space behind them.
std::string up_to_period(const std::string& text) { return first_line(text.substr(0, text.find(". "))); }

[[noreturn]] void throw_elsewhere(const std::string& text, const torch::nn::Module& module, const Batch& batch,
                                  c10::Device device) {
  Elsewhere elsewhere(device);
  for (const auto& parameter : module.named_parameters())
    elsewhere.see("parameter " + parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers()) elsewhere.see("buffer " + buffer.key(), buffer.value());
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    elsewhere.see("tensor " + name + " of the batch", tensor);
  });
  throw UsageError("tensors are on different devices, and the run is on ", device, ": ", elsewhere.text(), " (",
                   first_line(text), ")");
}

/// Throws if LibTorch's error is about an operation that has no kernel for a dtype: "cadd_sparse" not implemented for
/// 'Half'.
void check_kernel(const std::string& text, c10::Device device) {
  if (text.find("\" not implemented for '") == std::string::npos) return;
  throw UsageError("this LibTorch has no kernel on ", device, " for an operation of the step in its dtype (",
                   first_line(text),
                   "): with precision 16-true or bf16-true use 16-mixed or bf16-mixed, which computes such "
                   "operations in float32");
}

std::string shapes_of(const Batch& batch) {
  std::string text;
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    text += c10::str(text.empty() ? "" : ", ", name, " ", tensor.scalar_type(), " ", tensor.sizes());
  });
  return text;
}

/// Throws if LibTorch's error is about a number of a class that the loss does not know: "Target 7 is out of bounds."
void check_class_number(const std::string& text, const Batch& batch) {
  constexpr std::string_view kBegin = "Target ", kEnd = " is out of bounds";
  const size_t end = text.find(kEnd);
  if (!text.starts_with(kBegin) || end == std::string::npos) return;
  throw UsageError("the loss was given the class number ", text.substr(kBegin.size(), end - kBegin.size()),
                   ", which is outside of its classes: they are numbered from 0 to the number of the model's outputs "
                   "minus 1; give the model more outputs, or number the classes of the data from 0 (the batch: ",
                   shapes_of(batch), ")");
}

}  // namespace

void throw_explained(const std::exception& error, const torch::nn::Module& module, const Batch& batch,
                     c10::Device device, const LayerWatch* watch) {
  const std::optional<std::string> text = text_of_libtorch(error);
  if (!text || is_out_of_memory(error) || is_of_anomaly_mode(*text)) throw;
  if (c10::InferenceMode::is_enabled() && is_about_gradients(*text))
    throw UsageError(
        "a validation, test or prediction step asked for gradients, which are off there; set "
        "trainer.inference_mode to false, and compute what needs them while an at::AutoGradMode(true) "
        "lives (",
        first_line(*text), ")");
  if (is_about_missing_device(*text))
    throw UsageError(
        "the step uses a tensor of a device or kind that this LibTorch has no kernels for: make tensors on device(), "
        "or with batch.input().options(), so that they follow the run, which is on ",
        device, " (", up_to_period(*text), ")");
  if (is_about_devices(*text)) throw_elsewhere(*text, module, batch, device);
  check_kernel(*text, device);
  check_class_number(*text, batch);
  if (text->find("more than 1 value per channel when training") != std::string::npos)
    throw UsageError("a batch of ", batch.size(), batch.size() == 1 ? " sample" : " samples",
                     " has one value for each channel of a BatchNorm, which in training needs two; leave such a last "
                     "batch out (data.drop_last), or choose another batch_size");
  if (watch != nullptr && watch->failed())
    throw UsageError("the batch does not fit the model: ", *watch->failed(), ": ", first_line(*text),
                     " (the batch: ", shapes_of(batch), ")");
  throw;
}

void throw_explained_backward(const std::exception& error, c10::Device device) {
  const std::optional<std::string> text = text_of_libtorch(error);
  if (!text || is_out_of_memory(error)) throw;
  if (text->find("backward through the graph a second time") != std::string::npos)
    throw UsageError(
        "training_step: the graph of the loss was gone through by a backward before this one. If training_step calls "
        "loss.backward() itself: return the loss instead, and the trainer calls backward, or set "
        "automatic_optimization = false in the module's constructor. If the loss holds tensors of an earlier step: "
        "detach() them");
  if (text->find("mark a variable ready only once") != std::string::npos)
    throw UsageError(
        "a parameter got a second gradient in one backward, after the first was sent to the other ranks: is it used in "
        "several parts that are checkpointed? Set strategy.static_graph to true, or trainer.activation_checkpointing "
        "to false");
  check_kernel(*text, device);
  throw;
}

}  // namespace levin
