#include <levin/trainer/strategies/device_error.h>
#include <levin/data/batch_tensors.h>
#include <levin/trainer/core/error.h>

#include <string>
#include <string_view>

namespace levin {
namespace {

/// More would not help to find the mistake.
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

/// Whether LibTorch complains of tensors on different devices.
bool is_about_devices(std::string_view text) {
  for (const std::string_view words :
       {"same device", "expected device", "different devices", "different from other tensors", "should be the same"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

}  // namespace

void throw_explained(const c10::Error& error, const torch::nn::Module& module, const Batch& batch, c10::Device device) {
  const std::string text = error.what_without_backtrace();
  if (!is_about_devices(text)) throw;
  Elsewhere elsewhere(device);
  for (const auto& parameter : module.named_parameters())
    elsewhere.see("parameter " + parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers()) elsewhere.see("buffer " + buffer.key(), buffer.value());
  for_each_tensor(batch, [&](const std::string& name, const at::Tensor& tensor) {
    elsewhere.see("tensor " + name + " of the batch", tensor);
  });
  throw UsageError("tensors are on different devices, and the run is on ", device, ": ", elsewhere.text(), " (",
                   text.substr(0, text.find('\n')), ")");
}

}  // namespace levin
