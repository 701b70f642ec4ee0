#pragma once
#include <ATen/core/Tensor.h>
#include <levin/callbacks/callback.h>
#include <levin/callbacks/step_follower.h>
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// What is pruned, by torch.nn.utils.prune's names: elements or whole slices, the smallest or random ones.
enum class PruningMethod : uint8_t { None, L1Unstructured, RandomUnstructured, LnStructured, RandomStructured };
template <>
inline constexpr auto kWords<PruningMethod> =
    words_of<PruningMethod>({{"", PruningMethod::None},
                             {"l1_unstructured", PruningMethod::L1Unstructured},
                             {"random_unstructured", PruningMethod::RandomUnstructured},
                             {"ln_structured", PruningMethod::LnStructured},
                             {"random_structured", PruningMethod::RandomStructured}});

struct ModelPruningOptions {
  Choice<PruningMethod> pruning_fn = LEVIN_OPTION(
      pruning_fn, PruningMethod::None, "What is pruned: the smallest or random elements, or whole slices; required");
  std::vector<std::string> parameters_to_prune =
      LEVIN_OPTION(parameters_to_prune, {}, "Names of parameters, such as net.0.weight; empty: all of parameter_names");
  std::vector<std::string> parameter_names =
      LEVIN_OPTION(parameter_names, {"weight", "bias"}, "Last parts of the names of parameters that are pruned");
  bool use_global_unstructured =
      LEVIN_OPTION(use_global_unstructured, true, "Compare the elements of all parameters; false: of each by itself");
  double amount = LEVIN_OPTION(
      amount, 0.5, "Below 1: fraction of what is left that each pruning takes; from 1 on: number of elements or slices",
      {.min = 0});
  bool apply_pruning = LEVIN_OPTION(apply_pruning, true, "Prune at the end of each epoch");
  bool use_lottery_ticket_hypothesis = LEVIN_OPTION(
      use_lottery_ticket_hypothesis, true, "After each pruning, put what is left back to its values before training");
  bool resample_parameters =
      LEVIN_OPTION(resample_parameters, false,
                   "Put what is left to newly drawn values in place of those before training, in layers of LibTorch");
  std::optional<int64_t> pruning_dim = LEVIN_OPTION(pruning_dim, {}, "Dimension of the slices of structured pruning");
  std::optional<double> pruning_norm = LEVIN_OPTION(pruning_norm, {}, "Norm of the slices of ln_structured");
  int64_t verbose =
      LEVIN_OPTION(verbose, 0, "Print what is pruned: 1: in all, 2: of each parameter", {.min = 0, .max = 2});
  bool prune_on_train_epoch_end =
      LEVIN_OPTION(prune_on_train_epoch_end, true, "Prune after train epochs; false: after validation epochs");
  /// Return, for an epoch counted from 0, what the options of these names say for all.
  std::function<double(int64_t epoch)> amount_of = {};
  std::function<bool(int64_t epoch)> applies_in = {};
  std::function<bool(int64_t epoch)> resets_in = {};
};

/// Sets the least important elements of parameters to 0 in each epoch, and keeps them there.
///
/// The module's parameters always are the pruned ones, in checkpoints too; masks, and the values before training, are
/// in the callback's state. Gradients of pruned elements are 0. Each pruning takes its part of what is left: with the
/// amount 0.5 half, then a quarter, and so on. Random masks are those of rank 0.
/// Source: lightning.pytorch.callbacks.ModelPruning and torch.nn.utils.prune
class ModelPruning : public Callback, public StepFollower {
 public:
  using Options = ModelPruningOptions;

  /// Throws UsageError for bad options, or without `pruning_fn`.
  explicit ModelPruning(ModelPruningOptions options);

  void setup(Run& run) override;
  /// Throws UsageError for the name of a parameter that the module lacks.
  void on_fit_start(Run& run) override;
  void on_before_optimizer_step(Run& run, torch::optim::Optimizer& optimizer) override;
  void on_train_batch_end(Run& run) override;
  void on_train_epoch_end(Run& run) override;
  void after_step(Run& run) override;
  void on_validation_epoch_end(Run& run) override;

  /// masks and original, by the parameters' names.
  State state_dict() const override;
  void load_state_dict(const State& state) override;

  /// Returns the mask of a parameter, of ones and zeros in its shape and dtype; undefined before it is first pruned,
  /// and for another name.
  at::Tensor mask(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    at::Tensor parameter, original, mask = {};
    std::shared_ptr<torch::nn::Module> layer = {};  ///< that the parameter belongs to
  };
  bool is_structured() const;
  bool is_random() const;
  void choose_parameters(Run& run);
  void prune(Run& run);
  void prune_together(double amount);
  void reset(Run& run);
  void apply_masks();
  void report() const;
  at::Tensor pruned(const at::Tensor& values, const at::Tensor& mask, double amount) const;
  at::Tensor mask_of(const at::Tensor& values, const at::Tensor& before, double amount) const;
  int64_t number_to_prune(double amount, int64_t size) const;

  ModelPruningOptions options_;
  std::vector<Entry> entries_ = {};
  State loaded_ = {};
};

}  // namespace levin
