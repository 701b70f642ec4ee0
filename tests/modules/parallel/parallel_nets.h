#pragma once
#include <torch/torch.h>

#include <string>
#include <vector>

// Networks and comparisons for the tests of modules/parallel.

struct SmallNetImpl : torch::nn::Cloneable<SmallNetImpl> {
  explicit SmallNetImpl(bool normalized = false, double drop = 0) : with_norm(normalized), dropout(drop) { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(8, 16));
    if (with_norm) norm = register_module("norm", torch::nn::BatchNorm1d(16));
    last = register_module("last", torch::nn::Linear(16, 3));
    scale = register_parameter("scale", torch::ones({3}));
    offset = register_buffer("offset", torch::zeros({3}));
  }
  torch::Tensor forward(torch::Tensor input) {
    auto hidden = first(input);
    if (with_norm) hidden = norm(hidden);
    hidden = torch::dropout(torch::tanh(hidden), dropout, is_training());
    return last(hidden) * scale + offset;
  }
  bool with_norm;
  double dropout;
  torch::nn::Linear first{nullptr}, last{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::Tensor scale, offset;
};
TORCH_MODULE(SmallNet);

inline std::vector<torch::Device> cpus(size_t count) { return std::vector<torch::Device>(count, torch::kCPU); }

/// Returns a copy with its own memory, in double.
inline SmallNet copy_of(const SmallNet& net) {
  SmallNet copy(std::dynamic_pointer_cast<SmallNetImpl>(net->clone()));
  copy->train(net->is_training());
  return copy;
}

inline SmallNet small_net(bool with_norm = false, double dropout = 0) {
  torch::manual_seed(1);
  SmallNet net(with_norm, dropout);
  net->to(torch::kDouble);
  return net;
}

inline double max_difference(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.defined() != b.defined() || (a.defined() && a.sizes() != b.sizes())) return 1e300;
  return a.defined() && a.numel() > 0 ? (a - b).abs().max().item<double>() : 0.0;
}

/// Returns the largest difference between the gradients of all parameters.
inline double max_grad_difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  double difference = 0;
  const auto others = b.named_parameters();
  for (const auto& item : a.named_parameters())
    difference = std::max(difference, max_difference(item.value().grad(), others[item.key()].grad()));
  return difference;
}
