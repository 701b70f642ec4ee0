#pragma once
#include <levin/core/options/option.h>
#include <levin/modules/transformers/objectives/fixed_model.h>
#include <levin/modules/transformers/objectives/objective.h>

#include <optional>
#include <string>

namespace levin::nn {

struct DPOOptions {
  double beta = LEVIN_OPTION(beta, 0.1, "How much it costs to leave the reference", {.exclusive_min = 0});
  double label_smoothing = LEVIN_OPTION(label_smoothing, 0, "Share of pairs whose preference is taken to be wrong",
                                        {.min = 0, .exclusive_max = 0.5});
  std::string reference = LEVIN_OPTION(
      reference, "", "Folder of the model from which training begins; empty: the model itself without its adapter");
};

/// Direct preference optimization: raises the probability of the better completion against that of the worse, as seen
/// from a reference that is not trained. The batches are those of data::TextPreferences.
///
/// The loss of a pair is -log sigmoid(beta (c - r)), where c and r are log(p / p_reference) of the better and the worse
/// completion. Logs `rewards_chosen` beta c, `rewards_rejected` beta r, `rewards_margin`, their difference, and
/// `rewards_accuracy`, the share of pairs with a positive one.
///
/// Source: Rafailov et al., 2023, https://arxiv.org/abs/2305.18290; label_smoothing: Mitchell, 2023, "A note on DPO
/// with noisy preferences".
class DPO : public Objective {
 public:
  using Options = DPOOptions;
  /// Throws levin::UsageError for bad options and a folder that is missing.
  explicit DPO(Options options);
  /// Throws levin::UsageError for other batches, and without a reference for a model that is trained whole.
  Result compute(CausalLM& model, const Batch& batch) override;

 private:
  at::Tensor reference_logits(CausalLM& model, const at::Tensor& tokens, const DecoderInputs& inputs);

  Options options_;
  std::optional<FixedModel> reference_ = {};
};

}  // namespace levin::nn
