#include <levin/levin.h>
#include <levin/trainer/profilers/trace_profiler_options.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

namespace {

using levin::Json;

struct TracedModule : ToyModule {
  using ToyModule::ToyModule;
  void validation_step(const levin::Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  void on_train_batch_end(levin::Run& run) override { const auto span = run.profile("my part"); }
};

levin::TrainerOptions traced(const TemporaryFolder& folder, levin::TraceProfilerOptions trace = {}) {
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 2;
  options.profiler = {"trace", trace};
  return options;
}

/// Returns the spans of a trace, in the order of the file.
std::vector<Json> spans_of(const Json& trace) {
  std::vector<Json> spans;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X") spans.push_back(event);
  return spans;
}

std::vector<std::string> names_in(const Json& trace, const std::string& category) {
  std::vector<std::string> names;
  for (const Json& span : spans_of(trace))
    if (span["cat"] == category) names.push_back(span["name"]);
  return names;
}

std::map<int, std::string> threads_of(const Json& trace) {
  std::map<int, std::string> names;
  for (const Json& event : trace["traceEvents"])
    if (event["name"] == "thread_name") names[event["tid"]] = event["args"]["name"];
  return names;
}

/// Returns the first two spans of a thread of which neither holds the other and which overlap; empty if there are none.
std::string badly_nested(const Json& trace) {
  std::map<int, std::vector<Json>> open;
  // Times have three digits: what ends and begins at one time may differ by a rounding.
  constexpr double kRounding = 0.0015;
  for (const Json& span : spans_of(trace)) {
    std::vector<Json>& stack = open[span["tid"]];
    const auto end = [](const Json& one) { return one["ts"].get<double>() + one["dur"].get<double>(); };
    while (!stack.empty() && end(stack.back()) <= span["ts"].get<double>() + kRounding) stack.pop_back();
    if (!stack.empty() && end(span) > end(stack.back()) + kRounding) return stack.back().dump() + " and " + span.dump();
    stack.push_back(span);
  }
  return "";
}

}  // namespace

TEST_CASE("a trace has the phases of its steps in order, and LibTorch's operators inside them") {
  const TemporaryFolder folder;
  const ToyData data(20);
  TracedModule module;
  levin::TrainerOptions options = traced(folder, {.wait = 1, .warmup = 1, .active = 2});
  options.num_sanity_val_steps = 2;
  const levin::RunResult result = levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
  const Json trace = Json::parse(read_bytes(result.folder / "fit-trace-cycle1.json"));
  CHECK_FALSE(std::filesystem::exists(result.folder / "fit-trace-cycle2.json"));
  CHECK(badly_nested(trace) == "");

  CHECK(names_in(trace, "step") == std::vector<std::string>{"ProfilerStep#2", "ProfilerStep#3"});
  const std::set<std::string> wanted = {"[_TrainingEpochLoop].train_dataloader_next", "run_training_batch",
                                        "[LightningModule]TracedModule.on_train_batch_end", "my part"};
  std::vector<std::string> found;
  for (const std::string& name : names_in(trace, "levin"))
    if (wanted.count(name)) found.push_back(name);
  const std::vector<std::string> one_step = {"[_TrainingEpochLoop].train_dataloader_next", "run_training_batch",
                                             "[LightningModule]TracedModule.on_train_batch_end", "my part"};
  std::vector<std::string> two_steps = one_step;
  two_steps.insert(two_steps.end(), one_step.begin(), one_step.end());
  CHECK(found == two_steps);
  const std::vector<std::string> phases = names_in(trace, "levin"), operators = names_in(trace, "cpu_op");
  CHECK(std::ranges::count(phases, "run_training_epoch") ==
        1);  // the epoch has not ended; the trace has the part so far
  CHECK(std::ranges::count(phases, "[_EvaluationLoop].val_next") == 0);
  CHECK(std::ranges::count(operators, "aten::mse_loss") == 2);
  CHECK(std::ranges::count(operators, "aten::addmm") == 4);
  CHECK(std::ranges::any_of(operators, [](const std::string& name) { return contains(name, "AddmmBackward"); }));

  const auto threads = threads_of(trace);
  CHECK(std::ranges::count(threads, "steps", [](const auto& one) { return one.second; }) == 1);
  CHECK(std::ranges::count(threads, "training loop", [](const auto& one) { return one.second; }) == 1);
  for (const Json& span : spans_of(trace)) CHECK(threads.count(span["tid"]) == 1);
}

TEST_CASE("each cycle of a trace is a file, and the last may be shorter") {
  const TemporaryFolder folder;
  const ToyData data(20);
  TracedModule module;
  SECTION("as many as asked for") {
    const auto result =
        levin::Trainer(traced(folder, {.wait = 0, .warmup = 0, .active = 3, .repeat = 2})).fit(module, data.loader(4));
    const auto steps = [&](const char* name) {
      return names_in(Json::parse(read_bytes(result.folder / name)), "step");
    };
    CHECK(steps("fit-trace-cycle1.json") ==
          std::vector<std::string>{"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"});
    CHECK(steps("fit-trace-cycle2.json") ==
          std::vector<std::string>{"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"});
    CHECK_FALSE(std::filesystem::exists(result.folder / "fit-trace-cycle3.json"));
  }
  SECTION("until the run ends") {
    const auto result =
        levin::Trainer(traced(folder, {.wait = 1, .warmup = 1, .active = 2, .repeat = 0})).fit(module, data.loader(4));
    const auto steps = [&](const char* name) {
      return names_in(Json::parse(read_bytes(result.folder / name)), "step");
    };
    CHECK(steps("fit-trace-cycle2.json") == std::vector<std::string>{"ProfilerStep#6", "ProfilerStep#7"});
    CHECK_FALSE(std::filesystem::exists(result.folder / "fit-trace-cycle3.json"));  // its active steps were not reached
  }
  SECTION("cut short by the end of the run") {
    levin::TrainerOptions options = traced(folder, {.wait = 8, .warmup = 0, .active = 100});
    const auto result = levin::Trainer(options).fit(module, data.loader(4));
    const Json trace = Json::parse(read_bytes(result.folder / "fit-trace-cycle1.json"));
    CHECK(names_in(trace, "step") == std::vector<std::string>{"ProfilerStep#8", "ProfilerStep#9"});
    CHECK(badly_nested(trace) == "");
  }
  SECTION("none at all is a warning") {
    const auto result = levin::Trainer(traced(folder, {.wait = 100})).fit(module, data.loader(4));
    REQUIRE(result.warnings.size() == 1);
    CHECK(contains(result.warnings[0], "the run was over after 10 steps"));
    CHECK_FALSE(std::filesystem::exists(result.folder / "fit-trace-cycle1.json"));
  }
}

TEST_CASE("a trace shows loaders' workers and the writer of checkpoints as threads of their own") {
  const TemporaryFolder folder;
  const ToyData data(40);
  TracedModule module;
  levin::TrainerOptions options = traced(folder, {.wait = 0, .warmup = 0, .active = 20});
  const levin::data::DataLoader loader(levin::data::TensorDataset(data.input, data.target),
                                       {.batch_size = 4, .num_workers = 1});
  const auto result = levin::Trainer(options).fit(module, loader);
  const Json trace = Json::parse(read_bytes(result.folder / "fit-trace-cycle1.json"));
  const auto threads = threads_of(trace);
  std::map<std::string, std::set<std::string>> done;
  for (const Json& span : spans_of(trace)) done[threads.at(span["tid"])].insert(span["name"].get<std::string>());
  CHECK(done["loader worker"].count("load_batch") == 1);
  CHECK(done["checkpoint writer"].count("write_checkpoint") == 1);
  CHECK(done["training loop"].count("save_checkpoint") == 1);
  CHECK(badly_nested(trace) == "");
}

TEST_CASE("evaluations and sessions are traced too") {
  const TemporaryFolder folder;
  const ToyData data(20);
  TracedModule module;
  levin::TrainerOptions options = traced(folder);
  CHECK(error_text<levin::UsageError>([&] { levin::Trainer(options).validate(module, data.loader(4)); }) ==
        "trainer.profiler: trace writes files, and this validate has no run's folder; set trainer.profiler.dirpath");
  options.profiler = {"trace", levin::TraceProfilerOptions{.files = {.dirpath = folder.path().string()}}};
  levin::Trainer(options).validate(module, data.loader(4));
  const Json trace = Json::parse(read_bytes(folder / "validate-trace-cycle1.json"));
  CHECK(std::ranges::count(names_in(trace, "levin"), "[Strategy]SingleDeviceStrategy.validation_step") == 3);
  CHECK(badly_nested(trace) == "");

  levin::Trainer trainer(options);
  levin::Session session = trainer.start(module);
  for (int i = 0; i < 6; ++i) session.step({data.input, data.target});
  session.finish();
  const Json of_session = Json::parse(read_bytes(folder / "fit-trace-cycle1.json"));
  CHECK(std::ranges::count(names_in(of_session, "levin"), "run_training_batch") == 3);
  CHECK(badly_nested(of_session) == "");
}

TEST_CASE("a run that fails leaves the trace of the steps before") {
  const TemporaryFolder folder;
  const ToyData data(20);
  struct Failing : TracedModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (batch_idx == 4) throw std::runtime_error("in step 4");
      return TracedModule::training_step(batch, batch_idx);
    }
  } module;
  CHECK_THROWS(levin::Trainer(traced(folder, {.wait = 0, .warmup = 1, .active = 100})).fit(module, data.loader(4)));
  const Json trace = Json::parse(read_bytes(folder.path() / "levin_logs" / "version_0" / "fit-trace-cycle1.json"));
  CHECK(names_in(trace, "step").size() == 4);
  CHECK(badly_nested(trace) == "");
}
