#include <levin/trainer/options.h>
#include <levin/callbacks/progress_bar.h>
#include <levin/trainer/core/error.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"

using levin::Json;
using levin::TrainerOptions;

namespace {

TrainerOptions from_json(const char* text) {
  TrainerOptions options;
  levin::schema_of<TrainerOptions>().set(&options, "trainer", Json::parse(text));
  return options;
}

std::string error_of(const char* text) {
  try {
    levin::check_options(from_json(text));
  } catch (const levin::UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("defaults mean what PyTorch Lightning's mean") {
  const TrainerOptions options = levin::resolve({});
  CHECK(options.max_epochs == 1000);
  CHECK(options.max_steps == -1);
  CHECK(options.num_sanity_val_steps == 2);
  CHECK(options.log_every_n_steps == 50);
  CHECK(options.accelerator == "cpu");
  CHECK(options.strategy == "single_device");
  CHECK(options.logger.is_on());
  CHECK(levin::resolve({.max_steps = 5}).max_epochs == -1);
  CHECK(levin::resolve({.max_time = "00:00:01:00"}).max_epochs == -1);
}

TEST_CASE("resolved options can be resolved again, also by way of JSON") {
  const levin::Schema& schema = levin::schema_of<TrainerOptions>();
  for (const char* text : {"{}", R"({"fast_dev_run": 3, "accumulate_grad_batches": 2})", R"({"barebones": true})",
                           R"({"gpus": 0, "nb_gpu_nodes": 1, "use_amp": false, "precision": 32})",
                           R"({"max_time": {"hours": 1}, "limit_train_batches": 5, "val_check_interval": 0.5})"}) {
    const TrainerOptions once = levin::resolve(from_json(text));
    TrainerOptions again;
    schema.set(&again, "trainer", schema.get(&once));
    again = levin::resolve(again);
    CHECK(schema.get(&again).dump() == schema.get(&once).dump());
  }
}

TEST_CASE("fast_dev_run and barebones set the other options") {
  const TrainerOptions quick = levin::resolve({.fast_dev_run = true, .max_epochs = 9});
  CHECK(quick.max_epochs == 1);
  CHECK(quick.max_steps == 1);
  CHECK(quick.limit_val_batches == levin::BatchLimit(1));
  CHECK_FALSE(quick.logger.is_on());
  const TrainerOptions bare = levin::resolve({.barebones = true});
  CHECK_FALSE(bare.logger.is_on());
  CHECK(bare.enable_progress_bar == false);
  CHECK(bare.num_sanity_val_steps == 0);
  CHECK(bare.log_every_n_steps == 0);
}

TEST_CASE("values that mean what runs today pass") {
  for (const char* text :
       {R"({"accelerator": "cpu", "devices": 1, "strategy": "single_device", "precision": "32-true", "num_nodes": 1})",
        R"({"devices": "auto", "gpus": null})", R"({"devices": -1})", R"({"gpus": 0})", R"({"gpus": ""})",
        R"({"precision": 32, "use_amp": false, "enable_checkpointing": false, "enable_model_summary": false})",
        R"({"nb_gpu_nodes": 1, "replace_sampler_ddp": false, "profiler": null, "launcher": "none"})",
        R"({"overfit_batches": 0, "min_epochs": 1, "max_epochs": -1})"}) {
    INFO(text);
    CHECK(error_of(text) == "");
  }
}

TEST_CASE("what cannot run yet is refused by name") {
  const std::string later = " cannot run yet in this version; ";
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"({"precision": 16})", "trainer.precision: 16-mixed" + later + "use 32"},
      {R"({"accelerator": "gpu"})", "trainer.accelerator: gpu" + later + "use cpu"},
      {R"({"devices": 2})", "trainer.devices: 2" + later + "use 1"},
      {R"({"devices": [0]})", "trainer.devices: 0" + later + "use 1"},
      {R"({"devices": 0})", "trainer.devices: expected at least one device, got 0"},
      {R"({"strategy": "ddp"})", "trainer.strategy: ddp" + later + "use single_device"},
      {R"({"num_nodes": 2})", "trainer.num_nodes: 2" + later + "use 1"},
      {R"({"gpus": "0,1"})", "trainer.gpus: 0,1" + later + "leave it unset or use 0"},
      {R"({"gpus": -1})", "trainer.gpus: auto" + later + "leave it unset or use 0"},
      {R"({"nb_gpu_nodes": 2})", "trainer.nb_gpu_nodes: 2" + later + "use 1"},
      {R"({"distributed_backend": "ddp"})", "trainer.distributed_backend: ddp" + later + "leave it unset"},
      {R"({"use_amp": true})", "trainer.use_amp: true" + later + "use false"},
      {R"({"sync_batchnorm": true})", "trainer.sync_batchnorm: true" + later + "leave it unset"},
      {R"({"profiler": "simple"})", "trainer.profiler: simple" + later + "leave it unset"},
      {R"({"auto_lr_find": true})", "trainer.auto_lr_find: true" + later + "set the rate in the model's options"},
      {R"({"auto_scale_batch_size": "power"})",
       "trainer.auto_scale_batch_size: power" + later + "set the batch size in the data's options"},
  };
  for (const auto& [text, message] : cases) CHECK(error_of(text) == message);
}

TEST_CASE("contradictions name both options") {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"({"min_epochs": 3, "max_epochs": 2})",
       "trainer.min_epochs and trainer.max_epochs contradict each other: at least 3 epochs, at most 2"},
      {R"({"min_steps": 3, "max_steps": 2})",
       "trainer.min_steps and trainer.max_steps contradict each other: at least 3 steps, at most 2"},
      {R"({"gpus": 1, "devices": 1})",
       "trainer.gpus and trainer.devices contradict each other: both say which devices; keep devices"},
      {R"({"gpus": 1, "accelerator": "cpu"})",
       "trainer.gpus and trainer.accelerator contradict each other: gpus 1 with accelerator cpu"},
      {R"({"nb_gpu_nodes": 2, "num_nodes": 3})",
       "trainer.nb_gpu_nodes and trainer.num_nodes contradict each other: 2 and 3 machines"},
      {R"({"distributed_backend": "dp", "strategy": "ddp"})",
       "trainer.distributed_backend and trainer.strategy contradict each other: dp and ddp"},
      {R"({"use_amp": true, "precision": 64})",
       "trainer.use_amp and trainer.precision contradict each other: 16 bit and 64-true"},
      {R"({"use_amp": false, "precision": 16})",
       "trainer.use_amp and trainer.precision contradict each other: use_amp false and 16-mixed"},
      {R"({"enable_checkpointing": false, "callbacks": ["ModelCheckpoint"]})",
       "trainer.enable_checkpointing and trainer.callbacks contradict each other: no checkpoints, and a "
       "ModelCheckpoint "
       "among the callbacks"},
      {R"({"barebones": true, "logger": true})",
       "trainer.barebones and trainer.logger contradict each other: barebones runs without it; leave logger unset"},
      {R"({"barebones": true, "log_every_n_steps": 5})",
       "trainer.barebones and trainer.log_every_n_steps contradict each other: barebones runs without it; leave "
       "log_every_n_steps unset"},
      {R"({"overfit_batches": 2, "limit_val_batches": 3})",
       "trainer.overfit_batches and trainer.limit_val_batches contradict each other: both say how many batches there "
       "are"},
      {R"({"fast_dev_run": 1, "overfit_batches": 2})",
       "trainer.fast_dev_run and trainer.overfit_batches contradict each other: both say how many batches there are"},
      {R"({"strategy": "dp", "num_nodes": 2})",
       "trainer.strategy and trainer.num_nodes contradict each other: dp trains on one machine, not on 2"},
      {R"({"distributed_backend": "dp", "nb_gpu_nodes": 3})",
       "trainer.distributed_backend and trainer.nb_gpu_nodes contradict each other: dp trains on one machine, not on "
       "3"},
      {R"({"strategy": "single_device", "devices": [0, 1]})",
       "trainer.strategy and trainer.devices contradict each other: single_device trains on one device, not on 2"},
      {R"({"strategy": "single_device", "nb_gpu_nodes": 2})",
       "trainer.strategy and trainer.nb_gpu_nodes contradict each other: single_device trains on one device, not on 2 "
       "machines"},
      {R"({"use_amp": true, "amp_level": "O0"})",
       "trainer.use_amp and trainer.amp_level contradict each other: 16 bit and O0, which is 32 bit"},
      {R"({"amp_level": "O2", "precision": "64"})",
       "trainer.amp_level and trainer.precision contradict each other: O2 is a way to run 16-mixed, not 64-true"},
      {R"({"use_amp": false, "precision": "bf16"})",
       "trainer.use_amp and trainer.precision contradict each other: use_amp false and bf16-mixed"},
      {R"({"replace_sampler_ddp": true, "use_distributed_sampler": false})",
       "trainer.replace_sampler_ddp and trainer.use_distributed_sampler contradict each other: true and false"},
      {R"({"gpus": 0, "accelerator": "gpu"})",
       "trainer.gpus and trainer.accelerator contradict each other: no gpus with accelerator gpu"},
      {R"({"fast_dev_run": true, "auto_lr_find": true})",
       "trainer.fast_dev_run and trainer.auto_lr_find contradict each other: a test of one batch looks for no learning "
       "rate"},
  };
  for (const auto& [text, message] : cases) CHECK(error_of(text) == message);
}

TEST_CASE("a progress bar among the callbacks contradicts having none") {
  TrainerOptions options{.callbacks = {levin::ProgressBar()}, .enable_progress_bar = false};
  CHECK_THROWS_WITH(levin::check_options(options),
                    "trainer.enable_progress_bar and trainer.callbacks contradict each other: no progress bar, and a "
                    "ProgressBar among the callbacks");
  options.enable_progress_bar = {};
  CHECK_NOTHROW(levin::check_options(options));
  options.barebones = true;
  CHECK(levin::contradictions(options).at(0).one == "barebones");
}

TEST_CASE("all contradictions are found, not only the first") {
  const TrainerOptions options{
      .devices = 1, .logger = true, .max_epochs = 1, .min_epochs = 2, .barebones = true, .gpus = 1};
  const std::vector<levin::Contradiction> found = levin::contradictions(options);
  REQUIRE(found.size() == 3);
  CHECK(found[0].one == "min_epochs");
  CHECK(found[1].other == "devices");
  CHECK(found[2].other == "logger");
}

TEST_CASE("limits hold for options set in C++") {
  CHECK_THROWS_WITH(levin::check_options({.max_epochs = -3}), "trainer.max_epochs: expected at least -1, got -3");
  CHECK_THROWS_WITH(levin::check_options({.accumulate_grad_batches = 0}),
                    "trainer.accumulate_grad_batches: expected at least 1, got 0");
  CHECK_THROWS_WITH(levin::check_options({.strategy = "dpp"}),
                    "trainer.strategy: expected one of auto, single_device, dp, ddp, got \"dpp\" (did you mean dp?)");
  CHECK_THROWS_WITH(levin::check_options({.name = ""}), "trainer.name: expected a name, got \"\"");
}

TEST_CASE("amp_level without use_amp warns once") {
  std::vector<std::string> warnings;
  const TrainerOptions options = levin::resolve({.use_amp = false, .amp_level = "O2"}, &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("precision=16") != std::string::npos);
  CHECK_FALSE(options.amp_level.has_value());
}
