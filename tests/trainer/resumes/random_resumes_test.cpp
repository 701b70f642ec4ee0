// Trainings drawn at random: one that is killed or saved anywhere and resumed ends as the unbroken one, and ranks end
// as one process. LEVIN_RANDOM_CASES sets the number of each (scripts/soak has the long form), LEVIN_RANDOM_SEED the
// first. With LEVIN_RANDOM_ACCELERATOR=gpu they train on one GPU, which ends as the CPU.
#include <levin/core/state/state_file.h>
#include <levin/levin.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/environment_number.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/learner.h"
#include "tests/trainer/checkpoint/spawn.h"
#include "tests/trainer/resumes/random_case.h"

namespace fs = std::filesystem;

namespace {

/// The runs of one case, each in its own folder.
struct CaseRuns {
  explicit CaseRuns(RandomCase which) : drawn(std::move(which)) {}

  /// Runs the case to its end; returns the exit code.
  int run(const std::string& name, std::vector<std::string> what,
          const std::string& accelerator = RandomCase::accelerator()) const {
    const char* const program = std::getenv("LEVIN_CASE_RUNNER");
    REQUIRE(program != nullptr);
    fs::create_directories(folder / name);
    std::vector<std::string> words = {program, (folder / name).string(), std::to_string(drawn.number),
                                      drawn.comparable ? "1" : "0"};
    words.insert(words.end(), what.begin(), what.end());
    return Spawned(words, log_file(name), {"OMP_NUM_THREADS=1", "LEVIN_RANDOM_ACCELERATOR=" + accelerator}).wait();
  }
  fs::path log_file(const std::string& name) const { return folder / (name + ".log"); }
  std::string log(const std::string& name) const { return read_bytes(log_file(name)); }

  /// Returns the run's folder: a run that was killed before its first checkpoint starts again in a new one.
  fs::path ended(const std::string& name) const {
    for (const auto& entry : fs::directory_iterator(folder / name / "run"))
      if (fs::exists(entry.path() / "weights.pt")) return entry.path();
    FAIL("no run of " << name << " has ended: " << log(name));
    return {};
  }
  levin::State final_state(const std::string& name) const { return levin::load_state(folder / name / "final.ckpt"); }
  int64_t events(const std::string& name, int64_t rank) const {
    return std::stoll(read_bytes(folder / name / ("events_of_rank_" + std::to_string(rank))));
  }

  RandomCase drawn;
  TemporaryFolder folder;
};

/// Keys of times, of the session and its files, and of logged values, which the rows show.
const std::set<std::string> kOfThisSession = {
    "elapsed_seconds", "validated_seconds", "saved_at", "config", "loggers", "run", "logged"};

/// Returns the first difference between two trees as a path of keys; empty if they are equal to the bit.
std::string difference(const levin::State& a, const levin::State& b, const std::string& path = "") {
  if (std::string(a.kind()) != b.kind()) return path + " (" + a.kind() + ", " + b.kind() + ")";
  if (a.is_tensor()) {
    const at::Tensor one = a.to_tensor(), other = b.to_tensor();
    const bool equal = one.dtype() == other.dtype() && one.sizes() == other.sizes() && torch::equal(one, other);
    return equal ? "" : path;
  }
  if (a.is_dict()) {
    for (const auto& [key, value] : a.to_dict()) {
      const std::string name = levin::to_text(key);
      // Files have names in the folder that they were written to.
      if (kOfThisSession.count(name) != 0 || name.rfind("ModelCheckpoint", 0) == 0) continue;
      const levin::State* const other = b.find(key);
      if (other == nullptr) return path + "/" + name + " (missing)";
      if (const std::string found = difference(value, *other, path + "/" + name); !found.empty()) return found;
    }
    return a.size() == b.size() ? "" : path + " (other keys)";
  }
  if (a.is_list() || a.is_tuple()) {
    if (a.size() != b.size()) return path + " (sizes)";
    for (size_t i = 0; i < a.size(); ++i)
      if (const std::string found = difference(a.items()[i], b.items()[i], path + "/" + std::to_string(i));
          !found.empty())
        return found;
    return "";
  }
  if (a.is_none()) return "";
  const bool equal = a.is_bool()    ? a.to_bool() == b.to_bool()
                     : a.is_int()   ? a.to_int() == b.to_int()
                     : a.is_float() ? a.to_double() == b.to_double() ||
                                          (a.to_double() != a.to_double() && b.to_double() != b.to_double())
                     : a.is_string() ? a.to_string() == b.to_string()
                                     : a.to_bytes() == b.to_bytes();
  return equal ? "" : path;
}

/// Returns the names of the ModelCheckpoints' files, without folders, and their best scores.
std::string best_models(const levin::State& checkpoint) {
  std::string all;
  for (const auto& [key, value] : checkpoint.at("callbacks").to_dict()) {
    const std::string name = levin::to_text(key);
    if (name.rfind("ModelCheckpoint", 0) != 0) continue;
    for (const char* what : {"best_model_path", "last_model_path"}) {
      const std::string path = value.at(what).to_string();
      all += fs::path(path).filename().string() + " ";
    }
    const levin::State& score = value.at("best_model_score");
    if (score.is_tensor()) all += std::to_string(score.to_tensor().item<double>()) + " ";
  }
  return all;
}

void check_ends_alike(const CaseRuns& runs, const std::string& name, bool all_rows) {
  const std::vector<std::string> rows = rows_in(runs.ended(name)), expected = rows_in(runs.ended("unbroken"));
  CHECK(difference(runs.final_state("unbroken"), runs.final_state(name)) == "");
  CHECK((read_bytes(runs.ended(name) / "weights.pt") == read_bytes(runs.ended("unbroken") / "weights.pt")));
  if (all_rows) {
    CHECK(rows == expected);
    CHECK(best_models(runs.final_state(name)) == best_models(runs.final_state("unbroken")));
    return;
  }
  // A run resumed in another folder has only the rows after the checkpoint.
  REQUIRE(rows.size() <= expected.size());
  CHECK(rows == std::vector<std::string>(expected.end() - static_cast<std::ptrdiff_t>(rows.size()), expected.end()));
}

void check_whole(const fs::path& root) {
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".ckpt") CHECK_NOTHROW(levin::load_state(entry.path()));
}

/// Kills the run a few times, then lets it end.
void kill_and_resume(const CaseRuns& runs, random_case::Dice& dice) {
  const int64_t kills = dice.between(1, 3);
  for (int64_t i = 0; i < kills; ++i) {
    const int64_t rank = dice.between(0, runs.drawn.ranks - 1);
    const int64_t moment = dice.between(1, runs.events("unbroken", rank));
    INFO("killed rank " << rank << " at event " << moment);
    const int code = runs.run("killed", {"kill", std::to_string(rank), std::to_string(moment)});
    INFO(runs.log("killed"));
    if (code == 0) break;  // the rest of the run had fewer events
    const bool was_killed = code == -SIGKILL || code == 128 + SIGKILL;
    CHECK(was_killed);
    if (!was_killed) return;
    check_whole(runs.folder / "killed");
  }
  // A kill may come after the fit and before the compared state is saved.
  const bool has_ended = fs::exists(runs.folder / "killed" / "final.ckpt");
  if (!has_ended) {
    const int code = runs.run("killed", {"resume", "last"});
    INFO(runs.log("killed"));
    CHECK(code == 0);
    if (code != 0) return;
  }
  check_ends_alike(runs, "killed", /*all_rows=*/true);
}

/// Saves the run in a hook, and resumes in another folder.
void save_and_resume(const CaseRuns& runs, random_case::Dice& dice) {
  using levin::Hook;
  constexpr Hook kHooks[] = {Hook::on_train_batch_start,     Hook::on_before_backward,      Hook::on_after_backward,
                             Hook::on_before_optimizer_step, Hook::on_train_batch_end,      Hook::on_train_epoch_start,
                             Hook::on_validation_batch_end,  Hook::on_validation_epoch_end, Hook::on_train_epoch_end};
  Hook hook = kHooks[dice.between(0, std::size(kHooks) - 1)];
  // A rank whose batch weighs nothing, or is skipped, has no backward, and all must ask in the same batch.
  const bool all_go_back = runs.drawn.ranks == 1 || !(runs.drawn.weights_are_counts || runs.drawn.skips_batches);
  if (!all_go_back && (hook == Hook::on_before_backward || hook == Hook::on_after_backward))
    hook = Hook::on_train_batch_end;
  // A rank without a part of a validation's last round calls the hook less often.
  const int64_t last_round = random_case::kValidationSamples % (runs.drawn.ranks * runs.drawn.batch_size);
  if (hook == Hook::on_validation_batch_end && last_round != 0 && last_round < runs.drawn.ranks)
    hook = Hook::on_validation_epoch_end;
  const int64_t call = dice.between(1, hook == Hook::on_train_epoch_end || hook == Hook::on_train_epoch_start ? 2 : 12);
  const std::string file = (runs.folder / "saved.ckpt").string();
  INFO("saved in hook " << static_cast<int>(hook) << ", call " << call);
  int code = runs.run("saved", {"save", std::to_string(static_cast<int>(hook)), std::to_string(call), file});
  INFO(runs.log("saved"));
  CHECK(code == 0);
  if (code != 0) return;
  check_ends_alike(runs, "saved", /*all_rows=*/true);
  if (!fs::exists(file)) return;  // the hook was called less often
  // Resuming a run that ended by a stop request means to train on.
  if (!levin::load_state(file).at("levin").at("stop_reason").is_none()) return;
  code = runs.run("resumed", {"resume", file});
  INFO(runs.log("resumed"));
  CHECK(code == 0);
  if (code != 0) return;
  check_ends_alike(runs, "resumed", /*all_rows=*/false);
}

/// Returns the checkpoints that a run has saved inside of it.
std::vector<fs::path> checkpoints_of(const CaseRuns& runs, const std::string& name) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(runs.ended(name) / "checkpoints"))
    if (entry.path().extension() == ".ckpt" && entry.path().filename() != "last.ckpt") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

int64_t steps_of(const levin::State& checkpoint) {
  return checkpoint.at("levin").at("trainer").at("global_step").to_int();
}

/// Checks that two runs end with the same weights and newest checkpoints, and that the second has the first's last
/// rows.
/// `resumed_from`: the checkpoint from which the second began; null if it began anew.
void check_same_end(const CaseRuns& runs, const std::string& one, const std::string& other,
                    const levin::State* resumed_from) {
  const std::vector<std::string> expected = rows_in(runs.ended(one)), rows = rows_in(runs.ended(other));
  CHECK((read_bytes(runs.ended(one) / "weights.pt") == read_bytes(runs.ended(other) / "weights.pt")));
  REQUIRE(rows.size() <= expected.size());
  CHECK(rows == std::vector<std::string>(expected.end() - static_cast<std::ptrdiff_t>(rows.size()), expected.end()));
  const fs::path last = fs::path("checkpoints") / "last.ckpt";
  // A run that is resumed where it ended trains and saves nothing.
  if (!fs::exists(runs.ended(other) / last) && rows.size() < expected.size()) return;
  const levin::State state = levin::load_state(runs.ended(one) / last);
  if (resumed_from && steps_of(*resumed_from) == steps_of(state)) return;
  CHECK(difference(state, levin::load_state(runs.ended(other) / last)) == "");
}

double difference_of_weights(const levin::State& a, const levin::State& b) {
  double largest = 0;
  for (const auto& [key, value] : a.to_dict()) {
    const at::Tensor one = value.to_tensor(), other = b.at(key).to_tensor();
    const double distance = (one.to(torch::kDouble) - other.to(torch::kDouble)).abs().max().item<double>();
    largest = std::isnan(distance) ? distance : std::max(largest, distance);
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

/// Checks that two lists of rows have the same names and nearly the same values.
void check_rows_close(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto one = nlohmann::json::parse(a[i]), other = nlohmann::json::parse(b[i]);
    INFO(a[i] << "\n" << b[i]);
    REQUIRE(one.size() == other.size());
    for (const auto& [name, value] : one.items()) {
      REQUIRE(other.contains(name));
      if (value.is_number() && other[name].is_number())
        CHECK(std::abs(value.get<double>() - other[name].get<double>()) < 1e-6);
      else
        CHECK(value == other[name]);
    }
  }
}

/// Few cases may all be refused by chance.
void check_few_refused(int64_t refused, int64_t cases) { CHECK((cases < 8 || refused * 5 <= cases)); }

}  // namespace

TEST_CASE("a training drawn at random that is killed or saved anywhere, and resumed, ends as the unbroken one") {
  const int64_t cases = number_from_environment("LEVIN_RANDOM_CASES", 8),
                first = number_from_environment("LEVIN_RANDOM_SEED", 20);
  int64_t refused = 0;
  for (int64_t number = first; number < first + cases; ++number) {
    const CaseRuns runs(RandomCase::draw(static_cast<uint64_t>(number), /*comparable=*/false));
    INFO(runs.drawn.describe());
    const int code = runs.run("unbroken", {"run"});
    INFO(runs.log("unbroken"));
    if (code == 2) {
      ++refused;
      continue;
    }
    CHECK(code == 0);
    if (code != 0) continue;
    random_case::Dice dice(static_cast<uint64_t>(number) * 7919);
    if (dice.one_in(2))
      kill_and_resume(runs, dice);
    else
      save_and_resume(runs, dice);
  }
  std::cout << cases << " random resumes from case " << first << ", " << refused << " of them refused\n";
  check_few_refused(refused, cases);
}

TEST_CASE("a training drawn at random ends on several ranks as in one process") {
  const int64_t cases = number_from_environment("LEVIN_RANDOM_CASES", 8),
                first = number_from_environment("LEVIN_RANDOM_SEED", 20);
  int64_t refused = 0;
  for (int64_t number = first; number < first + cases; ++number) {
    const CaseRuns runs(RandomCase::draw(static_cast<uint64_t>(number), /*comparable=*/true));
    INFO(runs.drawn.describe());
    int code = runs.run("one", {"one"}, "cpu");
    INFO(runs.log("one"));
    if (code == 2) {
      ++refused;
      continue;
    }
    CHECK(code == 0);
    code = runs.run("ranks", {RandomCase::accelerator() == "cpu" ? "run" : "one"});
    INFO(runs.log("ranks"));
    CHECK(code == 0);
    if (code != 0) continue;
    // Adam divides the rounding of a bias's gradient before a batch norm, which is zero, by its size.
    const double within = runs.drawn.sync_batch_norm ? 1e-6 : 1e-9;
    CHECK(difference_of_weights(levin::load_state(runs.ended("ranks") / "weights.pt"),
                                levin::load_state(runs.ended("one") / "weights.pt")) < within);
    check_rows_close(rows_in(runs.ended("ranks")), rows_in(runs.ended("one")));
  }
  std::cout << cases << " random trainings on ranks from case " << first << ", " << refused << " of them refused\n";
  check_few_refused(refused, cases);
}

TEST_CASE("a training drawn at random ends by steps of a session as by fit, and each continues the other") {
  const int64_t cases = number_from_environment("LEVIN_RANDOM_CASES", 8),
                first = number_from_environment("LEVIN_RANDOM_SEED", 20);
  int64_t refused = 0;
  for (int64_t number = first; number < first + cases; ++number) {
    const CaseRuns runs(RandomCase::draw(static_cast<uint64_t>(number), /*comparable=*/false));
    INFO(runs.drawn.describe());
    const int code = runs.run("fit", {"fit"});
    INFO(runs.log("fit"));
    if (code == 2) {
      ++refused;
      continue;
    }
    CHECK(code == 0);
    const auto run_and_compare = [&](const std::string& name, const std::vector<std::string>& what,
                                     const levin::State* resumed_from = nullptr) {
      const int ended = runs.run(name, what);
      INFO(name << ": " << runs.log(name));
      CHECK(ended == 0);
      if (ended == 0) check_same_end(runs, "fit", name, resumed_from);
      return ended == 0;
    };
    if (code != 0 || !run_and_compare("session", {"session"})) continue;
    CHECK(rows_in(runs.ended("session")).size() == rows_in(runs.ended("fit")).size());
    random_case::Dice dice(static_cast<uint64_t>(number) * 104729);
    for (const bool by_session : {true, false}) {
      const std::vector<fs::path> files = checkpoints_of(runs, by_session ? "fit" : "session");
      if (files.empty()) continue;
      const fs::path file = files[static_cast<size_t>(dice.between(0, static_cast<int64_t>(files.size()) - 1))];
      const levin::State saved = levin::load_state(file);
      if (!saved.at("levin").at("stop_reason").is_none()) continue;
      INFO("from " << file);
      run_and_compare(by_session ? "session_of_fit" : "fit_of_session",
                      {by_session ? "resume_session" : "resume_fit", file.string()}, &saved);
    }
  }
  std::cout << cases << " random sessions from case " << first << ", " << refused << " of them refused\n";
  check_few_refused(refused, cases);
}
