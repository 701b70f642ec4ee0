#include <levin/modules/lr_schedulers/step_lr.h>
#include <levin/modules/optim/engine/learning_rate.h>
#include <levin/modules/optim/optimizers/adam.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/trainer/trainer_impl.h>
#include <levin/trainer/tuner/lr_find.h>
#include <levin/trainer/tuner/tuner.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/tuner/tuned.h"

using levin::LRFindOptions;
using levin::LRFindResult;
using nlohmann::ordered_json;

TEST_CASE("a fit after a range test ends as one without, to the bit") {
  const TemporaryFolder folder;
  const auto run = [&](bool find) {
    torch::manual_seed(11);
    Tuned module;
    TunedData data;
    auto options = quiet(folder);
    options.max_epochs = 2;
    options.gradient_clip_val = 0.5;
    levin::Trainer trainer(options);
    if (find) {
      LRFindOptions how;
      how.num_training = 30;
      how.update_attr = false;
      CHECK(levin::lr_find(trainer, module, data, how).lrs.size() > 20);
      CHECK(module.batches_seen == 0);
    }
    const levin::RunResult result = trainer.fit(module, data);
    auto end = state_tensors(module);
    end.push_back(torch::tensor(metric(result, "mean"), torch::kDouble));
    end.push_back(torch::rand({3}));
    return end;
  };
  CHECK(bit_equal(run(false), run(true)));
}

TEST_CASE("a range test restores modes, gradients and an optimizer that outlives the run") {
  const TemporaryFolder folder;
  const ToyData data(32);
  ToyModule module(0.5);
  auto adam = std::make_shared<levin::optim::Adam>(module.parameters(), levin::optim::AdamOptions{.lr = 0.01});
  module.optimizers_of = [&](ToyModule&) { return levin::OptimizerConfig(adam); };
  auto options = quiet(folder);
  options.max_epochs = 1;
  levin::Trainer(options).fit(module, data.loader(8));
  module.eval();
  for (const auto& parameter : module.parameters()) parameter.mutable_grad() = torch::randn_like(parameter);
  const auto weights = copies(module.parameters());
  std::vector<torch::Tensor> gradients, moments;
  for (const auto& parameter : module.parameters()) gradients.push_back(parameter.grad().clone());
  const auto moments_of = [&] {
    std::vector<torch::Tensor> found;
    const levin::State state = adam->state_dict();
    for (const auto& [key, one] : state.at("state").to_dict()) found.push_back(one.at("exp_avg").to_tensor().clone());
    return found;
  };
  moments = moments_of();
  levin::Trainer trainer(options);
  levin::lr_find(trainer, module, data.loader(8), {.num_training = 20});
  CHECK(bit_equal(copies(module.parameters()), weights));
  CHECK(bit_equal(moments_of(), moments));
  CHECK(levin::optim::group_lrs(*adam) == std::vector<double>{0.01});
  for (size_t i = 0; i < gradients.size(); ++i) CHECK(torch::equal(module.parameters()[i].grad(), gradients[i]));
  CHECK_FALSE(module.net->is_training());
}

TEST_CASE("the fits of a trainer use the rate that was found, under schedulers too") {
  const TemporaryFolder folder;
  const ToyData data(32);
  const auto with_lr = [](double lr) {
    return [lr](ToyModule& module) {
      return levin::OptimizerConfig(levin::optim::SGD(module.parameters(), {.lr = lr, .momentum = 0.9}),
                                    levin::StepLR({.step_size = 1, .gamma = 0.5}));
    };
  };
  auto options = quiet(folder);
  options.max_epochs = 3;
  torch::manual_seed(1);
  ToyModule tuned, plain;
  for (size_t i = 0; i < plain.parameters().size(); ++i)
    plain.parameters()[i].data().copy_(tuned.parameters()[i].data());
  tuned.optimizers_of = with_lr(123);
  options.auto_lr_find = true;
  levin::Trainer trainer(options);
  const levin::TuneResult found = [&] {
    levin::TuneOptions how;
    how.lr_find.folder = folder / "plots";
    return levin::tune(trainer, tuned, data.loader(8), how);
  }();
  REQUIRE(found.lr_find.has_value());
  CHECK(std::filesystem::exists(folder / "plots" / "lr_find.svg"));
  const auto json = ordered_json::parse(std::ifstream(folder / "plots" / "lr_find.json"));
  CHECK(json["suggestion"].get<double>() == found.lr_find->suggestion());
  CHECK(json["lr"].size() == found.lr_find->lrs.size());
  trainer.fit(tuned, data.loader(8));

  plain.optimizers_of = with_lr(*found.lr_find->suggestion());
  options.auto_lr_find = false;
  levin::Trainer(options).fit(plain, data.loader(8));
  CHECK(bit_equal(copies(tuned.parameters()), copies(plain.parameters())));
}

TEST_CASE("groups keep their share of the largest rate") {
  const TemporaryFolder folder;
  const ToyData data(32);
  ToyModule module;
  std::vector<std::vector<double>> seen;
  module.optimizers_of = [](ToyModule& toy) {
    const auto parameters = toy.parameters();
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(std::vector<at::Tensor>{parameters[0], parameters[1]});
    groups.emplace_back(std::vector<at::Tensor>{parameters[2], parameters[3]},
                        std::make_unique<torch::optim::SGDOptions>(0.01));
    return levin::OptimizerConfig(torch::optim::SGD(groups, torch::optim::SGDOptions(0.1)));
  };
  auto options = quiet(folder);
  options.max_epochs = 1;
  options.callbacks.push_back(levin::LambdaCallback({.on_train_start = [&](levin::Run& run) {
    seen.push_back(levin::optim::group_lrs(*run.optimizers().front()));
  }}));
  levin::Trainer trainer(options);
  const LRFindResult found = levin::lr_find(trainer, module, data.loader(8));
  CHECK(seen.empty());
  trainer.fit(module, data.loader(8));
  REQUIRE(seen.size() == 1);
  CHECK(seen[0][0] == *found.suggestion());
  CHECK(seen[0][1] == Approx(0.1 * *found.suggestion()));
}

TEST_CASE("a module that keeps its rate itself receives it") {
  const TemporaryFolder folder;
  const ToyData data(32);
  ToyModule module;
  double lr = 0.05;
  module.optimizers_of = [&](ToyModule& toy) {
    return levin::OptimizerConfig(levin::optim::SGD(toy.parameters(), {.lr = lr}));
  };
  levin::Trainer trainer(quiet(folder));
  LRFindOptions how;
  how.set_lr = [&](double found) { lr = found; };
  const LRFindResult found = levin::lr_find(trainer, module, data.loader(8), how);
  CHECK(lr == found.suggestion());
  CHECK_FALSE(levin::Trainer::Impl::of(trainer).tuned.lr.has_value());
}

TEST_CASE("a range test writes no files and calls no user callbacks") {
  const TemporaryFolder folder;
  const ToyData data(32);
  ToyModule module;
  int calls = 0;
  auto options = quiet(folder);
  options.num_sanity_val_steps = 2;
  options.callbacks.push_back(levin::LambdaCallback({.setup = [&](levin::Run&) { ++calls; }}));
  levin::Trainer trainer(options);
  levin::lr_find(trainer, module, data.loader(8));
  CHECK(calls == 0);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  CHECK(files == std::vector<std::string>{"lr_find.json", "lr_find.svg"});
}

TEST_CASE("a range test refuses wrong options and several optimizers, and says what to do") {
  const TemporaryFolder folder;
  const ToyData data(32);
  ToyModule module;
  levin::Trainer trainer(quiet(folder));
  const auto error_with = [&](LRFindOptions how) {
    return error_text<levin::UsageError>([&] { levin::lr_find(trainer, module, data.loader(8), how); });
  };
  CHECK(contains(error_with({.min_lr = 1, .max_lr = 0.1}), "expected min_lr < max_lr"));
  CHECK(contains(error_with({.min_lr = 0}), "begins above 0"));
  CHECK(contains(error_with({.mode = "cubic"}), "lr_find.mode"));
  int64_t steps = 0;
  module.optimizers_of = [&](ToyModule& toy) {
    ++steps;
    return levin::OptimizerConfig(torch::optim::SGD(toy.parameters(), torch::optim::SGDOptions(0.1)));
  };
  CHECK(contains(error_with({.num_training = 12}), "lr_find.num_training: expected at least 13, got 12"));
  CHECK(contains(error_with({.num_training = 12, .skip_begin = 11}), "expected at least 14"));
  CHECK(steps == 0);  // before any trial
  CHECK(error_with({.num_training = 12, .skip_begin = 9}) == "no error");
  module.optimizers_of = [](ToyModule& toy) {
    levin::OptimizerConfig config;
    for (int i = 0; i < 2; ++i)
      config.entries.emplace_back(
          std::make_shared<torch::optim::SGD>(std::vector<at::Tensor>{toy.parameters()[i]}, 0.1));
    return config;
  };
  module.automatic_optimization = false;
  CHECK(contains(error_with({}), "2 optimizers; a range test works with one"));

  auto options = quiet(folder);
  options.auto_lr_find = true;
  levin::Trainer asked(options);
  CHECK(error_text<levin::UsageError>([&] { asked.fit(module, data.loader(8)); }) ==
        "trainer.auto_lr_find: fit itself looks for no learning rate; call levin::tune(trainer, module, data) before "
        "fit, or leave auto_lr_find unset");
  CHECK(contains(error_text<levin::UsageError>([&] { levin::tune(trainer, module); }), "there is nothing to look for"));
}

TEST_CASE("the picture shows the curve and the suggestion, whatever the losses") {
  LRFindResult found{
      .lrs = {1e-3, 1e-2, 1e-1, 1}, .losses = {2, 1.5, std::nan(""), 4}, .mode = "exponential", .index = 1};
  const std::string svg = found.to_svg();
  CHECK(contains(svg, "<polyline"));
  CHECK(contains(svg, "suggestion 0.01"));
  CHECK(contains(svg, ">0.001</text>"));
  CHECK_FALSE(contains(svg, "nan"));
  CHECK(contains(LRFindResult{}.to_svg(), "</svg>"));
  const LRFindResult flat{.lrs = {1, 1}, .losses = {0, 0}, .mode = "linear"};
  CHECK_FALSE(contains(flat.to_svg(), "nan"));
}
