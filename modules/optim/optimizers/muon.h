#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/optimizers/adamw.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace optim {

/// How Muon's learning rate depends on the shape [out, in] of a matrix: times sqrt(max(1, out / in)), or times
/// 0.2 sqrt(max(out, in)), with which rates that suit AdamW suit Muon too.
enum class MuonRate : uint8_t { Original, MatchRmsAdamW };

}  // namespace optim

template <>
inline constexpr auto kWords<optim::MuonRate> = words_of<optim::MuonRate>(
    {{"original", optim::MuonRate::Original}, {"match_rms_adamw", optim::MuonRate::MatchRmsAdamW}});

namespace optim {

/// Arguments of Muon, with PyTorch's names and defaults, and those of AdamW for parameters that Muon does not step.
struct MuonOptions {
  double lr = LEVIN_OPTION(lr, 1e-3, "Learning rate", {.min = 0});
  double weight_decay = LEVIN_OPTION(weight_decay, 0.1, "Decoupled weight decay", {.min = 0});
  double momentum = LEVIN_OPTION(momentum, 0.95, "Decay of the average of gradients", {.min = 0, .max = 1});
  bool nesterov = LEVIN_OPTION(nesterov, true, "Nesterov momentum");
  std::vector<double> ns_coefficients =
      LEVIN_OPTION(ns_coefficients, {3.4445, -4.775, 2.0315}, "Coefficients of the Newton-Schulz iteration");
  double eps = LEVIN_OPTION(eps, 1e-7, "Least norm by which an update is divided", {.min = 0});
  int64_t ns_steps = LEVIN_OPTION(ns_steps, 5, "Steps of the Newton-Schulz iteration", {.min = 0, .max = 99});
  Choice<MuonRate> adjust_lr_fn =
      LEVIN_OPTION(adjust_lr_fn, MuonRate::Original,
                   "How the rate depends on a matrix's shape; match_rms_adamw: rates that suit AdamW suit Muon too");
  AdamWOptions others =
      LEVIN_OPTION(others, {}, "AdamW's options for the parameters that are no matrices of hidden layers");
};

/// Python's Muon has no `others`.
void to_python_names(Json& values, const MuonOptions& options);
void check_more(const MuonOptions& options, const std::string& path);

/// Momentum, orthogonalized: each step of a matrix has singular values near 1. For the matrices of hidden layers; the
/// other parameters take steps of AdamW, in groups with AdamWOptions. The iteration computes in bfloat16, as Python's.
///
/// Source: https://pytorch.org/docs/stable/generated/torch.optim.Muon.html and Jordan et al., Muon, 2024,
/// https://kellerjordan.github.io/posts/muon/
class Muon : public Optimizer {
 public:
  using Options = MuonOptions;

  /// Divides each group that has no options of its own: its matrices (2 dimensions) are stepped by Muon, the other
  /// parameters are in a group behind it that AdamW steps. Embeddings and heads are matrices too: give them in a group
  /// with AdamWOptions, or call `step_by_others`. Throws levin::UsageError for bad options, an empty list of
  /// parameters, a duplicate or complex parameter, and a parameter that is no matrix in a group with MuonOptions.
  explicit Muon(std::vector<at::Tensor> parameters, MuonOptions options = {});
  explicit Muon(ParamGroups groups, MuonOptions options = {});

  /// Moves these parameters to the last group of AdamW, or to a new one. Call it before the first step.
  void step_by_others(const std::vector<at::Tensor>& parameters);

  // --- steps of parts of matrices, which ranks divide among each other ---

  /// The update of a part that is not orthogonalized yet: both have one dimension.
  struct PartUpdate {
    at::Tensor part, update;
    MuonOptions options = {};
  };
  /// From now on the groups hold parts of matrices. A step makes their momentum and weight decay, and leaves the rest
  /// to the caller, who puts the updates of a matrix's parts together.
  void step_in_parts() { in_parts_ = true; }
  /// Returns what the last step has left, and forgets it.
  std::vector<PartUpdate> take_updates() { return std::exchange(updates_, {}); }
  /// Adds the update of a whole matrix, which is orthogonalized here, to a part that begins at its element `begin` in
  /// memory. Throws levin::UsageError for another shape than a matrix's.
  static void add_whole_update(const PartUpdate& of_part, const at::Tensor& update, int64_t begin);
  /// Returns whether these are the options of a group that Muon steps, and not AdamW.
  static bool has_options(const torch::optim::OptimizerOptions& options);

 protected:
  StateNames state_names() const override;
  ParamState first_state(const torch::optim::OptimizerOptions& options, const Member& member) const override;
  void update(const torch::optim::OptimizerOptions& options, Members& members) override;

 private:
  bool in_parts_ = false;
  std::vector<PartUpdate> updates_ = {};
};

}  // namespace optim
}  // namespace levin
