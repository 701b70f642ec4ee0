#include <levin/callbacks/ema_weight_averaging.h>
#include <levin/callbacks/progress_bar.h>
#include <levin/core/system/error.h>
#include <levin/trainer/launch.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/trainer.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"

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

TEST_CASE("a precision is read in PyTorch Lightning's spellings") {
  const auto precision = [](const std::string& json) {
    const TrainerOptions options = from_json((R"({"precision": )" + json + "}").c_str());
    return levin::schema_of<TrainerOptions>().get(&options)["precision"].dump();
  };
  for (const auto& [given, full] : {std::pair<const char*, const char*>{"16", "16-mixed"},
                                    {"32", "32-true"},
                                    {"\"64\"", "64-true"},
                                    {"\"bf16\"", "bf16-mixed"},
                                    {"\"16-true\"", "16-true"},
                                    {R"({"class": "bf16-true"})", "bf16-true"},
                                    {"null", "32-true"}})
    CHECK(precision(given) == Json(full).dump());
  CHECK(levin::Precision() == levin::Precision(32));
  CHECK(levin::Precision("bf16") == levin::Precision("bf16-mixed"));
  CHECK_FALSE(levin::Precision(16) == levin::Precision(64));
  CHECK_THROWS_AS(levin::Precision(8), levin::UsageError);
  CHECK(contains(error_text<levin::UsageError>([] { levin::check_options({.precision = "fp8"}); }),
                 "no precision 'fp8'"));
}

TEST_CASE("defaults mean what PyTorch Lightning's mean") {
  const TrainerOptions options = *levin::resolve({});
  CHECK(options.max_epochs == 1000);
  CHECK(options.max_steps == -1);
  CHECK(options.num_sanity_val_steps == 2);
  CHECK(options.log_every_n_steps == 50);
  CHECK(options.accelerator == levin::Accelerator::Cpu);
  CHECK(options.strategy.class_name() == "single_device");
  CHECK(options.logger.is_on());
  CHECK(levin::resolve({.max_steps = 5})->max_epochs == -1);
  CHECK(levin::resolve({.max_time = "00:00:01:00"})->max_epochs == -1);
}

TEST_CASE("resolved options can be resolved again, also by way of JSON") {
  const levin::Schema& schema = levin::schema_of<TrainerOptions>();
  for (const char* text : {"{}", R"({"fast_dev_run": 3, "accumulate_grad_batches": 2})", R"({"barebones": true})",
                           R"({"gpus": 0, "nb_gpu_nodes": 1, "use_amp": false, "precision": 32})",
                           R"({"max_time": {"hours": 1}, "limit_train_batches": 5, "val_check_interval": 0.5})"}) {
    const TrainerOptions once = *levin::resolve(from_json(text));
    TrainerOptions again;
    schema.set(&again, "trainer", schema.get(&once));
    again = *levin::resolve(again);
    CHECK(schema.get(&again).dump() == schema.get(&once).dump());
  }
}

TEST_CASE("resolved options do not contradict quiet and barebones, which may be asked of a run's config later") {
  for (const auto& later : {&TrainerOptions::quiet, &TrainerOptions::barebones}) {
    TrainerOptions options = *levin::resolve({});
    options.logger = {};
    options.enable_checkpointing = {};
    options.*later = true;
    CHECK_FALSE(levin::resolve(options).shows_progress_bar());
    CHECK_FALSE(levin::resolve(options).prints_model_summary());
  }
  CHECK(levin::resolve({}).shows_progress_bar());
  CHECK(levin::resolve({}).prints_model_summary());
}

TEST_CASE("fast_dev_run and barebones set the other options") {
  const TrainerOptions quick = *levin::resolve({.fast_dev_run = true, .max_epochs = 9});
  CHECK(quick.max_epochs == 1);
  CHECK(quick.max_steps == 1);
  CHECK(quick.limit_val_batches == levin::BatchLimit(1));
  CHECK_FALSE(quick.logger.is_on());
  const TrainerOptions bare = *levin::resolve({.barebones = true});
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

TEST_CASE("options that cannot run yet are refused by name") {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {R"({"devices": 0})", "trainer.devices: expected at least one device, got 0"},
      {R"({"accelerator": "mps"})", "trainer.accelerator: mps is not supported; use auto, cpu or gpu"},
      {R"({"accelerator": "cpu", "strategy": {"class": "dp", "output_device": 1}})",
       "trainer.strategy.output_device: 1 is the number of a GPU, and the run is on cpu; leave it unset"},
  };
  for (const auto& [text, message] : cases) CHECK(error_of(text) == message);
}

TEST_CASE("the strategy follows from the options, and says why") {
  const auto choice = [](const char* text) {
    const levin::StrategyChoice chosen = levin::resolve(from_json(text)).strategy();
    return chosen.name + ": " + chosen.why;
  };
  CHECK(choice("{}") == "single_device: one device");
  CHECK(choice(R"({"gpus": 1})") == "single_device: one device");
  CHECK(choice(R"({"gpus": "0,1"})") == "dp: 2 gpus on one machine");
  CHECK(choice(R"({"gpus": 2, "nb_gpu_nodes": 3})") == "ddp: 3 machines");
  CHECK(choice(R"({"devices": 4})") == "ddp: 4 devices");
  CHECK(choice(R"({"devices": 4, "strategy": "ddp_spawn"})") == "ddp: as asked for");
  CHECK(choice(R"({"devices": 4, "strategy": "dp"})") == "dp: as asked for");
  CHECK(choice(R"({"gpus": "0,1", "distributed_backend": "ddp"})") == "ddp: as distributed_backend says");
  const TrainerOptions early = *levin::resolve(from_json(R"({"gpus": "1,3"})"));
  CHECK(early.strategy.class_name() == "dp");
  CHECK(early.accelerator == levin::Accelerator::Gpu);
  CHECK(early.devices == levin::Devices{1, 3});
}

TEST_CASE("the devices of a run follow from accelerator, gpus and devices") {
  const levin::VisibleGpus none, four{.count = 4, .built_with_cuda = true};
  const auto place = [](const char* text, const levin::VisibleGpus& gpus) {
    return levin::choose_placement(levin::resolve(from_json(text), {.gpus = &gpus}), gpus);
  };
  CHECK(levin::to_text(place("{}", none).devices) == "cpu");
  CHECK_FALSE(place("{}", none).asked_for);
  CHECK(levin::to_text(place("{}", four).devices) == "cuda:0");
  CHECK(place(R"({"accelerator": "cpu"})", four).asked_for);
  CHECK(levin::to_text(place(R"({"gpus": 0})", four).devices) == "cpu");
  CHECK(levin::to_text(place(R"({"gpus": "1,3"})", four).devices) == "cuda:1, cuda:3");
  CHECK(levin::to_text(place(R"({"accelerator": "cpu", "devices": 3, "strategy": "dp"})", four).devices) == "3 x cpu");
  const auto error_of_place = [&](const char* text, const levin::VisibleGpus& gpus) -> std::string {
    try {
      place(text, gpus);
    } catch (const levin::UsageError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of_place(R"({"gpus": 1})", none).find("trainer.gpus: a GPU was asked for") == 0);
  CHECK(error_of_place(R"({"accelerator": "gpu"})", none).find("trainer.accelerator: a GPU was asked for") == 0);
  CHECK(error_of_place(R"({"gpus": "0,4"})", four).find("trainer.gpus: there is no GPU 4") == 0);
  CHECK(error_of_place(R"({"gpus": "0,1", "strategy": {"class": "dp", "output_device": 2}})", four) ==
        "trainer.strategy.output_device: cuda:2 is none of the run's devices, which are cuda:0, cuda:1");
  CHECK(error_of_place(R"({"strategy": {"class": "dp", "output_device": 1}})", none) ==
        "trainer.strategy.output_device: 1 is the number of a GPU, and the run is on cpu; leave it unset");
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
      {R"({"amp_level": "O0", "precision": 16})",
       "trainer.amp_level and trainer.precision contradict each other: O0 is 32 bit, not 16-mixed"},
      {R"({"amp_level": "O3", "precision": "bf16-true"})",
       "trainer.amp_level and trainer.precision contradict each other: O3 is a way to run 16-mixed, not bf16-true"},
      {R"({"cuda_graphs": true, "accumulate_grad_batches": 2})",
       "trainer.cuda_graphs and trainer.accumulate_grad_batches contradict each other: a graph is a step of one batch"},
      {R"({"cuda_graphs": true, "accelerator": "cpu"})",
       "trainer.cuda_graphs and trainer.accelerator contradict each other: steps are captured on a GPU"},
      {R"({"cuda_graphs": true, "distributed_backend": "ddp"})",
       "trainer.cuda_graphs and trainer.distributed_backend contradict each other: a graph is of one device"},
      {R"({"amp_level": "O2", "strategy": "zero1"})",
       "trainer.strategy and trainer.amp_level contradict each other: zero1 divides the optimizer's state, and O2 "
       "keeps whole float32 copies of the weights"},
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
      {R"({"devices": 2, "auto_lr_find": true})",
       "trainer.devices and trainer.auto_lr_find contradict each other: ddp trains on several ranks: look for the rate "
       "on one device"},
      {R"({"distributed_backend": "ddp", "auto_scale_batch_size": "power"})",
       "trainer.distributed_backend and trainer.auto_scale_batch_size contradict each other: ddp trains on several "
       "ranks: look for the size on one device"},
      {R"({"strategy": "zero1", "auto_microbatch": true})",
       "trainer.strategy and trainer.auto_microbatch contradict each other: zero1 trains on several ranks: they would "
       "split their batches differently"},
      {R"({"num_nodes": 2, "cuda_graphs": true})",
       "trainer.cuda_graphs and trainer.num_nodes contradict each other: a graph is of one device"},
      {R"({"scale_lr": "sqrt"})",
       "trainer.scale_lr and trainer.auto_scale_batch_size contradict each other: the rate follows the batch size, and "
       "none is looked for"},
      {R"({"scale_lr": "sqrt", "auto_scale_batch_size": "power", "auto_lr_find": true})",
       "trainer.scale_lr and trainer.auto_lr_find contradict each other: both say which learning rate belongs to the "
       "batch size that is found"},
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
  CHECK(levin::contradictions(options, {}).at(0).one == "barebones");
}

TEST_CASE("a run has one EMAWeightAveraging") {
  TrainerOptions options{.callbacks = {levin::EMAWeightAveraging()}};
  CHECK(levin::unsupported_values(options).empty());
  options.callbacks.emplace_back(levin::EMAWeightAveraging());
  CHECK(contains(levin::unsupported_values(options).at(0), "trainer.callbacks: two EMAWeightAveraging would each put"));
}

TEST_CASE("all contradictions are found, not only the first") {
  const TrainerOptions options{
      .devices = 1, .logger = true, .max_epochs = 1, .min_epochs = 2, .barebones = true, .gpus = 1};
  const std::vector<levin::Contradiction> found = levin::contradictions(options, {});
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
                    "trainer.strategy.class: no strategy 'dpp' (did you mean dp?); `levin list strategies` shows them");
  CHECK_THROWS_WITH(levin::check_options({.name = ""}), "trainer.name: expected a name, got \"\"");
}

TEST_CASE("amp_level without use_amp warns once") {
  const levin::ResolvedOptions options = levin::resolve({.use_amp = false, .amp_level = "O2"});
  REQUIRE(options.warnings().size() == 1);
  CHECK(options.warnings()[0].find("precision=16") != std::string::npos);
  CHECK_FALSE(options->amp_level.has_value());
}

TEST_CASE("use_amp and amp_level become a precision; O2 stays beside 16-mixed, and resolves to itself") {
  const std::vector<std::tuple<levin::Precision, std::optional<bool>, const char*, const char*>> cases = {
      {32, true, nullptr, "16-mixed"},    {32, true, "O0", "32-true"}, {32, true, "O1", "16-mixed"},
      {32, true, "O2", "16-mixed"},       {32, true, "O3", "16-true"}, {16, {}, "O1", "16-mixed"},
      {16, {}, "O2", "16-mixed"},         {16, true, "O3", "16-true"}, {"16-true", {}, "O3", "16-true"},
      {"bf16", {}, nullptr, "bf16-mixed"}};
  for (const auto& [precision, use_amp, level, expected] : cases) {
    TrainerOptions options{.precision = precision, .use_amp = use_amp};
    if (level) options.amp_level = level;
    const TrainerOptions resolved = *levin::resolve(options);
    CHECK(resolved.precision.name() == expected);
    CHECK_FALSE(resolved.use_amp.has_value());
    CHECK((resolved.amp_level ? resolved.amp_level->word() : "") == (level && std::string(level) == "O2" ? "O2" : ""));
    const TrainerOptions again = *levin::resolve(resolved);
    CHECK(again.precision == resolved.precision);
    CHECK(again.amp_level == resolved.amp_level);
  }
}

namespace {

levin::LaunchEnvironment launched(int64_t rank, int64_t world_size, int64_t local_world_size) {
  levin::LaunchEnvironment environment;
  environment.launcher = "torchrun";
  environment.rank = rank;
  environment.world_size = world_size;
  environment.local_rank = rank % local_world_size;
  environment.local_world_size = local_world_size;
  return environment;
}

}  // namespace

TEST_CASE("ranks that a launcher has started take their place") {
  const levin::VisibleGpus none;
  const auto placed = [&](const char* text, const std::optional<levin::LaunchEnvironment>& environment) {
    const levin::ResolvedOptions options =
        levin::resolve(from_json(text), {.gpus = &none, .environment = environment ? &*environment : nullptr});
    return levin::choose_placement(options, none, environment);
  };
  const levin::Placement unasked = placed("{}", launched(1, 4, 2));
  CHECK(unasked.strategy.name + ": " + unasked.strategy.why == "ddp: 4 ranks of torchrun");
  CHECK(unasked.devices == std::vector<c10::Device>{c10::kCPU});
  CHECK(unasked.num_nodes == 2);
  CHECK_FALSE(unasked.needs_supervisor());
  CHECK(placed(R"({"devices": 2, "num_nodes": 2})", launched(3, 4, 2)).environment->rank == 3);
  CHECK(placed(R"({"devices": 2, "accelerator": "cpu"})", {}).needs_supervisor());
  CHECK(placed(R"({"strategy": "ddp"})", {}).needs_supervisor() == false);
  CHECK(placed("{}", launched(0, 1, 1)).strategy.name == "single_device");
  const auto error_in = [&](const char* text) {
    return error_text<levin::UsageError>([&] { placed(text, launched(1, 4, 2)); });
  };
  CHECK(
      error_in(R"({"devices": 3, "accelerator": "cpu"})") ==
      "trainer.devices asks for 3 on each machine, and torchrun has started 2 ranks on this one; let it start as many, "
      "or leave trainer.devices unset");
  CHECK(error_in(R"({"num_nodes": 3})") ==
        "trainer.num_nodes: 3 machines, and torchrun has started ranks on 2; leave num_nodes unset");
  CHECK(contains(error_in(R"({"strategy": "dp"})"), "dp runs in one process, and torchrun has started 4"));
}

TEST_CASE("ranks are not started if that is not wanted or the machine's number is not set") {
  levin::TrainerOptions options;
  options.accelerator = "cpu";
  options.devices = 2;
  options.launcher = "none";
  CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer trainer(options); }),
                 "trainer.launcher: none, and ddp (2 devices) needs 2 ranks"));
  options.launcher = "auto";
  CHECK(contains(
      error_text<levin::UsageError>([&] { levin::Trainer trainer(options); }),
      "trainer.strategy: ddp (2 devices) needs 2 ranks; call levin::launch(options) at the beginning of main"));
  options.num_nodes = 2;
  CHECK(
      contains(error_text<levin::UsageError>([&] { levin::launch(options); }), "no launcher has started this process"));
}

TEST_CASE("each strategy is found by its name, and has its traits") {
  for (const std::string name : {"single_device", "dp", "ddp", "zero1", "fsdp"}) {
    const levin::StrategyChoice choice = levin::strategy_named(name, "");
    CHECK(choice.name == name);
    CHECK(choice.has_ranks() == (name != "single_device" && name != "dp"));
    CHECK(choice.traits.has_replicas == (name == "dp"));
    CHECK(choice.traits.shards_optimizer == (name == "zero1" || name == "fsdp"));
    CHECK(choice.traits.shards_parameters == (name == "fsdp"));
  }
  CHECK(levin::strategy_named("ddp_spawn", "").name == "ddp");
  CHECK_THROWS_AS(levin::strategy_named("dpp", ""), levin::UsageError);
}

TEST_CASE("a strategy's options go with it to its present name") {
  const levin::ResolvedOptions spawned =
      levin::resolve(from_json(R"({"devices": 2, "strategy": {"class": "ddp_spawn", "bucket_cap_mb": 3}})"));
  CHECK(spawned->strategy.class_name() == "ddp");
  CHECK(levin::strategy_options<levin::DDPOptions>(spawned->strategy)->bucket_cap_mb == 3);
  const levin::ResolvedOptions chosen = levin::resolve(from_json(R"({"devices": 2})"));
  CHECK(levin::strategy_options<levin::DDPOptions>(chosen->strategy)->bucket_cap_mb == 25);
  CHECK_FALSE(levin::strategy_options<levin::FSDPOptions>(chosen->strategy));
  const levin::TrainerOptions in_cpp = {.strategy = {"fsdp", levin::FSDPOptions{.shard = "gradients"}}, .devices = 2};
  CHECK(levin::strategy_options<levin::FSDPOptions>(in_cpp.strategy)->shard == levin::ShardedState::Gradients);
  CHECK(contains(error_text<levin::UsageError>(
                     [] { levin::check_options({.strategy = {"fsdp", levin::FSDPOptions{.shard = "none"}}}); }),
                 "trainer.strategy.shard: expected one of all, gradients, got \"none\""));
}

TEST_CASE("of a contradiction and values that cannot run the first is thrown") {
  const TrainerOptions options = from_json(R"({"accelerator": "mps", "devices": 0, "deterministic": true,)"
                                           R"( "benchmark": true})");
  const std::vector<std::string> found = levin::unsupported_values(options);
  REQUIRE(found.size() == 2);
  CHECK(contains(found[0], "trainer.accelerator: mps"));
  CHECK(contains(found[1], "trainer.devices: expected at least one device"));
  CHECK(contains(error_text<levin::UsageError>([&] { levin::check_options(options); }),
                 "trainer.deterministic and trainer.benchmark contradict each other"));
}
