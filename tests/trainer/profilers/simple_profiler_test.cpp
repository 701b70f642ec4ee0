#include <levin/core/run/profiler.h>
#include <levin/levin.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

namespace {

struct ProfiledModule : ToyModule {
  using ToyModule::ToyModule;
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const auto span = run().profile("my part");
    const auto inner = run().profile("inner");
    return ToyModule::training_step(batch, batch_idx);
  }
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  void test_step(const levin::Batch& batch, int64_t) override { log("test_loss", loss_of(batch)); }
  levin::Batch predict_step(const levin::Batch& batch, int64_t) override { return net->forward(batch.input()); }
  void on_train_start(levin::Run&) override {}
};

std::map<std::string, int64_t> calls_of(const levin::ProfileTotals& totals) {
  std::map<std::string, int64_t> calls;
  for (const levin::ProfiledAction& one : totals.actions) calls[one.action] = one.calls;
  return calls;
}

levin::TrainerOptions profiled(const TemporaryFolder& folder, const char* profiler = "simple") {
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.profiler = profiler;
  return options;
}

}  // namespace

TEST_CASE("the simple profiler counts the calls of each phase and hook of a fit") {
  const TemporaryFolder folder;
  const ToyData data(20);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 3;
  options.accumulate_grad_batches = 2;
  options.limit_val_batches = 2;
  options.log_every_n_steps = 2;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(module, data.loader(4), data.loader(4));  // 5 batches, 3 steps an epoch
  auto calls = calls_of(result.profile);
  const std::string of_module = "[LightningModule]ProfiledModule.", of_strategy = "[Strategy]SingleDeviceStrategy.";
  const std::map<std::string, int64_t> expected = {{"run_training_epoch", 3},
                                                   {"run_training_batch", 15},
                                                   {"[_TrainingEpochLoop].train_dataloader_next", 15},
                                                   {"run_validation", 3},
                                                   {"[_EvaluationLoop].val_next", 6},
                                                   {"save_checkpoint", 3},
                                                   {"my part", 15},
                                                   {"inner", 15},
                                                   {"read_metrics", 4 + 3 + 3},
                                                   {of_module + "configure_callbacks", 1},
                                                   {of_module + "configure_optimizers", 1},
                                                   {of_module + "on_train_start", 1},
                                                   {of_module + "optimizer_step", 9},
                                                   {of_module + "optimizer_zero_grad", 9},
                                                   {of_module + "configure_gradient_clipping", 9},
                                                   {of_module + "on_validation_model_eval", 3},
                                                   {of_module + "on_validation_model_zero_grad", 3},
                                                   {of_strategy + "training_step", 15},
                                                   {of_strategy + "backward", 15},
                                                   {of_strategy + "batch_to_device", 21},
                                                   {of_strategy + "validation_step", 6},
                                                   {of_strategy + "optimizer_step", 9}};
  for (const auto& [action, number] : expected) {
    INFO(action);
    CHECK(calls[action] == number);
  }
  CHECK(calls.count("run_sanity_check") == 0);
  CHECK(calls_of(trainer.profile()) == calls_of(result.profile));
}

TEST_CASE("an action's time holds those of the actions inside it") {
  const TemporaryFolder folder;
  const ToyData data(20);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 2;
  const levin::ProfileTotals totals = levin::Trainer(options).fit(module, data.loader(4)).profile;
  const auto seconds = [&](const char* action) { return totals.find(action)->seconds; };
  CHECK(totals.find("no such action") == nullptr);
  CHECK(totals.seconds >= seconds("run_training_epoch"));
  CHECK(seconds("run_training_epoch") >=
        seconds("run_training_batch") + seconds("[_TrainingEpochLoop].train_dataloader_next"));
  CHECK(seconds("[Strategy]SingleDeviceStrategy.training_step") >= seconds("my part"));
  CHECK(seconds("my part") >= seconds("inner"));
  CHECK(totals.find("my part")->self_seconds == Approx(seconds("my part") - seconds("inner")));
  double outside = 0;
  for (const levin::ProfiledAction& one : totals.actions) {
    CHECK(one.self_seconds >= 0);
    CHECK(one.self_seconds <= one.seconds);
    outside += one.self_seconds;
  }
  CHECK(outside <= totals.seconds);  // no time is counted twice
}

TEST_CASE("without a profiler nothing is measured, and a span does nothing") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ProfiledModule module;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  levin::Trainer trainer(options);
  const levin::RunResult result = trainer.fit(module, data.loader(4));
  CHECK(result.profile.empty());
  CHECK(trainer.profile().empty());
  CHECK_FALSE(std::filesystem::exists(result.folder / "fit-simple.txt"));
}

TEST_CASE("validate, test, predict and a session are profiled too") {
  const TemporaryFolder folder;
  const ToyData data(20);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 2;
  levin::Trainer trainer(options);
  trainer.validate(module, data.loader(4));
  auto calls = calls_of(trainer.profile());
  CHECK(calls["run_validation"] == 1);
  CHECK(calls["[_EvaluationLoop].val_next"] == 5);
  CHECK(calls["[Strategy]SingleDeviceStrategy.validation_step"] == 5);
  trainer.test(module, data.loader(5));
  calls = calls_of(trainer.profile());
  CHECK(calls.count("run_validation") == 0);  // of this call alone
  CHECK(calls["run_test"] == 1);
  CHECK(calls["[Strategy]SingleDeviceStrategy.test_step"] == 4);
  CHECK(calls["[LightningModule]ProfiledModule.on_test_model_eval"] == 1);
  trainer.predict(module, data.loader(5));
  calls = calls_of(trainer.profile());
  CHECK(calls["[Strategy]SingleDeviceStrategy.predict_step"] == 4);
  CHECK(calls["[LightningModule]ProfiledModule.on_predict_model_eval"] == 1);

  levin::Session session = trainer.start(module);
  for (int i = 0; i < 6; ++i) session.step({data.input, data.target});
  calls = calls_of(session.finish().profile);
  CHECK(calls["run_training_batch"] == 6);
  CHECK(calls["my part"] == 6);
}

TEST_CASE("the table and the JSON are in the run's folder, and a resumed session adds its own") {
  const TemporaryFolder folder;
  const ToyData data(20);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 1;
  const levin::RunResult first = levin::Trainer(options).fit(module, data.loader(4));
  options.max_epochs = 3;
  const levin::RunResult second = levin::Trainer(options).fit(module, data.loader(4), {}, first.folder.string());
  REQUIRE(second.folder == first.folder);
  for (const auto& [name, batches] : {std::pair("fit-simple", 5), std::pair("fit-simple-2", 10)}) {
    const std::string text = read_bytes(first.folder / (std::string(name) + ".txt"));
    CHECK(text.find("FIT Profiler Report\n") == 0);
    CHECK(text.find("| [Strategy]SingleDeviceStrategy.training_step") != std::string::npos);
    CHECK(text.find("Num calls") != std::string::npos);
    const auto json = nlohmann::json::parse(read_bytes(first.folder / (std::string(name) + ".json")));
    CHECK(json["stage"] == "fit");
    CHECK(json["rank"] == 0);
    const auto found =
        std::ranges::find_if(json["actions"], [](const auto& one) { return one["action"] == "run_training_batch"; });
    REQUIRE(found != json["actions"].end());
    CHECK((*found)["calls"] == batches);
    CHECK((*found)["seconds"].template get<double>() > 0);
  }
}

TEST_CASE("the profile goes to dirpath, and a folder that cannot be made is a warning") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 1;
  options.profiler = {"simple", levin::SimpleProfilerOptions{
                                    .files = {.dirpath = folder / "profiles", .filename = "mine"}, .extended = false}};
  levin::Trainer(options).validate(module, data.loader(4));
  const std::string text = read_bytes(folder.path() / "profiles" / "mine.txt");
  CHECK(text.find("VALIDATE Profiler Report\n") == 0);
  CHECK(text.find("Num calls") == std::string::npos);
  std::ofstream(folder.path() / "file") << "in the way";
  options.profiler = {"simple", levin::SimpleProfilerOptions{.files = {.dirpath = folder / "file"}}};
  const levin::RunResult result = levin::Trainer(options).fit(module, data.loader(4));
  CHECK(result.status == "completed");
  REQUIRE(result.warnings.size() == 1);
  CHECK(result.warnings[0].find("fit-simple.txt was not written") != std::string::npos);
}

TEST_CASE("a run that fails leaves its profile") {
  const TemporaryFolder folder;
  const ToyData data(20);
  struct Failing : ProfiledModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (batch_idx == 3) throw std::runtime_error("in step 3");
      return ProfiledModule::training_step(batch, batch_idx);
    }
  } module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 1;
  levin::Trainer trainer(options);
  CHECK(error_text<std::runtime_error>([&] { trainer.fit(module, data.loader(4)); }) == "in step 3");
  const auto json = nlohmann::json::parse(read_bytes(folder.path() / "levin_logs" / "version_0" / "fit-simple.json"));
  const auto found =
      std::ranges::find_if(json["actions"], [](const auto& one) { return one["action"] == "run_training_batch"; });
  CHECK((*found)["calls"] == 4);
}

TEST_CASE("the table is printed unless the run is quiet") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ProfiledModule module;
  levin::TrainerOptions options = profiled(folder);
  options.max_epochs = 1;
  for (const bool is_quiet : {false, true}) {
    options.quiet = is_quiet;
    CapturedStderr captured;
    levin::Trainer(options).fit(module, data.loader(4));
    CHECK((captured.text().find("FIT Profiler Report") != std::string::npos) == !is_quiet);
  }
}

TEST_CASE("threads measure their own actions, and actions of another profiler do not count inside") {
  levin::Profiler one({.module = "A"}), other({.module = "B"});
  {
    const levin::ProfileSpan outer(&one, "outer");
    const levin::ProfileSpan foreign(&other, "foreign");
    const levin::ProfileSpan inner(&one, "inner");
    CHECK(levin::ProfileSpan::innermost(one) == &inner);
    CHECK(inner.outer() == &outer);
    CHECK(foreign.outer() == nullptr);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        CHECK(levin::ProfileSpan::innermost(one) == nullptr);
        for (int i = 0; i < 1000; ++i) const levin::ProfileSpan span(&one, "in threads");
      });
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(levin::ProfileSpan::innermost(one) == nullptr);
  CHECK(one.totals().find("in threads")->calls == 4000);
  CHECK(one.totals().find("foreign") == nullptr);
  CHECK(other.totals().find("foreign")->self_seconds == other.totals().find("foreign")->seconds);
  CHECK(one.totals().actions[0].action == "outer");
}

TEST_CASE("profilers are chosen by name") {
  const auto error_of = [](const char* json) {
    return error_text<levin::UsageError>([&] {
      levin::TrainerOptions options;
      levin::schema_of<levin::TrainerOptions>().set(&options, "trainer", levin::Json::parse(json));
      levin::check_options(options);
    });
  };
  CHECK(error_of(R"({"profiler": "simple"})") == "no error");
  CHECK(error_of(R"({"profiler": {"class": "simple", "extended": false}})") == "no error");
  CHECK(error_of(R"({"profiler": "simpel"})") ==
        "trainer.profiler.class: no profiler 'simpel' (did you mean simple?); `levin list profilers` shows them");
  CHECK(error_of(R"({"profiler": {"class": "simple", "active": 3}})").find("trainer.profiler.active") == 0);
  CHECK(error_of(R"({"profiler": 3})").find("trainer.profiler: expected the name of a profiler") == 0);
  CHECK(error_of(R"({"profiler": "simple", "barebones": true})").find("barebones") != std::string::npos);
}
