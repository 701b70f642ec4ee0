#include <levin/callbacks/backbone_finetuning.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <torch/optim/optimizer.h>

#include <iomanip>
#include <sstream>

namespace levin {
namespace {

constexpr const char* kBackbone = "backbone";

torch::nn::Module& backbone_of(LightningModule& module) {
  const auto children = module.named_children();
  if (const auto* found = children.find(kBackbone)) return **found;
  std::string names;
  for (const auto& child : children) names += (names.empty() ? "" : ", ") + child.key();
  throw UsageError("BackboneFinetuning: the module has no submodule '", kBackbone,
                   "'; it has: ", names.empty() ? "none" : names,
                   "; register the part that was trained before under that name");
}

}  // namespace

BackboneFinetuning::BackboneFinetuning(BackboneFinetuningOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "BackboneFinetuning");
}

void BackboneFinetuning::freeze_before_training(LightningModule& module) {
  previous_backbone_lr_.reset();
  freeze(backbone_of(module));
}

void BackboneFinetuning::finetune_function(LightningModule& module, int64_t epoch, torch::optim::Optimizer& optimizer) {
  if (epoch < options_.unfreeze_backbone_at_epoch) return;
  const double lr = optimizer.param_groups().at(0).options().get_lr();
  if (epoch == options_.unfreeze_backbone_at_epoch || !previous_backbone_lr_) {
    previous_backbone_lr_ = options_.backbone_initial_lr.value_or(lr * options_.backbone_initial_ratio_lr);
    unfreeze_and_add_param_group(backbone_of(module), optimizer, previous_backbone_lr_, options_.initial_denom_lr,
                                 options_.train_bn);
  } else {
    const double factor = options_.lambda_func ? options_.lambda_func(epoch + 1) : 2.0;
    double next = factor * *previous_backbone_lr_;
    if (options_.should_align && next > lr) next = lr;
    optimizer.param_groups().back().options().set_lr(next);
    previous_backbone_lr_ = next;
  }
  report(lr, *previous_backbone_lr_);
}

/// Present options are those of configure_optimizers; the last group's rate is this callback's, if it has added the
/// group or set the rate since it unfroze the backbone.
void BackboneFinetuning::on_fit_start(Run& run) {
  BaseFinetuning::on_fit_start(run);
  if (!previous_backbone_lr_ || !run.takes_present_options()) return;
  const int64_t newest_epoch = run.state().batch_in_epoch > 0 ? run.state().epoch : run.state().epoch - 1;
  const bool has_set_rate = newest_epoch > options_.unfreeze_backbone_at_epoch;
  for (const auto& optimizer : run.optimizers())
    if (has_set_rate || optimizer->param_groups().size() > 1)
      optimizer->param_groups().back().options().set_lr(*previous_backbone_lr_);
}

void BackboneFinetuning::report(double lr, double backbone_lr) const {
  if (!options_.verbose) return;
  std::ostringstream text;
  text << std::fixed << std::setprecision(static_cast<int>(options_.rounding)) << "BackboneFinetuning: rate " << lr
       << ", of the backbone " << backbone_lr;
  console::info(text.str());
}

State BackboneFinetuning::state_dict() const {
  State state = BaseFinetuning::state_dict();
  state["previous_backbone_lr"] = previous_backbone_lr_ ? State(*previous_backbone_lr_) : State();
  return state;
}

void BackboneFinetuning::load_state_dict(const State& state) {
  BaseFinetuning::load_state_dict(state);
  const State& previous = state.at("previous_backbone_lr");
  previous_backbone_lr_ = previous.is_none() ? std::nullopt : std::optional(previous.to_double());
}

}  // namespace levin
