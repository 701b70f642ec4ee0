#include <levin/modules/images/image_activation.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/relu6.h>
#include <ATen/ops/silu.h>

#include <utility>

namespace levin::nn {
namespace {

constexpr std::pair<const char*, ImageActivation> kNames[] = {{"gelu", ImageActivation::Gelu},
                                                              {"gelu_new", ImageActivation::GeluTanh},
                                                              {"gelu_pytorch_tanh", ImageActivation::GeluTanh},
                                                              {"hardswish", ImageActivation::HardSwish},
                                                              {"relu", ImageActivation::Relu},
                                                              {"relu6", ImageActivation::Relu6},
                                                              {"silu", ImageActivation::Silu},
                                                              {"swish", ImageActivation::Silu}};

}  // namespace

at::Tensor activated(const at::Tensor& x, ImageActivation activation) {
  switch (activation) {
    case ImageActivation::Gelu:
      return at::gelu(x);
    case ImageActivation::GeluTanh:
      return at::gelu(x, "tanh");
    case ImageActivation::HardSwish:
      return at::hardswish(x);
    case ImageActivation::Relu:
      return at::relu(x);
    case ImageActivation::Relu6:
      return at::relu6(x);
    case ImageActivation::Silu:
      return at::silu(x);
    case ImageActivation::None:
      break;
  }
  return x;
}

ImageActivation read_image_activation(ConfigFields& fields, const std::string& name, const std::string& otherwise) {
  const std::string word = fields.word(name, otherwise);
  std::string known;
  for (const auto& [text, activation] : kNames) {
    if (word == text) return activation;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  fields.fail(name, "levin does not compute ", word, "; it computes ", known);
}

}  // namespace levin::nn
