#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/transformers/objectives/fixed_model.h>
#include <levin/modules/transformers/objectives/objective.h>

#include <string>

namespace levin::nn {

struct DistillationOptions {
  std::string teacher = LEVIN_OPTION(teacher, "", "Folder of the model that teaches, with the same tokens");
  double temperature = LEVIN_OPTION(
      temperature, 2, "By which both models' logits are divided, so that rare tokens count more", {.exclusive_min = 0});
  double weight =
      LEVIN_OPTION(weight, 0.5, "Share of the teacher in the loss; the rest is the next token's cross entropy",
                   {.min = 0, .max = 1});
};

/// Distillation: learns the distribution of the next token that a teacher has, which is not trained. With the
/// temperature T the loss of a token that counts is
/// weight T^2 KL(softmax(teacher / T) || softmax(model / T)) + (1 - weight) cross entropy.
/// Logs `divergence`, the mean of KL, and `cross_entropy`.
///
/// Source: Hinton et al., 2015, "Distilling the Knowledge in a Neural Network".
class Distillation : public Objective {
 public:
  using Options = DistillationOptions;
  /// Throws levin::UsageError for bad options and a folder that is missing.
  explicit Distillation(Options options);
  Result compute(CausalLM& model, const Batch& batch) override;

 private:
  Options options_;
  FixedModel teacher_;
};

}  // namespace levin::nn
