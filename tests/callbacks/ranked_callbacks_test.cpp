// Callbacks that change the training, on two ranks of ddp.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/error_text.h"
#include "tests/trainer/launch/ranks.h"

using Json = nlohmann::ordered_json;

namespace {

/// Fits of the program callback_learner in a temporary folder.
struct CallbackLearner {
  std::vector<double> weights(int ranks, const Json& one, const std::string& checkpoint = {}) const {
    const char* const program = std::getenv("LEVIN_CALLBACK_LEARNER");
    REQUIRE(program != nullptr);
    const std::string out = (folder / "out").string();
    std::vector<std::string> words = {
        "/bin/sh", "-c", "exec \"$0\" \"$@\" > '" + out + "'", program, folder.path().string(), std::to_string(ranks),
        one.dump()};
    if (!checkpoint.empty()) words.push_back(checkpoint);
    const int code = Spawned(words, folder / "log").wait();
    INFO(one.dump() << ": " << read_bytes(folder / "log"));
    REQUIRE(code == 0);
    std::vector<double> values;
    std::ifstream in(folder / "out");
    for (std::string line; std::getline(in, line);) values.push_back(std::stod(line));
    REQUIRE(values.size() >= 4 * 8 + 8 + 8 + 1);
    return values;
  }
  std::string middle() const { return (folder / "middle.ckpt").string(); }
  TemporaryFolder folder;
};

double largest_distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : 1e9);
  return largest;
}

}  // namespace

TEST_CASE("callbacks that change the training do on two ranks what they do on one device") {
  const CallbackLearner learner;
  const Json cases = Json::parse(R"([
    {"callback": {"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 2}},
    {"callback": {"class": "EMAWeightAveraging", "decay": 0.9}},
    {"head_only": true, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}},
    {"unfreezes": true, "callback": {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}},
    {"clip": 0.05, "callback": {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.2}},
    {"callback": {"class": "ModelPruning", "pruning_fn": "l1_unstructured", "amount": 0.2}}
  ])");
  for (Json one : cases) {
    const auto on_one_device = learner.weights(1, one);
    for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
      INFO(strategy);
      if (strategy == std::string("fsdp") && (one.contains("head_only") || one.contains("unfreezes")))
        continue;  // it refuses to unfreeze parameters
      one["strategy"] = strategy;
      CHECK(largest_distance(learner.weights(2, one), on_one_device) < 1e-10);
    }
  }
}

TEST_CASE("callbacks that change the training are resumed on two ranks to the same bits") {
  const CallbackLearner learner;
  const Json cases = Json::parse(R"([
    {"batch_norm": true, "middle": 26, "callback":
      {"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 2}},
    {"batch_norm": true, "head_only": true, "callback":
      {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}},
    {"batch_norm": true, "callback":
      {"class": "ModelPruning", "pruning_fn": "random_unstructured", "amount": 0.2,
       "use_lottery_ticket_hypothesis": false}},
    {"strategy": "zero1", "accumulate": 2, "middle": 17, "head_only": true, "callback":
      [{"class": "EMAWeightAveraging", "decay": 0.9},
       {"class": "BackboneFinetuning", "unfreeze_backbone_at_epoch": 1}]},
    {"strategy": "fsdp", "batch_norm": true, "validates": true, "callback":
      {"class": "EMAWeightAveraging", "decay": 0.9}},
    {"strategy": "fsdp", "accumulate": 2, "batch_norm": true, "state_dict_type": "sharded", "middle": 17, "callback":
      {"class": "EMAWeightAveraging", "decay": 0.9}},
    {"strategy": "fsdp", "batch_norm": true, "middle": 26, "callback":
      {"class": "StochasticWeightAveraging", "swa_lrs": 0.02, "swa_epoch_start": 2, "annealing_epochs": 2}}
  ])");
  for (const Json& one : cases) {
    const auto unbroken = learner.weights(2, one);
    CHECK(learner.weights(2, one, learner.middle()) == unbroken);
  }
}

TEST_CASE("norms of gradients are those of the whole gradients under every strategy") {
  const RankedFits fits;
  for (const char* norm_type : {"2", "1", "\"inf\""}) {
    INFO(norm_type);
    const RankedFits::Flags monitored = {
        "--callbacks",
        std::string(R"([{"class": "GradNormMonitor", "per_layer": true, "norm_type": )") + norm_type + "}]"};
    for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
      INFO(strategy);
      ends_as_one_process(fits, monitored, {"--devices", "2", "--strategy", strategy, "--data.batch_size", "32"},
                          1e-10);
    }
  }
}

TEST_CASE("a classification report counts each sample once on any number of ranks") {
  const RankedFits fits;
  const auto report = [&](const std::string& name, const RankedFits::Flags& flags) {
    RankedFits::Flags all = {"--callbacks",        R"([{"class": "ClassificationReport"}])",
                             "--max-epochs",       "1",
                             "--default-root-dir", (fits.folder / name).string()};
    all.insert(all.end(), flags.begin(), flags.end());
    fits.weights(name, all);
    return Json::parse(read_bytes(fits.folder / name / "run" / "version_0" / "classification" / "validate.json"));
  };
  const Json one = report("one", {}),
             two = report("two", {"--devices", "2", "--strategy", "ddp", "--data.batch_size", "32"});
  CHECK(two["matrix"] == one["matrix"]);
  int64_t samples = 0;
  for (const Json& row : two["matrix"])
    for (const Json& count : row) samples += count.get<int64_t>();
  CHECK(samples == 71);
}
