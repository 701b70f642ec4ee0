#pragma once
#include <levin/modules/transformers/encoder_config.h>
#include <levin/modules/transformers/encoder_norm.h>
#include <torch/nn/modules/linear.h>

#include <string>
#include <vector>

namespace levin::nn {

/// What lies between an encoder and the logits of a classifier: a layer, a function, and a norm if the family has one.
class EncoderHead {
 public:
  /// Registers the parts in `model`, under the names of SequenceHeadConfig.
  EncoderHead(torch::nn::Module& model, const EncoderConfig& config);

  /// Maps `x` [..., hidden] to the same shape.
  at::Tensor forward(const at::Tensor& x);
  /// Returns the names of the parts.
  std::vector<std::string> names() const;

 private:
  SequenceHeadConfig config_;
  torch::nn::Linear dense_{nullptr};
  EncoderNorm norm_{nullptr};
};

}  // namespace levin::nn
