// Training on several devices with only the primitives: the parameters are copied to each device, the batch is split,
// the gradients are summed over the devices, and each device takes a step. It runs on all GPUs, or without a GPU on two
// replicas on the CPU, and ends with the weights of a run on one device. docs/parallel.md describes the classes that do
// this.
#include <levin/levin.h>

#include <iostream>

namespace F = torch::nn::functional;
namespace parallel = levin::parallel;
using Tensors = std::vector<torch::Tensor>;

std::vector<torch::Device> all_devices() {
  std::vector<torch::Device> gpus;
  const auto count = static_cast<int>(torch::cuda::device_count());
  for (int i = 0; i < count; ++i) gpus.emplace_back(torch::kCUDA, static_cast<c10::DeviceIndex>(i));
  return gpus.empty() ? std::vector<torch::Device>(2, torch::kCPU) : gpus;
}

/// Returns weights and biases of LeNet-5: two convolutions, three linear layers; in double, to compare two runs.
Tensors lenet_parameters() {
  torch::manual_seed(1);
  Tensors parameters;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{6, 1, 5, 5}, {16, 6, 5, 5}, {120, 256}, {84, 120}, {10, 84}}) {
    const auto weight = torch::empty(shape, torch::kDouble);
    parameters.push_back(torch::nn::init::kaiming_normal_(weight));
    parameters.push_back(torch::zeros({shape[0]}, torch::kDouble));
  }
  return parameters;
}

torch::Tensor lenet(const torch::Tensor& images, const Tensors& p) {
  auto x = torch::avg_pool2d(torch::relu(torch::conv2d(images.to(torch::kDouble), p[0], p[1])), 2);
  x = torch::avg_pool2d(torch::relu(torch::conv2d(x, p[2], p[3])), 2);
  x = torch::relu(torch::linear(x.flatten(1), p[4], p[5]));
  return torch::linear(torch::relu(torch::linear(x, p[6], p[7])), p[8], p[9]);
}

/// Trains one step; `parameters[i]` belong to `devices[i]`, and all copies are equal before and after it.
void train_batch(const levin::Batch& batch, const std::vector<Tensors>& parameters,
                 const std::vector<torch::Device>& devices, double lr) {
  for (const Tensors& list : parameters)
    for (const auto& parameter : list) parameter.mutable_grad() = torch::zeros_like(parameter);

  // A short batch may have fewer parts than there are devices: the gradients on the other devices stay zero.
  const auto parts = parallel::split_and_load(batch, devices);
  parallel::run_replicas({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(parts.size())}, [&](size_t i) {
    const auto logits = lenet(parts[i].input(), parameters[i]);
    F::cross_entropy(logits, parts[i].target(), F::CrossEntropyFuncOptions().reduction(torch::kSum)).backward();
  });

  std::vector<Tensors> gradients;
  for (const Tensors& list : parameters) {
    gradients.emplace_back();
    for (const auto& parameter : list) gradients.back().push_back(parameter.grad());
  }
  parallel::all_reduce(gradients);

  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < devices.size(); ++i)  // sums of losses: the mean is over the whole batch, however it was split
    for (size_t j = 0; j < parameters[i].size(); ++j)
      parameters[i][j].sub_(gradients[i][j], lr / static_cast<double>(batch.size()));
}

Tensors train(const levin::data::DatasetPtr& digits, const std::vector<torch::Device>& devices) {
  const auto parameters = parallel::broadcast(lenet_parameters(), devices);
  for (const Tensors& list : parameters)
    for (const auto& parameter : list) parameter.set_requires_grad(true);
  levin::data::DataLoader loader(digits, {.batch_size = 64, .shuffle = true, .seed = 3});
  for (int64_t epoch = 0; epoch < 10; ++epoch) {
    loader.set_epoch(epoch);
    while (auto loaded = loader.next()) train_batch(loaded->batch, parameters, devices, /*lr=*/0.03);
  }
  return parameters[0];
}

int main() {
  levin::data::SyntheticDigits data({.train_size = 647, .val_size = 200});  // the last batch has 7 samples
  data.setup(levin::Stage::Fit);
  const auto digits = data.dataset(levin::data::Split::Train);
  const auto devices = all_devices();
  const Tensors by_all = train(digits, devices), by_one = train(digits, {devices[0]});

  double difference = 0;
  for (size_t i = 0; i < by_all.size(); ++i)
    difference = std::max(difference, (by_all[i] - by_one[i]).abs().max().item<double>());
  const auto val = data.dataset(levin::data::Split::Val);
  const auto batch = levin::data::DataLoader(val, {.batch_size = val->size()}).next()->batch.to(devices[0]);
  const auto correct = lenet(batch.input(), by_all).argmax(1) == batch.target();
  std::cout << devices.size() << " devices; the weights differ from those of one device by " << difference
            << "; val_acc " << correct.to(torch::kFloat).mean().item<double>() << "\n";
  return difference < 1e-6 ? 0 : 1;
}
