#include <levin/program/profile/profile.h>
#include <levin/levin.h>
#include <levin/program/profile/experiments.h>
#include <levin/program/profile/profile_trial.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::Json;

namespace {

/// Runs `levin profile --json` of a config with short trials, in a folder of its own.
struct Profiled {
  explicit Profiled(const std::string& trainer, const std::string& model, const std::string& data,
                    std::vector<std::string> flags = {"--json"}, int64_t steps = 8) {
    write_bytes(folder / "run.json",
                R"({"seed": 1, "trainer": {"accelerator": "cpu", "num_threads": 1, "default_root_dir": ")" +
                    folder.path().string() + "\"" + (trainer.empty() ? "" : ", ") + trainer +
                    R"(}, "model": {"class": "Net")" + (model.empty() ? "" : ", ") + model +
                    R"(}, "data": {"class": "HookData")" + (data.empty() ? "" : ", ") + data + "}}");
    std::vector<std::string> words = {
        "profile", "--config", (folder / "run.json").string(), "--steps", std::to_string(steps), "--max-pairs", "3"};
    words.insert(words.end(), flags.begin(), flags.end());
    run = levin::testing::run_program(words);
    INFO(run.err);
    if (run.code == 0 && flags == std::vector<std::string>{"--json"}) report = Json::parse(run.out);
  }
  Json first() const { return report.value("advice", Json::array()).empty() ? Json::object() : report["advice"][0]; }
  std::string cause() const { return first().value("cause", ""); }
  std::string change() const { return first().value("change", ""); }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      names.insert(entry.path().filename().string());
    return names;
  }
  TemporaryFolder folder = {};
  levin::testing::ProgramRun run = {};
  Json report = Json::object();
};

}  // namespace

// Each fault sleeps for several times what the rest of a step takes, so that the order is certain.

TEST_CASE("profile names a loader that waits, and tells how many workers it needs") {
  const Profiled profiled("", R"("sleep": 2)", R"("sleep": 0.4, "batch_size": 32)");
  INFO(profiled.run.out << profiled.run.err);
  CHECK(profiled.cause() == "data loading");
  CHECK(contains(profiled.change(), "data.num_workers 0 -> "));
  CHECK(profiled.first()["gain"].get<double>() > 2);
  CHECK(profiled.files() == std::set<std::string>{"run.json"});  // no run's folder, no temporary one
}

TEST_CASE("profile names a logger that is slow at each step") {
  const Profiled profiled(R"("log_every_n_steps": 1, "logger": [{"class": "SlowLogger", "sleep": 12}])",
                          R"("sleep": 2)", "");
  INFO(profiled.run.out << profiled.run.err);
  CHECK((profiled.cause() == "logging" || profiled.cause() == "logger SlowLogger"));
  CHECK(profiled.files() == std::set<std::string>{"run.json"});
}

TEST_CASE("profile names a callback that is slow") {
  const Profiled profiled(R"("callbacks": ["Timer", {"class": "SlowCallback", "sleep": 12}])", R"("sleep": 2)", "");
  INFO(profiled.run.out << profiled.run.err);
  CHECK(profiled.cause() == "callback SlowCallback");
  CHECK(contains(profiled.change(), "trainer.callbacks[1]"));
}

TEST_CASE("profile names an optimizer that is slow") {
  const Profiled profiled("", R"("sleep": 2, "optimizer_sleep": 12)", "");
  INFO(profiled.run.out << profiled.run.err);
  CHECK(profiled.cause() == "the optimizer");
}

TEST_CASE("profile names validation that runs too often") {
  const Profiled profiled(R"("val_check_interval": 2)", R"("sleep": 2, "val_sleep": 12)", R"("val_samples": 256)");
  INFO(profiled.run.out << profiled.run.err);
  CHECK(profiled.cause() == "validation");
  CHECK(contains(profiled.change(), "trainer.val_check_interval 2 -> 1.0"));
}

TEST_CASE("profile names batches that are too small for what each step costs, after what changes nothing") {
  const Profiled profiled(R"("callbacks": [{"class": "SlowCallback", "sleep": 6}])", R"("sleep": 12)",
                          R"("batch_size": 2)");
  INFO(profiled.run.out << profiled.run.err);
  REQUIRE(profiled.report["advice"].size() >= 2);
  CHECK(profiled.cause() == "callback SlowCallback");
  const Json last = profiled.report["advice"].back();
  CHECK(last["cause"] == "small batches");
  CHECK(last["effect"] == "learning");
  CHECK(last["gain"].get<double>() > 3);
}

TEST_CASE("profile writes its advice into the config, and the next profile has none left") {
  Profiled profiled("", R"("sleep": 2)", R"("sleep": 0.4, "batch_size": 32)", {"--apply"});
  INFO(profiled.run.out << profiled.run.err);
  CHECK(profiled.run.code == 0);
  CHECK(contains(profiled.run.out, "Written to "));
  const Json config = Json::parse(read_bytes(profiled.folder / "run.json"));
  CHECK(config["data"]["num_workers"].get<int64_t>() > 0);
  CHECK(config["model"]["sleep"] == 2);
}

TEST_CASE("profile refuses what it could not measure, and says what to do") {
  const auto error = [](const std::string& trainer, std::vector<std::string> flags) {
    const Profiled profiled(trainer, "", "", std::move(flags));
    CHECK(profiled.run.code == 2);
    return profiled.run.err;
  };
  CHECK(contains(error(R"("fast_dev_run": true)", {}), "trainer.fast_dev_run: a test of a few batches is too short"));
  CHECK(contains(error("", {"--seconds", "0"}), "--seconds: expected at least 0.01 and at most 60, got 0"));
  CHECK(contains(error("", {"--seconds", "fast"}), "--seconds: expected a number"));
  CHECK(contains(error("", {"--max-pairs", "2"}), "--max-pairs: expected at least 3 and at most 31, got 2"));
  CHECK(contains(error("", {"--apply", "--json"}), "--apply"));
  CHECK(contains(error("", {"--ckpt-path", "last"}), "--ckpt-path"));
  CHECK(contains(error("", {"--nonsense", "1"}), "--nonsense"));
}

TEST_CASE("the module and the process are as before a profile") {
  const int64_t threads = at::get_num_threads();
  at::manual_seed(7);
  const double expected = torch::rand({}).item<double>();
  at::manual_seed(7);
  const Profiled profiled(R"("detect_anomaly": true, "deterministic": true)", "", "", {"--json"}, /*steps=*/4);
  CHECK(profiled.run.code == 0);
  CHECK(torch::rand({}).item<double>() == expected);
  CHECK(at::get_num_threads() == threads);
  CHECK_FALSE(at::globalContext().deterministicAlgorithms());
}

TEST_CASE("a fit that throws ends a profile with its message, and leaves no folder") {
  const Profiled profiled("", R"("width": 4096)", "");  // wider than the input
  CHECK(profiled.run.code != 0);
  CHECK(profiled.files() == std::set<std::string>{"run.json"});
}

TEST_CASE("a changed config leaves the other values alone") {
  const levin::ProfileTrial base{.config = Json::parse(R"({"trainer": {"callbacks": ["A", {"class": "B", "n": 1}]}})")};
  levin::Experiment experiment{.changes = {{"trainer.callbacks[1].n", "1", "5"}}};
  CHECK(levin::changed(base, experiment).config ==
        Json::parse(R"({"trainer": {"callbacks": ["A", {"class": "B", "n": 5}]}})"));
  experiment = {.removes = {"/trainer/callbacks/0"}};
  CHECK(levin::changed(base, experiment).config ==
        Json::parse(R"({"trainer": {"callbacks": [{"class": "B", "n": 1}]}})"));
  CHECK(levin::text_of({{"data.num_workers", "0", "2"}, {"trainer.num_threads", "1", "null"}}) ==
        "data.num_workers 0 -> 2, trainer.num_threads 1 -> unset");
}

TEST_CASE("a program profiles its own module, which stays as it is") {
  int made = 0;
  levin::ProfileSubject subject;
  subject.config = R"({"trainer": {"detect_anomaly": false}, "data": {"batch_size": 64}})";
  subject.make = [&](const std::string& config) {
    made += 1;
    const Json given = Json::parse(config);
    levin::ProfileParts parts;
    parts.trainer = {.accelerator = "cpu", .logger = false, .enable_checkpointing = false, .quiet = true};
    parts.trainer.num_threads = 1;
    levin::schema_of<levin::TrainerOptions>().set(&parts.trainer, "trainer", given["trainer"]);
    parts.module = levin::wrap(
        torch::nn::Sequential(torch::nn::Linear(8, 2)),
        [](const auto& output, const auto& target) { return torch::nn::functional::cross_entropy(output, target); });
    struct Rows : levin::data::DataModule {
      levin::data::Loaders train_dataloader() override {
        return levin::data::DataLoader(
            levin::data::TensorDataset(torch::randn({256, 8}), torch::zeros({256}, at::kLong)), {.batch_size = 64});
      }
    };
    parts.data = std::make_shared<Rows>();
    return parts;
  };
  const levin::ProfileReport report = levin::profile_run(subject, {.steps = 4, .max_pairs = 3});
  CHECK(report.trials == made);
  CHECK(report.steps == 4);
  CHECK(report.samples_per_second > 0);
  CHECK(report.machine.matmul_flops > 0);
  CHECK(report.machine.memory_bytes_per_second > 0);
  CHECK(report.flops_per_step >= 2 * 64 * 8 * 2 * 2);  // forward, and the gradient of the weight
  CHECK(report.floor.product_seconds > 0);
  CHECK(report.floor.memory_seconds > 0);
  CHECK(report.floor.rank_seconds == 0);
  CHECK(Json::parse(report.to_json())["trials"] == made);
  subject.config = "{";
  CHECK_THROWS_AS(levin::profile_run(subject), levin::UsageError);
}
