#include <levin/levin.h>
#include <levin/trainer/profilers/advanced_profiler_options.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

using levin::Json;

TEST_CASE("the advanced profiler counts the operators of each action") {
  const TemporaryFolder folder;
  const ToyData data(20);
  ToyModule module;
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 2;
  options.profiler = {"advanced", levin::AdvancedProfilerOptions{.operators = 2}};
  const levin::RunResult result = levin::Trainer(options).fit(module, data.loader(4));
  const Json profile = Json::parse(read_bytes(result.folder / "fit-advanced.json"));
  const auto operator_of = [&](const std::string& action, const std::string& name) -> Json {
    for (const Json& one : profile["actions"])
      if (one["action"] == action)
        for (const Json& found : one["operators"])
          if (found["operator"] == name) return found;
    return {{"calls", 0}};
  };
  const std::string forward = "[Strategy]SingleDeviceStrategy.training_step";
  CHECK(operator_of(forward, "aten::addmm")["calls"] == 20);
  CHECK(operator_of(forward, "aten::mse_loss")["calls"] == 10);
  CHECK(operator_of("[Strategy]SingleDeviceStrategy.backward",
                    "autograd::engine::evaluate_function: MseLossBackward0")["calls"] == 10);
  CHECK(operator_of("[Strategy]SingleDeviceStrategy.backward", "aten::mse_loss")["calls"] == 0);
  const Json t = operator_of(forward, "aten::t"), transpose = operator_of(forward, "aten::transpose");
  REQUIRE(t["calls"] == 20);
  CHECK(t["seconds"].get<double>() >= transpose["seconds"].get<double>());  // which it calls
  for (const Json& action : profile["actions"])
    for (const Json& one : action["operators"]) {
      CHECK(one["self_seconds"].get<double>() >= 0);
      CHECK(one["self_seconds"].get<double>() <= one["seconds"].get<double>() + 1e-9);
    }
  const std::string text = read_bytes(result.folder / "fit-advanced.txt");
  CHECK(contains(text, "FIT Profiler Report\nProfile stats for: "));
  CHECK(contains(text, " more\n"));
  CHECK(result.profile.find("run_training_batch")->calls == 10);
}

TEST_CASE("a second advanced profiler of a process says that it has no operators, and the next one has them again") {
  const TemporaryFolder folder;
  const ToyData data(8);
  ToyModule module, other;
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 1;
  options.profiler = "advanced";
  levin::Trainer trainer(options), second(options);
  levin::Session session = trainer.start(module);
  const levin::RunResult beside = second.fit(other, data.loader(4));
  REQUIRE(beside.warnings.size() == 1);
  CHECK(contains(beside.warnings[0], "advanced profiles another run"));
  CHECK(Json::parse(read_bytes(beside.folder / "fit-advanced.json"))["actions"].empty());
  session.step({data.input, data.target});
  CHECK_FALSE(Json::parse(read_bytes(session.finish().folder / "fit-advanced.json"))["actions"].empty());
  const levin::RunResult after = second.fit(other, data.loader(4));
  CHECK(after.warnings.empty());
  CHECK_FALSE(Json::parse(read_bytes(after.folder / "fit-advanced.json"))["actions"].empty());
}
