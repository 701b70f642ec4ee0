#include <levin/modules/nn/resnet.h>
#include <levin/modules/weights.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <cmath>
#include <tuple>

#include "tests/catch.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"
#include "tests/temporary_folder.h"

using levin::nn::ResNet18;
using levin::nn::ResNet18Options;
using small_training::distance;
using small_training::flat;

namespace {

int64_t count_of(const ResNet18& resnet) {
  int64_t count = 0;
  for (const auto& parameter : resnet->parameters()) count += parameter.numel();
  return count;
}

nlohmann::ordered_json case_of(const ResNet18Options& options) {
  nlohmann::ordered_json json;
  json["num_classes"] = options.num_classes;
  json["in_channels"] = options.in_channels;
  json["small_input"] = options.small_input;
  return json;
}

/// The convolutions of torchvision's resnet18, each with the BatchNorm after it, and their weights' shapes.
const std::vector<std::tuple<std::string, std::string, std::vector<int64_t>>> convolutions = {
    {"conv1", "bn1", {64, 3, 7, 7}},
    {"layer1.0.conv1", "layer1.0.bn1", {64, 64, 3, 3}},
    {"layer1.0.conv2", "layer1.0.bn2", {64, 64, 3, 3}},
    {"layer1.1.conv1", "layer1.1.bn1", {64, 64, 3, 3}},
    {"layer1.1.conv2", "layer1.1.bn2", {64, 64, 3, 3}},
    {"layer2.0.conv1", "layer2.0.bn1", {128, 64, 3, 3}},
    {"layer2.0.conv2", "layer2.0.bn2", {128, 128, 3, 3}},
    {"layer2.0.downsample.0", "layer2.0.downsample.1", {128, 64, 1, 1}},
    {"layer2.1.conv1", "layer2.1.bn1", {128, 128, 3, 3}},
    {"layer2.1.conv2", "layer2.1.bn2", {128, 128, 3, 3}},
    {"layer3.0.conv1", "layer3.0.bn1", {256, 128, 3, 3}},
    {"layer3.0.conv2", "layer3.0.bn2", {256, 256, 3, 3}},
    {"layer3.0.downsample.0", "layer3.0.downsample.1", {256, 128, 1, 1}},
    {"layer3.1.conv1", "layer3.1.bn1", {256, 256, 3, 3}},
    {"layer3.1.conv2", "layer3.1.bn2", {256, 256, 3, 3}},
    {"layer4.0.conv1", "layer4.0.bn1", {512, 256, 3, 3}},
    {"layer4.0.conv2", "layer4.0.bn2", {512, 512, 3, 3}},
    {"layer4.0.downsample.0", "layer4.0.downsample.1", {512, 256, 1, 1}},
    {"layer4.1.conv1", "layer4.1.bn1", {512, 512, 3, 3}},
    {"layer4.1.conv2", "layer4.1.bn2", {512, 512, 3, 3}},
};

}  // namespace

TEST_CASE("resnet18's state has torchvision's names and shapes, in its order") {
  std::vector<std::pair<std::string, std::vector<int64_t>>> expected;
  for (const auto& [convolution, norm, shape] : convolutions) {
    expected.emplace_back(convolution + ".weight", shape);
    for (const char* name : {".weight", ".bias", ".running_mean", ".running_var"})
      expected.emplace_back(norm + name, std::vector<int64_t>{shape[0]});
    expected.emplace_back(norm + ".num_batches_tracked", std::vector<int64_t>{});
  }
  expected.emplace_back("fc.weight", std::vector<int64_t>{1000, 512});
  expected.emplace_back("fc.bias", std::vector<int64_t>{1000});
  REQUIRE(expected.size() == 122);

  const ResNet18 resnet;
  std::vector<std::pair<std::string, std::vector<int64_t>>> actual;
  for (const auto& [name, value] : levin::module_state_dict(*resnet).to_dict())
    actual.emplace_back(levin::to_text(name), value.to_tensor().sizes().vec());
  CHECK(actual == expected);
  CHECK(count_of(resnet) == 11689512);
}

TEST_CASE("resnet18 gives logits for images of any size") {
  ResNet18 resnet(ResNet18Options{.num_classes = 5});
  resnet->eval();
  CHECK(resnet->forward(torch::rand({2, 3, 64, 96})).sizes() == std::vector<int64_t>{2, 5});
  ResNet18 small(ResNet18Options{.num_classes = 10, .in_channels = 1, .small_input = true});
  small->eval();
  CHECK(small->forward(torch::rand({2, 1, 32, 32})).sizes() == std::vector<int64_t>{2, 10});
  CHECK(small->conv1->weight.sizes() == std::vector<int64_t>{64, 1, 3, 3});
  // The small stem keeps the size: 32x32 reaches the last layer as 4x4, not as 1x1.
  const at::Tensor stem =
      small->layer1->forward(small->bn1->forward(small->conv1->forward(torch::rand({1, 1, 32, 32}))));
  CHECK(stem.sizes() == std::vector<int64_t>{1, 64, 32, 32});
  CHECK(count_of(small) == 11689512 - 64 * (3 * 49 - 9) - 990 * 513);
}

TEST_CASE("every parameter of resnet18 gets a gradient, and one batch can be learned by heart") {
  torch::manual_seed(4);
  ResNet18 resnet(ResNet18Options{.num_classes = 4, .small_input = true});
  const at::Tensor images = torch::randn({8, 3, 16, 16}), labels = torch::arange(8).remainder(4);
  double loss = 1e9;
  for (int step = 0; step < 12; ++step) {
    resnet->zero_grad();
    const at::Tensor value = torch::nn::functional::cross_entropy(resnet->forward(images), labels);
    value.backward();
    for (const auto& item : resnet->named_parameters()) {
      INFO(item.key());
      REQUIRE(item.value().grad().defined());
      if (step == 0) CHECK(item.value().grad().abs().max().item<double>() > 0);
      item.value().data().sub_(item.value().grad(), 0.02);
    }
    loss = value.item<double>();
  }
  CHECK(loss < 0.1);
  CHECK(resnet->bn1->num_batches_tracked.item<int64_t>() == 12);
}

TEST_CASE("resnet18 computes and learns what the same network in Python does") {
  const TemporaryFolder folder;
  std::vector<ResNet18> resnets = {ResNet18(ResNet18Options{.num_classes = 7}), ResNet18(ResNet18Options{7, 1, true})};
  auto cases = nlohmann::ordered_json::array();
  for (const ResNet18& resnet : resnets) {
    levin::save_weights(*resnet, folder / (std::to_string(cases.size()) + ".pt"));
    cases.push_back(case_of(resnet->options));
  }
  const auto python = python_reference("resnet18", cases, folder.path().string());
  if (!python) return;
  for (size_t i = 0; i < resnets.size(); ++i) {
    ResNet18& resnet = resnets[i];
    resnet->to(torch::kDouble);
    const int64_t channels = resnet->options.in_channels;
    const at::Tensor images =
        torch::arange(2 * channels * 40 * 48, torch::kDouble).mul(0.37).sin().reshape({2, channels, 40, 48});
    const at::Tensor output = resnet->forward(images);
    const at::Tensor loss = torch::nn::functional::cross_entropy(output, torch::tensor({1, 2}));
    loss.backward();
    for (auto& parameter : resnet->parameters()) parameter.data().sub_(parameter.grad(), 0.1);
    resnet->eval();
    const auto& expected = python->at(i);
    CHECK(distance(flat({output}), flat(expected["output"])) < 1e-8);
    CHECK(std::abs(loss.item<double>() - expected["loss"].get<double>()) < 1e-8);
    const at::Tensor after = flat(expected["after"]);
    CHECK(distance(flat({resnet->forward(images)}), after) < 1e-6 * after.abs().max().item<double>());
  }
}

TEST_CASE("resnet18 starts with torchvision's weights of the same seed") {
  const ResNet18Options options{.num_classes = 10};
  const auto python = python_reference("resnet18_initial_weights", nlohmann::ordered_json::array({case_of(options)}));
  if (!python) return;
  torch::manual_seed(5);
  const ResNet18 resnet(options);
  size_t compared = 0;
  for (const auto& item : resnet->named_parameters()) {
    INFO(item.key());
    const auto& expected = python->at(0).at(item.key());
    CHECK(item.value().flatten()[0].item<double>() == expected[1].get<double>());
    CHECK(std::abs(item.value().to(torch::kDouble).sum().item<double>() - expected[0].get<double>()) < 1e-6);
    ++compared;
  }
  CHECK(compared == python->at(0).size());
}
