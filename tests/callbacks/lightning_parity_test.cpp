// Callbacks that change the training, against PyTorch Lightning's.
#include <levin/core/state/state_file.h>

#include "tests/callbacks/backbone_net.h"
#include "tests/catch.h"
#include "tests/modules/python_reference.h"

using Json = nlohmann::ordered_json;

namespace {

struct RateRecorder : levin::Callback {
  void on_train_batch_start(levin::Run& run) override {
    rates.emplace_back();
    for (const auto& group : run.optimizers()[0]->param_groups()) rates.back().push_back(group.options().get_lr());
  }
  std::vector<std::vector<double>> rates;
};

/// Fits with the callback, whose JSON is PyTorch Lightning's arguments; returns the rates of all batches.
std::vector<std::vector<double>> fit_as(BackboneNet& net, const ToyData& data, const Json& one) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  Json callback = one["callback"];
  if (one.contains("pruned")) callback["parameters_to_prune"] = one["pruned"];
  levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", {{"callbacks", Json::array({callback})}});
  const auto recorder = std::make_shared<RateRecorder>();
  options.callbacks.emplace_back(recorder);
  options.max_epochs = one["epochs"];
  options.accumulate_grad_batches = one.value("accumulate", 1);
  options.enable_checkpointing = false;
  levin::Trainer(options).fit(net, data.loader(8), data.loader(8));
  return recorder->rates;
}

}  // namespace

TEST_CASE("callbacks that change the training end with PyTorch Lightning's weights and rates") {
  const Json cases = Json::parse(R"([
    {"epochs": 6, "callback": {"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 3,
                               "annealing_epochs": 2}},
    {"epochs": 8, "gamma": 0.9, "accumulate": 2, "callback":
      {"class": "StochasticWeightAveraging", "swa_lrs": [0.03], "swa_epoch_start": 0.5, "annealing_epochs": 3,
       "annealing_strategy": "linear"}},
    {"epochs": 4, "callback": {"class": "EMAWeightAveraging", "decay": 0.9}},
    {"epochs": 5, "callback":
      {"class": "EMAWeightAveraging", "decay": 0.8, "use_buffers": false, "update_every_n_steps": 3,
       "update_starting_at_step": 7, "update_starting_at_epoch": 3}},
    {"epochs": 6, "head_only": true, "gamma": 0.9, "callback":
      {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 2}},
    {"epochs": 7, "head_only": true, "accumulate": 2, "callback":
      {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1, "backbone_initial_lr": 0.01, "train_bn": false,
       "should_align": false}},
    {"epochs": 4, "callback":
      {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.2, "use_lottery_ticket_hypothesis": false}},
    {"epochs": 1, "accumulate": 2, "callback":
      {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 5, "parameter_names": ["weight"]}},
    {"epochs": 3, "callback":
      {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.25, "use_global_unstructured": false,
       "parameter_names": ["bias"], "use_lottery_ticket_hypothesis": false, "prune_on_train_epoch_end": false}},
    {"epochs": 3, "pruned": ["backbone.0.weight"], "callback":
      {"class": "ModelPruning", "pruning_fn": "ln_structured", "amount": 2, "use_global_unstructured": false,
       "use_lottery_ticket_hypothesis": false, "pruning_dim": 0, "pruning_norm": 2}}
  ])");
  // A pruned row makes a batch norm's input constant, and the norm then magnifies rounding 300 times.
  const auto within = [](const Json& one) { return one.contains("pruned") ? 1e-5 : 1e-6; };
  const TemporaryFolder folder;
  const ToyData data(48);
  std::vector<std::shared_ptr<BackboneNet>> nets;
  for (size_t i = 0; i < cases.size(); ++i) {
    torch::manual_seed(3);
    nets.push_back(std::make_shared<BackboneNet>(cases[i].value("head_only", false), cases[i].value("gamma", 1.0)));
    levin::save_weights(*nets[i], folder / ("first_" + std::to_string(i) + ".pt"));
  }
  levin::save_state(levin::State::dict({{"input", data.input}, {"target", data.target}}), folder / "data.pt");
  const auto expected = python_reference("callbacks", cases, folder.path().string());
  if (!expected) return;
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].dump());
    BackboneNet& net = *nets[i];
    const auto first = copies(net.parameters());
    CHECK(Json(fit_as(net, data, cases[i])) == (*expected)[i]);
    const levin::State theirs = levin::load_state(folder / ("last_" + std::to_string(i) + ".pt"));
    for (const auto& [name, tensor] : levin::module_state_dict(net).to_dict()) {
      if (!tensor.to_tensor().is_floating_point()) continue;
      INFO(levin::to_text(name));
      const torch::Tensor difference = tensor.to_tensor() - theirs.at(name).to_tensor();
      CHECK(difference.abs().max().item<double>() < within(cases[i]));
    }
    CHECK(largest_difference(first, net.parameters()) > 1e-2);
  }
}
