// Ranks with unequal numbers of batches or samples, and checkpoints from another number of ranks. The results are
// compared with one process, and with the run that was not stopped.
#include "tests/trainer/launch/ranks.h"

namespace fs = std::filesystem;

namespace {

using Flags = RankedFits::Flags;

/// Trainings of ranked_learner, each in its own folder.
struct Learners {
  /// Runs one training to its end; returns its exit code.
  int run(const std::string& name, const Flags& flags) const {
    const char* const program = std::getenv("LEVIN_RANKED_LEARNER");
    REQUIRE(program != nullptr);
    const std::string out = (folder / (name + ".out")).string();
    Spawned process(
        joined({"/bin/sh", "-c", "exec \"$0\" \"$@\" > '" + out + "'", program, (folder / name).string()}, flags),
        folder / (name + ".log"));
    return process.wait();
  }
  void train(const std::string& name, const Flags& flags) const {
    const int code = run(name, flags);
    INFO(name << ": " << log(name));
    REQUIRE(code == 0);
  }
  /// Trains with `flags`, once if they are asked for again, and resumes with `then` as `name`.
  void resume(const std::string& name, const Flags& flags, const Flags& then) const {
    std::string& file = checkpoints[flags];
    if (file.empty()) {
      file = (folder / (name + ".ckpt")).string();
      train(name + "_first", joined(flags, {"as=" + file}));
      REQUIRE(fs::exists(file));
    }
    train(name, joined(then, {"ckpt_path=" + file}));
  }
  /// Checks that a training with `flags` ends the same, unbroken and from the checkpoint that each of `saves` requests.
  void resumes_alike(const std::string& name, const Flags& flags, const Flags& saves) const {
    const std::string unbroken = name + "_unbroken";
    train(unbroken, flags);
    for (const std::string& save : saves) {
      const std::string resumed = name + "_" + save;
      resume(resumed, joined(flags, {save}), flags);
      ends_as(resumed, unbroken, 0);
    }
  }
  std::vector<torch::Tensor> weights(const std::string& name) const {
    std::vector<torch::Tensor> tensors;
    const levin::State saved = levin::load_state(folder / name / "run" / "version_0" / "weights.pt");
    for (const auto& [key, value] : saved.to_dict()) tensors.push_back(value.to_tensor());
    return tensors;
  }
  /// Returns the logged values of the steps from `first` on, by step and name.
  std::map<std::string, double> rows(const std::string& name, int64_t first = 0) const {
    std::map<std::string, double> values;
    std::ifstream in(folder / name / "run" / "version_0" / "metrics.jsonl");
    for (std::string line; std::getline(in, line);) {
      const levin::Json row = levin::Json::parse(line);
      for (const auto& [key, value] : row.items())
        if (value.is_number() && key != "step" && key != "epoch" && key != "wall_seconds" && row["step"] >= first)
          values[std::to_string(row["step"].get<int64_t>()) + " " + key] = value.get<double>();
    }
    return values;
  }
  /// Checks that `name`, which may start later, has trained and logged the same as `expected`.
  void ends_as(const std::string& name, const std::string& expected, double within) const {
    INFO(name << " for " << expected << ": " << log(name));
    CHECK(difference(weights(name), weights(expected)) <= within);
    const auto logged = rows(name), all = rows(expected);
    REQUIRE_FALSE(logged.empty());
    for (const auto& [key, value] : logged) {
      INFO(key);
      REQUIRE(all.count(key) == 1);
      CHECK(std::abs(value - all.at(key)) <= within);
    }
  }
  std::string log(const std::string& name) const { return read_bytes(folder / (name + ".log")); }
  std::string out(const std::string& name) const { return read_bytes(folder / (name + ".out")); }

  TemporaryFolder folder = {};
  mutable std::map<Flags, std::string> checkpoints = {};  ///< by the flags of the training that saved it
};

const Flags kTwoRanks = {"ranks=2"}, kOneRank = {"ranks=1", "batch=8"}, kFourRanks = {"ranks=4", "batch=2"};

}  // namespace

TEST_CASE("ranks with different numbers of batches make the steps of one process that has them all") {
  const Learners learners;
  for (const char* k : {"k=1", "k=3"}) {
    const Flags lists = {"data=lists", k};
    const std::string name = k;
    learners.train(name + "one", joined(lists, {"of=3"}));
    learners.train(name + "three", joined(lists, {"ranks=3"}));
    learners.ends_as(name + "three", name + "one", 1e-10);
    for (const char* strategy : {"zero1", "fsdp"}) {
      learners.train(name + strategy, joined(lists, {"ranks=3", c10::str("strategy=", strategy)}));
      learners.ends_as(name + strategy, name + "one", 1e-10);
    }
    if (k == std::string("k=1")) continue;
    learners.train(name + "each", joined(lists, {"ranks=3", "strategy=fsdp", "reduce_each=1"}));
    learners.ends_as(name + "each", name + "one", 1e-10);
  }
}

TEST_CASE("a loss that weighs as its step says is logged by ranks as by one process that has all batches") {
  const Learners learners;
  const Flags weighed = {"data=lists", "weighs=1"};
  learners.train("one", joined(weighed, {"of=3"}));
  const auto rows = learners.rows("one");
  CHECK(std::ranges::any_of(rows, [](const auto& row) { return row.first.ends_with(" weighed_loss"); }));
  for (const std::string strategy : {"ddp", "zero1", "fsdp"}) {
    learners.train(strategy, joined(weighed, {"ranks=3", "strategy=" + strategy}));
    learners.ends_as(strategy, "one", 1e-10);
  }
}

TEST_CASE("ranks with different numbers of batches resume to the bit from any batch, also if some have none left") {
  const Flags lists = {"data=lists", "ranks=2", "k=2", "asks=1"};
  Learners().resumes_alike("lists", joined(lists, {"registered=0"}), {"save_at=1", "save_at=4"});
  Learners().resumes_alike("lists", joined(lists, {"registered=1"}), {"save_at=3", "save_at=7"});
  const Flags fsdp = {"data=lists", "ranks=2", "k=2", "strategy=fsdp", "state_dict_type=sharded"};
  Learners().resumes_alike("fsdp", fsdp, {"save_at=3"});
  Learners().resumes_alike("each", joined(fsdp, {"reduce_each=1"}), {"save_at=1"});
}

TEST_CASE("under manual optimization gradients are the mean over the ranks that have a batch") {
  const Learners learners;
  for (const Flags& data : {Flags{"data=lists", "of=3", "rows_of_first=4"}, Flags{"samples=25"}}) {
    const std::string name = data[0];
    const Flags flags = joined(data, {"manual=1"});
    learners.train(name + "one", joined(flags, {"batch=12"}));
    learners.train(name + "three", joined(flags, {"ranks=3"}));
    learners.ends_as(name + "three", name + "one", 1e-10);
  }
  learners.resumes_alike("lists", {"data=lists", "ranks=2", "manual=1"}, {"save_at=2", "save_at=3"});
}

TEST_CASE("a rank whose first window weighs nothing steps with the others if losses are scaled") {
  const Learners learners;
  for (const char* strategy : {"strategy=ddp", "strategy=zero1", "strategy=fsdp"}) {
    const std::string name = strategy;
    const Flags flags = {"ranks=2", "weighs=later", strategy};
    learners.train(name, flags);
    // The network is float64, and the scale a power of two.
    learners.train(name + "scaled", joined(flags, {"precision=16-mixed"}));
    learners.ends_as(name + "scaled", name, 0);
  }
}

TEST_CASE("a metric keeps the counts of a rank without batches left after a resume, also after a second one") {
  const Learners learners;
  const Flags flags = {"data=lists", "ranks=2", "registered=0"};
  learners.train("unbroken", flags);
  learners.resume("third", joined(flags, {"save_at=3"}),
                  joined(flags, {"save_at=4", "as=" + (learners.folder / "fourth.ckpt").string()}));
  learners.train("fourth", joined(flags, {"ckpt_path=" + (learners.folder / "fourth.ckpt").string()}));
  learners.ends_as("fourth", "unbroken", 0);
}

TEST_CASE("three ranks resume to the bit inside any accumulation window") {
  Learners().resumes_alike("windows", {"ranks=3", "k=3", "samples=120"}, {"save_at=2", "save_at=5", "save_at=8"});
}

TEST_CASE("a save requested by the ranks that have a batch is made by all") {
  const Learners learners;
  learners.resumes_alike("lists", {"data=lists", "ranks=2"}, {"save_in_validation=3"});
  // Of 9 samples in rounds of 8 the second round has one.
  learners.resumes_alike("mapped", {"ranks=2", "val_samples=9"}, {"save_in_validation=1"});
}

TEST_CASE("a checkpoint just before a round with fewer samples than ranks can be continued") {
  const Learners learners;
  learners.resumes_alike("short_round", {"ranks=2", "samples=17"}, {"save_at=2"});
  // There are fewer samples than ranks from the start.
  learners.train("one", {"samples=1"});
  learners.train("three", {"samples=1", "ranks=3"});
  learners.ends_as("three", "one", 1e-10);
}

TEST_CASE("another number of ranks resumes inside a window and an epoch with the accumulated gradients and values") {
  const Learners learners;
  for (const char* weighs : {"weighs=0", "weighs=1"}) {
    const Flags common = {"k=3", "samples=45", weighs, "save_at=2"};
    const std::string name = weighs;
    learners.train(name, joined({"k=3", "samples=45", weighs}, kTwoRanks));
    int number = 0;
    const auto changes = [&](const Flags& before, const Flags& after) {
      const std::string resumed = name + std::to_string(++number);
      learners.resume(resumed, joined(common, before), joined({"k=3", "samples=45", weighs}, after));
      learners.ends_as(resumed, name, 1e-10);
    };
    changes(kTwoRanks, kTwoRanks);
    changes(kTwoRanks, kOneRank);
    changes(kOneRank, kTwoRanks);
    changes(kFourRanks, kTwoRanks);
    const Flags sharded = {"strategy=fsdp", "state_dict_type=sharded"}, each = {"strategy=fsdp", "reduce_each=1"};
    changes(joined(kTwoRanks, joined(sharded, each)), kTwoRanks);
    if (weighs == std::string("weighs=1")) continue;
    changes(kTwoRanks, kFourRanks);
    changes(joined(kFourRanks, {"registered=0"}), joined(kTwoRanks, {"registered=0"}));
    changes(joined(kFourRanks, sharded), joined(kTwoRanks, sharded));
    changes(joined(kFourRanks, each), joined(kTwoRanks, each));
  }
}

TEST_CASE("the epoch's values are those of all ranks if a run resumes after the epoch's last batch") {
  const Learners learners;
  for (const char* registered : {"registered=0", "registered=1"}) {
    const std::string name = registered;
    // Six batches: the last has 5 samples, 3 and 2.
    const Flags flags = {"samples=45", registered};
    learners.train(name, joined(flags, kTwoRanks));
    learners.resume(name + "two", joined(joined(flags, kTwoRanks), {"save_at=6"}), joined(flags, kTwoRanks));
    learners.ends_as(name + "two", name, 1e-15);
    learners.resume(name + "one", joined(joined(flags, kTwoRanks), {"save_at=6"}), joined(flags, kOneRank));
    learners.ends_as(name + "one", name, 1e-10);
    learners.resume(name + "four", joined(joined(flags, kTwoRanks), {"save_at=6"}), joined(flags, kFourRanks));
    learners.ends_as(name + "four", name, 1e-10);
  }
}

TEST_CASE("new ranks draw their own random numbers") {
  const Learners learners;
  learners.resume("resumed", {"ranks=1", "batch=8", "epochs=1", "save_at=1"}, {"ranks=3", "batch=8", "epochs=2"});
  std::set<std::string> drawn;
  const auto take = [&](const std::string& text) {
    const size_t at = text.find("drawn ");
    if (at != std::string::npos) drawn.insert(text.substr(at, text.find('\n', at) - at));
  };
  for (const auto& file : fs::recursive_directory_iterator(learners.folder / "resumed"))
    if (file.path().extension() == ".log") take(read_bytes(file.path()));
  take(learners.out("resumed"));
  CHECK(drawn.size() == 3);
}

TEST_CASE("data that each rank reads alone cannot be resumed on another number of ranks inside an epoch") {
  const Learners learners;
  const Flags lists = {"data=lists"};
  const std::string file = (learners.folder / "at.ckpt").string();
  learners.train("first", joined(lists, {"ranks=2", "save_at=1", "as=" + file}));
  CHECK(learners.run("three", joined(lists, {"ranks=3", "ckpt_path=" + file})) == 2);
  INFO(learners.log("three"));
  CHECK(contains(learners.log("three"), "was saved inside an epoch by 2 ranks, and there are 3 now"));
  CHECK(learners.run("one", joined(lists, {"ranks=1", "of=2", "ckpt_path=" + file})) == 2);
  CHECK(contains(learners.log("one"), "was saved inside an epoch by 2 ranks, and there are 1 now"));
}

TEST_CASE("steps are counted for the present number of ranks, also with an accumulation schedule") {
  const Learners learners;
  const auto steps = [&](const std::string& name, const Flags& flags) {
    learners.train(name, joined({"one_cycle=1", "lr=1"}, flags));
    const std::string out = learners.out(name);
    INFO(out);
    const size_t estimated = out.find("estimated ") + 10, made = out.find("made ") + 5;
    CHECK(std::stoll(out.substr(estimated)) == std::stoll(out.substr(made)));
    return std::stoll(out.substr(made));
  };
  CHECK(steps("one", kOneRank) == 6);
  CHECK(steps("two", kTwoRanks) == 6);
  CHECK(steps("zero1", joined(kTwoRanks, {"strategy=zero1"})) == 6);
  CHECK(steps("four", joined(kFourRanks, {"k=2"})) == 4);
  CHECK(steps("table", joined(kTwoRanks, {"table=1"})) == 3);
  CHECK(steps("limited", joined(kTwoRanks, {"limit=2"})) == 4);
  CHECK(steps("lists", {"data=lists", "ranks=2"}) == 8);
  // The rate has reached the end of its schedule.
  learners.ends_as("two", "one", 1e-10);
}

TEST_CASE("an accumulation schedule is resumed, and keeps the global batch on another number of ranks") {
  const Learners learners;
  const Flags table = {"table=1", "samples=64", "epochs=2"};
  const Flags four = {"ranks=4", "batch=2"}, two = {"ranks=2", "batch=2", "keep=1"}, one = {"batch=2", "keep=1"};
  learners.train("unbroken", joined(table, four));
  learners.resume("same", joined(joined(table, four), {"save_at=5"}), joined(table, four));
  learners.ends_as("same", "unbroken", 0);
  learners.resume("two", joined(joined(table, four), {"save_at=2"}), joined(table, two));
  CHECK(difference(learners.weights("two"), learners.weights("unbroken")) < 1e-10);
  learners.resume("one", joined(joined(table, four), {"save_at=4"}), joined(table, one));
  CHECK(difference(learners.weights("one"), learners.weights("unbroken")) < 1e-10);
}

TEST_CASE("no part of a combined batch is empty if its loader has fewer samples left than ranks") {
  const Learners learners;
  // Rounds of 8: the first loader ends with one sample, the second with four.
  learners.train("two", {"data=two", "ranks=2", "samples=17"});
  learners.train("four", {"data=two", "ranks=4", "batch=2", "samples=17"});
}
