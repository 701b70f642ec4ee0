#include <levin/levin.h>
#include <levin/trainer/profilers/call_stack.h>
#include <levin/trainer/profilers/memory_profiler_options.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

namespace {

using levin::Json;

constexpr int64_t kMiB = 1024 * 1024;

/// Makes 8 MiB in training_step, of which 4 MiB live on until backward, and 16 MiB in validation_step.
struct BigModule : ToyModule {
  using ToyModule::ToyModule;
  torch::Tensor make_big(int64_t mebibytes) { return torch::ones({mebibytes * kMiB / 4}); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor dropped = make_big(4);
    const torch::Tensor kept = make_big(4) * net->parameters()[0].sum();
    return loss_of(batch) + kept.mean() * 0;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor big = make_big(16);
    log("val_loss", loss_of(batch) + big[0]);
  }
};

Json profile_of(const TemporaryFolder& folder, BigModule& module, const std::string& stage = "fit") {
  const ToyData data(20);
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 1;
  options.profiler = {"memory",
                      levin::MemoryProfilerOptions{.files = {.dirpath = folder.path().string()}, .tensors = 40}};
  levin::Trainer trainer(options);
  if (stage == "fit")
    trainer.fit(module, data.loader(4), data.loader(4));
  else
    trainer.validate(module, data.loader(4));
  return Json::parse(read_bytes(folder / (stage + "-memory.json")));
}

Json action_of(const Json& profile, const std::string& name) {
  for (const Json& one : profile["actions"])
    if (one["action"] == name && one["device"] == "cpu") return one;
  return {{"peak_bytes", -1}, {"grown_bytes", -1}};
}

}  // namespace

TEST_CASE("the memory profiler tells the peak during each action") {
  const TemporaryFolder folder;
  BigModule module;
  const Json profile = profile_of(folder, module);
  const std::string strategy = "[Strategy]SingleDeviceStrategy.";
  const int64_t of_training = action_of(profile, strategy + "training_step")["grown_bytes"];
  CHECK(of_training >= 12 * kMiB);  // 4, 4, and their product
  CHECK(of_training < 13 * kMiB);
  const int64_t of_validation = action_of(profile, strategy + "validation_step")["grown_bytes"];
  CHECK(of_validation >= 16 * kMiB);
  CHECK(of_validation < 17 * kMiB);
  CHECK(action_of(profile, "[LightningModule]BigModule.configure_gradient_clipping")["grown_bytes"] < kMiB);
  // What is inside of an action counts for it.
  CHECK(action_of(profile, "run_training_batch")["peak_bytes"] >=
        action_of(profile, strategy + "training_step")["peak_bytes"]);
  CHECK(action_of(profile, "run_validation")["peak_bytes"] ==
        action_of(profile, strategy + "validation_step")["peak_bytes"]);
  const Json device = profile["devices"][0];
  CHECK(device["device"] == "cpu");
  CHECK(device["peak_bytes"] == action_of(profile, "run_validation")["peak_bytes"]);
  CHECK(device["live_bytes"].get<int64_t>() >= 0);
  CHECK(device["live_bytes"].get<int64_t>() < kMiB);  // what the steps made is gone
  CHECK(profile["resident_peak_bytes"].get<int64_t>() > 16 * kMiB);
}

TEST_CASE("the memory profiler tells where the largest tensors are made") {
  const TemporaryFolder folder;
  BigModule module(
      torch::nn::Sequential(torch::nn::Linear(4, 1 << 17), torch::nn::ReLU(), torch::nn::Linear(1 << 17, 1)));
  const Json profile = profile_of(folder, module);
  const auto find = [&](const std::string& operation, const std::string& layer) -> Json {
    for (const Json& one : profile["tensors"])
      if (one["operation"] == operation && one["layer"] == layer) return one;
    return {{"bytes", -1}};
  };
  CHECK(profile["tensors"][0]["operation"] == "aten::ones");
  CHECK(profile["tensors"][0]["bytes"] == 16 * kMiB);
  CHECK(profile["tensors"][0]["times"] == 5);
  CHECK(profile["tensors"][0]["action"] == "[Strategy]SingleDeviceStrategy.validation_step");
  // 4 samples of 2^17 features in float32 are 2 MiB.
  CHECK(find("aten::addmm", "net.0")["bytes"] == 2 * kMiB);
  CHECK(find("aten::addmm", "net.0")["is_after_layer"] == false);
  CHECK(find("aten::relu", "net.0")["bytes"] == 2 * kMiB);
  CHECK(find("aten::relu", "net.0")["is_after_layer"] == true);
  CHECK(std::ranges::any_of(profile["tensors"], [](const Json& one) {
    return contains(one["operation"].get<std::string>(), "Backward") &&
           contains(one["action"].get<std::string>(), "backward");
  }));
  // A program with debug information also tells the function; on other processors LibTorch reads no stacks.
  const std::string function = profile["tensors"][0]["function"];
  CHECK((levin::call_stack().empty() || contains(function, "make_big") || contains(function, "BigModule")));
  const std::string text = read_bytes(folder / "fit-memory.txt");
  CHECK(contains(text, "FIT Memory Report\n"));
  CHECK(contains(text, "| after net.0 |"));
}

TEST_CASE("several runs in a process have memory profiles of their own") {
  const TemporaryFolder one, two, three;
  BigModule module;
  const Json first = profile_of(one, module), second = profile_of(two, module);
  CHECK(action_of(first, "run_validation")["grown_bytes"] == action_of(second, "run_validation")["grown_bytes"]);
  const Json third = profile_of(three, module, "validate");
  CHECK(third["tensors"][0]["bytes"] == 16 * kMiB);
  CHECK(third["tensors"].size() <= 40);
  CHECK(action_of(third, "run_training_batch")["peak_bytes"] == -1);
}

TEST_CASE("memory that loaders' workers take counts, and nothing is printed about it") {
  const TemporaryFolder folder;
  const ToyData data(64);
  BigModule module;
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 3;
  options.profiler = "memory";
  const levin::data::DataLoader loader(levin::data::TensorDataset(data.input, data.target),
                                       {.batch_size = 4, .num_workers = 1});
  const CapturedStderr captured;
  const levin::RunResult result = levin::Trainer(options).fit(module, loader);
  CHECK(captured.text() == "");
  const Json profile = Json::parse(read_bytes(result.folder / "fit-memory.json"));
  CHECK(profile["devices"][0]["live_bytes"].get<int64_t>() >= 0);
  CHECK(profile["tensors"].size() == 10);
}

TEST_CASE("a session that another thread ends leaves that thread's and its own memory alone") {
  const TemporaryFolder folder;
  const ToyData data(8);
  BigModule module;
  levin::TrainerOptions options = quiet(folder);
  options.quiet = true;
  options.accelerator = "cpu";
  options.max_epochs = 1;
  options.profiler = "memory";
  levin::Trainer trainer(options);
  std::optional<levin::Session> session(trainer.start(module));
  session->step({data.input, data.target});
  levin::RunResult result;
  std::thread([&] { result = session->finish(); }).join();
  session.reset();
  CHECK(result.status == "completed");
  CHECK(torch::ones({4}).sum().item<float>() == 4);
  CHECK(Json::parse(read_bytes(result.folder / "fit-memory.json"))["devices"][0]["peak_bytes"].get<int64_t>() >=
        8 * kMiB);
}

TEST_CASE("a function's name is read without its type and parameters") {
  CHECK(levin::plain_name("main") == "main");
  CHECK(levin::plain_name("void a::f<int>(b::C const&)") == "a::f<int>");
  CHECK(levin::plain_name("(anonymous namespace)::Net::step(levin::Batch const&, long)") ==
        "(anonymous namespace)::Net::step");
  CHECK(levin::plain_name("std::vector<int, std::allocator<int> > f(int)") == "f");
  CHECK(levin::plain_name("") == "");
}
