#include <levin/modules/nn/nets.h>
#include <levin/trainer/core/error.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

namespace levin::nn {
namespace {

using torch::nn::AvgPool2d;
using torch::nn::BatchNorm1d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Flatten;
using torch::nn::Linear;
using torch::nn::ReLU;
using torch::nn::Sequential;

constexpr int64_t kPixels = 28 * 28;
constexpr int64_t kClasses = 10;

Sequential mlp(int64_t hidden) {
  return Sequential(Flatten(), Linear(kPixels, hidden), ReLU(), Linear(hidden, kClasses));
}

Sequential mlp_bn(int64_t hidden) {
  return Sequential(Flatten(), Linear(kPixels, hidden), BatchNorm1d(hidden), ReLU(), Linear(hidden, kClasses));
}

Sequential lenet() {
  return Sequential(Conv2d(Conv2dOptions(1, 20, 3)), ReLU(), AvgPool2d(2), Conv2d(Conv2dOptions(20, 50, 5)), ReLU(),
                    AvgPool2d(2), Flatten(), Linear(800, 128), ReLU(), Linear(128, kClasses));
}

}  // namespace

const std::vector<std::string>& net_names() {
  static const std::vector<std::string> names = {"mlp", "mlp_bn", "lenet"};
  return names;
}

Sequential make_net(const std::string& name, NetOptions options) {
  if (name == "mlp") return mlp(options.hidden);
  if (name == "mlp_bn") return mlp_bn(options.hidden);
  if (name == "lenet") return lenet();
  throw UsageError("no net '", name, "'", did_you_mean(name, net_names()), "; there are mlp, mlp_bn and lenet");
}

}  // namespace levin::nn
