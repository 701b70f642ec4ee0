// A run with a callback that changes the training ends with the same bits if it is resumed.
#include <nlohmann/json.hpp>

#include "tests/callbacks/backbone_net.h"
#include "tests/captured_stderr.h"
#include "tests/catch.h"

using Json = nlohmann::ordered_json;

namespace {

constexpr int64_t kBatches = 5;

/// Saves after every third train batch, and inside each second validation.
struct Saver : levin::Callback {
  explicit Saver(std::filesystem::path folder_) : folder(std::move(folder_)) {}
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().batches_seen % 3 == 0) save(run, "train_");
  }
  void on_validation_batch_end(levin::Run& run) override {
    if (run.state().epoch % 2 == 1 && run.batch_idx() == 0) save(run, "validation_");
  }
  void save(levin::Run& run, const std::string& name) {
    files.push_back(folder / (name + std::to_string(run.state().batches_seen) + ".ckpt"));
    run.save_checkpoint(files.back());
  }
  std::filesystem::path folder;
  std::vector<std::filesystem::path> files;
};

levin::TrainerOptions options_of(const TemporaryFolder& folder, const Json& one) {
  levin::TrainerOptions options = quiet(folder);
  levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", {{"callbacks", Json::array({one["callback"]})}});
  options.max_epochs = one["epochs"];
  options.accumulate_grad_batches = one.value("accumulate", 1);
  options.enable_checkpointing = false;
  return options;
}

BackboneNet new_net(const Json& one) {
  torch::manual_seed(3);
  return BackboneNet(one.value("head_only", false), 0.9);
}

std::vector<torch::Tensor> values_of(const BackboneNet& net) {
  std::vector<torch::Tensor> values = net.parameters();
  for (const auto& buffer : net.buffers()) values.push_back(buffer);
  return copies(values);
}

const Json& cases() {
  static const Json all = Json::parse(R"([
    {"epochs": 5, "callback": {"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 3,
                               "annealing_epochs": 2}},
    {"epochs": 4, "accumulate": 2, "callback":
      {"class": "StochasticWeightAveraging", "swa_lrs": [0.03], "swa_epoch_start": 0.5, "annealing_epochs": 1}},
    {"epochs": 4, "callback": {"class": "EMAWeightAveraging", "decay": 0.9, "update_every_n_steps": 2,
                               "update_starting_at_epoch": 1}},
    {"epochs": 5, "head_only": true, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 2}},
    {"epochs": 4, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}},
    {"epochs": 4, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 0}},
    {"epochs": 4, "head_only": true, "accumulate": 2, "callback":
      {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1, "train_bn": false}},
    {"epochs": 4, "accumulate": 2, "callback":
      {"class": "ModelPruning", "pruning_fn": "random_unstructured", "amount": 0.3,
       "use_lottery_ticket_hypothesis": false}},
    {"epochs": 3, "callback": {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.2}},
    {"epochs": 3, "callback": {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.2,
                               "resample_parameters": true}}
  ])");
  return all;
}

}  // namespace

TEST_CASE("a fit with averages, or with a backbone that thaws, is resumed from anywhere to the same bits") {
  const ToyData data(8 * kBatches), validation(16);
  for (const Json& one : cases()) {
    INFO(one.dump());
    const TemporaryFolder folder;
    BackboneNet unbroken = new_net(one);
    const auto first = values_of(unbroken);
    const auto saver = std::make_shared<Saver>(folder.path());
    levin::TrainerOptions options = options_of(folder, one);
    options.callbacks.emplace_back(saver);
    levin::Trainer(options).fit(unbroken, data.loader(8), validation.loader(8));
    CHECK(largest_difference(first, values_of(unbroken)) > 1e-2);
    CHECK(saver->files.size() >= 6);
    // The present options are those of before. A backbone in the optimizer's first group has its rate from the schedule
    // and from the callback, of which present options keep the newest of one only.
    const bool shares_group = one["callback"]["class"] == "BackboneFinetuning" && !one.value("head_only", false);
    for (const auto& file : saver->files)
      for (const char* const options_to_keep : {"saved", "present"}) {
        if (shares_group && options_to_keep == std::string("present")) continue;
        INFO(file.filename() << ", " << options_to_keep);
        BackboneNet resumed = new_net(one);
        levin::TrainerOptions again = options_of(folder, one);
        again.resume_optimizer_options = options_to_keep;
        levin::Trainer(again).fit(resumed, data.loader(8), validation.loader(8), file.string());
        CHECK(bit_equal(values_of(resumed), values_of(unbroken)));
      }
  }
}

TEST_CASE("a callback begins anew in the second fit of a trainer") {
  const ToyData data(8 * kBatches), validation(16);
  for (const Json& one : cases()) {
    INFO(one.dump());
    const TemporaryFolder folder;
    levin::Trainer trainer(options_of(folder, one));
    BackboneNet a = new_net(one);
    trainer.fit(a, data.loader(8), validation.loader(8));
    BackboneNet b = new_net(one);
    trainer.fit(b, data.loader(8), validation.loader(8));
    CHECK(bit_equal(values_of(a), values_of(b)));
  }
}

TEST_CASE("a run whose backbone trains already is resumed with present options of its optimizer") {
  const ToyData data(8 * kBatches);
  const Json one = Json::parse(
      R"({"epochs": 4, "head_only": true, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}})");
  const TemporaryFolder folder;
  BackboneNet unbroken = new_net(one);
  const auto saver = std::make_shared<Saver>(folder.path());
  levin::TrainerOptions options = options_of(folder, one);
  options.callbacks.emplace_back(saver);
  levin::Trainer(options).fit(unbroken, data.loader(8));

  struct Groups : levin::Callback {
    void on_train_start(levin::Run& run) override {
      for (const auto& group : run.optimizers()[0]->param_groups()) sizes.push_back(group.params().size());
    }
    std::vector<size_t> sizes;
  };
  const auto groups = std::make_shared<Groups>();
  levin::TrainerOptions again = options_of(folder, one);
  again.resume_optimizer_options = "present";
  again.callbacks.emplace_back(groups);
  BackboneNet resumed = new_net(one);
  levin::Trainer(again).fit(resumed, data.loader(8), {}, (folder / "train_9.ckpt").string());
  CHECK(groups->sizes == std::vector<size_t>{2, 4});
  CHECK(largest_difference(resumed.backbone->parameters(), unbroken.backbone->parameters()) < 0.1);
  CHECK(resumed.backbone->parameters()[0].requires_grad());
}
