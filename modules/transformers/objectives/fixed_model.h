#pragma once
#include <ATen/core/Tensor.h>
#include <levin/modules/transformers/decoder.h>

#include <memory>
#include <string>

namespace levin::nn {

class CausalLM;

/// A second model that is not trained: read from a folder when it is first needed, outside of the module that is
/// trained, so that neither optimizers nor checkpoints see it.
class FixedModel {
 public:
  /// `option` names the folder in errors ("model.objective.teacher"). Throws levin::UsageError if there is no such
  /// folder.
  FixedModel(std::string folder, std::string option);

  /// Returns its logits [batch, time, vocabulary], without a graph and dropout, in the dtype of `student`'s options.
  /// Throws levin::UsageError for a vocabulary of another size than the student's, and as CausalLM's constructor.
  at::Tensor logits(CausalLM& student, const at::Tensor& tokens, const DecoderInputs& inputs);

 private:
  std::string folder_, option_;
  std::shared_ptr<CausalLM> model_ = {};
};

}  // namespace levin::nn
