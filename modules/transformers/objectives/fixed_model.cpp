#include <levin/modules/transformers/objectives/fixed_model.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/system/error.h>
#include <levin/modules/transformers/causal_lm.h>
#include <levin/modules/transformers/pretrained_tensors.h>

#include <utility>

namespace levin::nn {

FixedModel::FixedModel(std::string folder, std::string option)
    : folder_(std::move(folder)), option_(std::move(option)) {
  open_model_folder(folder_, option_);
}

at::Tensor FixedModel::logits(CausalLM& student, const at::Tensor& tokens, const DecoderInputs& inputs) {
  const at::NoGradGuard no_grad;
  if (!model_) {
    auto model = std::make_shared<CausalLM>(CausalLMOptions{
        .folder = folder_, .dtype = student.options.dtype, .ignored_fields = student.options.ignored_fields});
    if (model->config().vocabulary != student.config().vocabulary)
      throw UsageError(option_, ": ", folder_, " has a vocabulary of ", model->config().vocabulary,
                       " tokens, the model that is trained of ", student.config().vocabulary,
                       "; both need the same tokenizer");
    model->eval();
    model->to(tokens.device());
    model_ = std::move(model);
  }
  if (model_->decoder->parameters().front().device() != tokens.device())
    throw UsageError(option_, ": several devices of one process share the second model; use ddp in place of dp");
  return model_->forward(tokens, inputs);
}

}  // namespace levin::nn
