#pragma once
#include <levin/modules/transformers/pretrained_tensors.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace levin::nn {

/// Where parts are made: a module, and the beginning of the names that files have for what is in it.
struct PartPlace {
  torch::nn::Module& module;
  std::string prefix = {};  ///< "vit.encoder.layer.0.", or empty
};

struct ConvolutionShape {
  int64_t in = 0, out = 0, kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1, padding = 0, dilation = 1, groups = 1;
  bool bias = true;
};

/// Makes the layers of a network from the tensors of its files, in float32. The path of a layer in the module is its
/// name in the files; what is between ("encoder.layer") becomes modules without parameters of their own. Memory is
/// taken for tensors of the right shape alone, so that sizes in a config.json cannot ask for more than the files have.
class PretrainedParts {
 public:
  /// `tensors` must outlive this.
  explicit PretrainedParts(const PretrainedTensors& tensors) : tensors_(tensors) {}

  torch::nn::Conv2d convolution(const PartPlace& place, const std::string& path, const ConvolutionShape& shape);
  torch::nn::Linear linear(const PartPlace& place, const std::string& path, int64_t in, int64_t out, bool bias = true);
  torch::nn::LayerNorm layer_norm(const PartPlace& place, const std::string& path, int64_t size, double eps);
  torch::nn::BatchNorm2d batch_norm(const PartPlace& place, const std::string& path, int64_t size, double eps,
                                    double momentum);
  at::Tensor parameter(const PartPlace& place, const std::string& path, at::IntArrayRef sizes);
  /// Leaves the weight and the bias that files may have for a layer.
  void leave(const std::string& name);

  /// Throws levin::UsageError that lists what the files lack, have in another shape, and have in excess; `may_be_left`
  /// are beginnings of names of tensors that may be there. `family`: for the message.
  void check(const std::string& family, const std::filesystem::path& folder,
             const std::vector<std::string>& may_be_left) const;

 private:
  at::Tensor take(const std::string& name, at::IntArrayRef sizes, bool is_count = false);
  void take_into(at::Tensor& own, const std::string& name, at::IntArrayRef sizes);

  const PretrainedTensors& tensors_;
  std::set<std::string> used_ = {};
  std::vector<std::string> missing_ = {}, mismatched_ = {};
};

/// Makes a linear layer with weights of a normal distribution, of standard deviation 0.02, and a bias of zeros.
torch::nn::Linear new_linear(torch::nn::Module& module, const std::string& path, int64_t in, int64_t out);

}  // namespace levin::nn
