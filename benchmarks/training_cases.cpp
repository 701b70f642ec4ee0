#include "benchmarks/training_cases.h"

namespace F = torch::nn::functional;
namespace nn = torch::nn;

namespace {

nn::Sequential mlp() { return nn::Sequential(nn::Flatten(), nn::Linear(784, 64), nn::ReLU(), nn::Linear(64, 10)); }

nn::Sequential mlp_1024() { return nn::Sequential(nn::Linear(1024, 1024), nn::ReLU(), nn::Linear(1024, 10)); }

nn::Sequential mlp_wide() { return nn::Sequential(nn::Linear(16384, 1024), nn::ReLU(), nn::Linear(1024, 10)); }

nn::Sequential mlp_100m() {
  return nn::Sequential(nn::Flatten(), nn::Linear(784, 8192), nn::ReLU(), nn::Linear(8192, 8192), nn::ReLU(),
                        nn::Linear(8192, 3200), nn::ReLU(), nn::Linear(3200, 10));
}

nn::Sequential lenet() {
  return nn::Sequential(nn::Conv2d(1, 20, 3), nn::ReLU(), nn::AvgPool2d(2), nn::Conv2d(20, 50, 5), nn::ReLU(),
                        nn::AvgPool2d(2), nn::Flatten(), nn::Linear(800, 128), nn::ReLU(), nn::Linear(128, 10));
}

constexpr int64_t kTokens = 64, kVocabulary = 65;

}  // namespace

const std::vector<TrainingCase>& training_cases() {
  static const std::vector<TrainingCase> cases = {
      {"mlp", 32, 8000, 8, false},    {"mlp_adam", 32, 8000, 8, true},  {"lenet", 256, 8192, 1, true},
      {"resnet18", 16, 128, 1, true}, {"gpt", 8, 160, 1, true},         {"scalar", 32, 8000, 80, false},
      {"mlp_100m", 32, 128, 1, true}, {"mlp_1024", 256, 8192, 2, true}, {"mlp_wide", 256, 1024, 1, false}};
  return cases;
}

const TrainingCase& training_case(const std::string& name) {
  std::string names;
  for (const TrainingCase& which : training_cases()) {
    if (which.name == name) return which;
    names += (names.empty() ? "" : ", ") + which.name;
  }
  throw levin::UsageError("no case ", name, "; there are: ", names);
}

TrainingData::TrainingData(const TrainingCase& which) {
  if (which.name == "gpt") {
    input = torch::randint(kVocabulary, {which.samples, kTokens});
    target = torch::randint(kVocabulary, {which.samples, kTokens});
    return;
  }
  target = torch::randint(10, {which.samples});
  if (which.name == "scalar")
    input = torch::randn({which.samples, 1});
  else if (which.name == "resnet18")
    input = torch::randn({which.samples, 3, 32, 32});
  else if (which.name == "mlp_1024")
    input = torch::randn({which.samples, 1024});
  else if (which.name == "mlp_wide")
    input = torch::randn({which.samples, 16384});
  else
    input = torch::randn({which.samples, 1, 28, 28});
}

BenchmarkModule::BenchmarkModule(TrainingCase which_, bool levins_optimizer_)
    : which(std::move(which_)), levins_optimizer(levins_optimizer_) {
  const auto classify = [this](auto net) {
    register_module("net", net.ptr());
    loss_of = [net](const torch::Tensor& input, const torch::Tensor& target) mutable {
      return F::cross_entropy(net->forward(input), target);
    };
  };
  if (which.name == "scalar") {
    loss_of = [scalar = register_parameter("scalar", torch::ones({}))](const auto&, const auto&) {
      return scalar * scalar;
    };
  } else if (which.name == "gpt") {
    levin::nn::GPT net(levin::nn::GPTOptions{.vocab_size = kVocabulary, .block_size = kTokens});
    register_module("net", net);
    loss_of = [net](const torch::Tensor& input, const torch::Tensor& target) mutable {
      return F::cross_entropy(net->forward(input).flatten(0, 1), target.flatten());
    };
  } else if (which.name == "resnet18") {
    classify(levin::nn::ResNet18(levin::nn::ResNet18Options{.num_classes = 10, .small_input = true}));
  } else {
    classify(which.name == "lenet"      ? lenet()
             : which.name == "mlp_100m" ? mlp_100m()
             : which.name == "mlp_1024" ? mlp_1024()
             : which.name == "mlp_wide" ? mlp_wide()
                                        : mlp());
  }
}

std::shared_ptr<torch::optim::Optimizer> BenchmarkModule::optimizer() {
  if (levins_optimizer) {
    if (which.adam) return std::make_shared<levin::optim::Adam>(parameters());
    return std::make_shared<levin::optim::SGD>(parameters(), levin::optim::SGDOptions{.lr = 0.01, .momentum = 0.9});
  }
  if (which.adam) return std::make_shared<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(1e-3));
  return std::make_shared<torch::optim::SGD>(parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
}
