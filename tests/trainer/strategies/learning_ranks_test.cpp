// Training on ranks if parameters join the optimizer during the fit, ranks have unequal weights, or LBFGS evaluates a
// batch several times, or parameters are left out in some steps.
#include <cmath>

#include "tests/error_text.h"
#include "tests/trainer/launch/ranks.h"

namespace {

/// Fits of the program rank_learner in a temporary folder.
struct RankLearner {
  /// Runs the program; returns its exit code. Its output is in the files `out` and `log`.
  int run(const std::string& strategy, int ranks, const std::string& what, const std::string& checkpoint = {}) const {
    const char* const program = std::getenv("LEVIN_RANK_LEARNER");
    REQUIRE(program != nullptr);
    const std::string out = (folder / "out").string();
    std::vector<std::string> words = {"/bin/sh",
                                      "-c",
                                      "exec \"$0\" \"$@\" > '" + out + "'",
                                      program,
                                      folder.path().string(),
                                      strategy,
                                      std::to_string(ranks),
                                      what};
    if (!checkpoint.empty()) words.push_back(checkpoint);
    return Spawned(words, folder / "log").wait();
  }
  std::vector<double> weights(const std::string& strategy, int ranks, const std::string& what,
                              const std::string& checkpoint = {}) const {
    const int code = run(strategy, ranks, what, checkpoint);
    INFO(strategy << " " << what << ": " << read_bytes(folder / "log"));
    REQUIRE(code == 0);
    std::vector<double> values;
    std::ifstream in(folder / "out");
    for (std::string line; std::getline(in, line);) values.push_back(std::stod(line));
    REQUIRE(values.size() >= 4 * 5 + 5 + 5 + 1 + 2 * 4);
    return values;
  }
  std::string log() const { return read_bytes(folder / "log"); }
  /// Returns the parameters of each bucket at the end, and whether the buckets stay.
  std::string buckets() const {
    const levin::State strategy = levin::load_state(folder / "end.ckpt").at("levin").at("strategy");
    const levin::State* const shares = strategy.find("shares");
    const levin::State& state = shares != nullptr ? *shares : strategy;
    std::string text;
    for (const levin::State& bucket : state.at("buckets").items()) {
      for (const levin::State& parameter : bucket.items()) text += std::to_string(parameter.to_int()) + " ";
      text += "| ";
    }
    return text + (state.at("buckets_stay").to_bool() ? "stay" : "change");
  }
  std::string middle() const { return (folder / "middle.ckpt").string(); }
  TemporaryFolder folder;
};

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : 1e9);
  return largest;
}

/// Checks that two ranks end at these weights under each strategy.
void check_two_ranks_end_at(const std::vector<double>& expected, const RankLearner& learner, const std::string& what,
                            double within = 1e-10) {
  for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
    INFO(strategy);
    CHECK(difference(learner.weights(strategy, 2, what), expected) < within);
  }
}

}  // namespace

TEST_CASE("what configure_model builds is divided under fsdp at once, and trains as under ddp") {
  const RankLearner learner;
  const auto expected = learner.weights("ddp", 2, "built_late");
  CHECK(contains(learner.log(), "wide is whole"));
  CHECK(difference(learner.weights("fsdp", 2, "built_late"), expected) < 1e-12);
  CHECK(contains(learner.log(), "wide is divided"));
  CHECK(difference(learner.weights("fsdp", 3, "built_late"), learner.weights("ddp", 3, "built_late")) < 1e-12);
}

TEST_CASE("layers that join the optimizer in the second epoch train on ranks as on one device") {
  const RankLearner learner;
  const auto expected = learner.weights("single_device", 1, "unfreezes");
  CHECK(difference(learner.weights("ddp", 2, "unfreezes"), expected) < 1e-10);
  CHECK(difference(learner.weights("zero1", 2, "unfreezes"), expected) < 1e-10);
  CHECK(difference(learner.weights("ddp", 2, "unfreezes_by_hand"),
                   learner.weights("single_device", 1, "unfreezes_by_hand")) < 1e-10);
}

TEST_CASE("a run whose group was added before the save resumes if on_load_checkpoint adds it") {
  for (const char* strategy : {"single_device", "ddp", "zero1"}) {
    const RankLearner learner;
    const int ranks = strategy == std::string("single_device") ? 1 : 2;
    const auto unbroken = learner.weights(strategy, ranks, "unfreezes");
    CHECK(difference(learner.weights(strategy, ranks, "unfreezes", learner.middle()), unbroken) == 0);
  }
}

TEST_CASE("a first batch of weight 0 on rank 0 leaves all weights finite") {
  const RankLearner learner;
  const auto expected = learner.weights("ddp", 2, "first_weighs_nothing");
  for (const double value : expected) CHECK(std::isfinite(value));
  CHECK(difference(learner.weights("fsdp", 2, "first_weighs_nothing"), expected) < 1e-12);
}

TEST_CASE("a rank without a loss counts as zeros where the unused parameters change") {
  const RankLearner learner;
  const auto expected = learner.weights("ddp", 2, "branches_without_a_loss");
  CHECK(difference(expected, learner.weights("ddp", 2, "branches")) > 1e-3);
  for (const char* strategy : {"zero1", "fsdp"})
    CHECK(difference(learner.weights(strategy, 2, "branches_without_a_loss"), expected) < 1e-12);
}

TEST_CASE("a rank whose batch weighs nothing takes part in the backward of synchronized batch norms") {
  const RankLearner learner;
  for (const char* what : {"norms", "norms_in_windows"}) {
    INFO(what);
    const auto expected = learner.weights("single_device", 1, what);
    for (const double value : expected) CHECK(std::isfinite(value));
    // Adam divides the rounding of gradients that are zero, those of a bias before a batch norm, by their size.
    const double within = 1e-8;
    check_two_ranks_end_at(expected, learner, what, within);
    CHECK(difference(learner.weights("ddp", 4, what), expected) < within);
  }
}

TEST_CASE("ranks with unequal weights resume to the bit from the middle of a window") {
  const RankLearner learner;
  for (const char* strategy : {"ddp", "fsdp"}) {
    const auto unbroken = learner.weights(strategy, 2, "unequal_weights");
    CHECK(difference(learner.weights(strategy, 2, "unequal_weights", learner.middle()), unbroken) == 0);
  }
}

TEST_CASE("parameters whose rows change train on ranks as on one device, and resume to the bit") {
  const RankLearner learner;
  const auto expected = learner.weights("single_device", 1, "rows");
  CHECK(expected.size() == 4 * 5 + 5 + 5 + 1 + 5 * 4);
  const auto unbroken = learner.weights("ddp", 2, "rows");
  CHECK(difference(unbroken, expected) < 1e-10);
  CHECK(difference(learner.weights("ddp", 2, "rows", learner.middle()), unbroken) == 0);
}

TEST_CASE("what the module changed right before a save is reduced in the same buckets after a resume") {
  for (const auto& [strategy, what] : {std::pair<const char*, const char*>{"ddp", "rows_before_the_save"},
                                       {"ddp", "unfreezes_before_the_save"},
                                       {"zero1", "unfreezes_before_the_save"}}) {
    INFO(strategy << " " << what);
    const RankLearner learner;
    const auto unbroken = learner.weights(strategy, 3, what);
    const std::string buckets = learner.buckets();
    CHECK(difference(learner.weights(strategy, 3, what, learner.middle()), unbroken) == 0);
    CHECK(learner.buckets() == buckets);
  }
}

TEST_CASE("ranks that change rows differently are told which parameter differs") {
  const RankLearner learner;
  CHECK(learner.run("ddp", 2, "rows_differ") != 0);
  CHECK(contains(learner.log(),
                 "table has the shape [3, 4] in Double on rank 0 and the shape [4, 4] in Double on rank 1"));
  CHECK(learner.run("ddp", 2, "rows_on_one_rank") != 0);
  CHECK(contains(learner.log(), "change on all ranks or on none"));
  CHECK(learner.run("zero1", 2, "rows") != 0);
  CHECK(contains(learner.log(), "zero1: the rows of a parameter of shape [2, 4] cannot change"));
}

TEST_CASE("LBFGS takes the same way on ranks as on one device") {
  const RankLearner learner;
  // The rounding of sums differs, and each step multiplies the difference.
  CHECK(difference(learner.weights("ddp", 2, "lbfgs"), learner.weights("single_device", 1, "lbfgs")) < 1e-6);
  CHECK(difference(learner.weights("ddp", 2, "lbfgs_by_hand"), learner.weights("single_device", 1, "lbfgs_by_hand")) <
        1e-6);
  const auto unbroken = learner.weights("ddp", 2, "lbfgs");
  CHECK(difference(learner.weights("ddp", 2, "lbfgs", learner.middle()), unbroken) == 0);
}

TEST_CASE("ranks whose unused parameters change from step to step train as one device") {
  const RankLearner learner;
  const auto expected = learner.weights("single_device", 1, "branches");
  check_two_ranks_end_at(expected, learner, "branches");
  // One rank that takes the same way, and a game of two networks with a backward each.
  CHECK(difference(learner.weights("ddp", 1, "branches"), expected) < 1e-10);
  CHECK(difference(learner.weights("ddp", 2, "gan"), learner.weights("single_device", 1, "gan")) < 1e-10);
}

TEST_CASE("an error names the parameters that a step has left out") {
  const RankLearner learner;
  for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
    INFO(strategy);
    CHECK(learner.run(strategy, 2, "branches_refused") != 0);
    INFO(learner.log());
    CHECK(contains(learner.log(), std::string(strategy) + ": these parameters got no gradient: "));
    CHECK(contains(learner.log(), "table; set find_unused_parameters to true"));
  }
}

TEST_CASE("a static graph trains as on one device in windows, with several backwards and by LBFGS, and resumes") {
  const RankLearner learner;
  for (const char* what : {"static_windows_of_2", "static_windows_of_3", "static_two_backwards"}) {
    INFO(what);
    CHECK(difference(learner.weights("ddp", 2, what), learner.weights("single_device", 1, what)) < 1e-10);
  }
  CHECK(difference(learner.weights("zero1", 2, "static_windows_of_2"),
                   learner.weights("single_device", 1, "static_windows_of_2")) < 1e-10);
  CHECK(difference(learner.weights("ddp", 2, "lbfgs_static"), learner.weights("single_device", 1, "lbfgs_static")) <
        1e-6);
  // The middle is inside a window.
  const auto unbroken = learner.weights("ddp", 2, "static_windows_of_2");
  CHECK(difference(learner.weights("ddp", 2, "static_windows_of_2", learner.middle()), unbroken) < 1e-12);
}

TEST_CASE("a static graph that changes is an error that says what to set") {
  const RankLearner learner;
  CHECK(learner.run("ddp", 2, "static_branches") != 0);
  INFO(learner.log());
  CHECK(contains(learner.log(), "static_graph: this step used other parameters than the steps before it"));
}

TEST_CASE("a hook that may read gradients where they are divided is told how") {
  const RankLearner learner;
  const char* const warning = "on_before_optimizer_step did not ask for them by levin::gradients_of";
  for (const char* strategy : {"ddp", "zero1", "fsdp"}) {
    INFO(strategy);
    learner.weights(strategy, 2, "reads_gradients");
    CHECK(contains(learner.log(), warning) == (strategy != std::string("ddp")));
    learner.weights(strategy, 2, "asks_for_gradients");
    CHECK_FALSE(contains(learner.log(), warning));
  }
}

TEST_CASE("sparse gradients of an embedding train on ranks as on one device") {
  const RankLearner learner;
  check_two_ranks_end_at(learner.weights("single_device", 1, "sparse"), learner, "sparse");
  // A checkpoint holds them under manual optimization.
  const auto unbroken = learner.weights("single_device", 1, "sparse_by_hand");
  CHECK(difference(learner.weights("single_device", 1, "sparse_by_hand", learner.middle()), unbroken) == 0);
}

TEST_CASE("schedule-free AdamW and Muon end under zero1 and fsdp as under ddp, and resume to the bit") {
  const RankLearner learner;
  const auto without_validation = [](const std::vector<double>& values) {
    return std::vector<double>(values.begin() + 1, values.end());
  };
  for (const std::string what : {"schedule_free", "muon"}) {
    INFO(what);
    const bool validates = what == "schedule_free";
    const auto of_two = learner.weights("ddp", 2, what), of_three = learner.weights("ddp", 3, what);
    // Muon's iteration rounds to bfloat16, and so enlarges what differs in the last bit.
    if (validates) CHECK(difference(learner.weights("auto", 1, what), of_two) > 0);
    for (const std::string strategy : {"zero1", "fsdp"}) {
      INFO(strategy);
      CHECK(difference(learner.weights(strategy, 3, what), of_three) < 1e-10);
      const auto whole = learner.weights(strategy, 2, what);
      CHECK(difference(whole, of_two) < 1e-10);
      const std::filesystem::path saved = learner.folder / (what + strategy + ".ckpt");
      std::filesystem::copy_file(learner.middle(), saved);
      const auto rest = validates ? without_validation(whole) : whole;
      CHECK(learner.weights(strategy, 2, what, saved.string()) == rest);
      const std::string other = strategy == "fsdp" ? "ddp" : "fsdp";
      CHECK(difference(learner.weights(other, 2, what, saved.string()), rest) < 1e-10);
    }
  }
}
