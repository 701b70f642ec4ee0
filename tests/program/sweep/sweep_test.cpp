// Sweeps in processes: kills, failures, wrong arguments.
#include <levin/core/options/option.h>
#include <levin/data/files/csv_file.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/spawn.h"

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

/// A sweep in a folder of its own.
struct Sweep {
  explicit Sweep(Words more_, std::string name = "sweep") : more(std::move(more_)), sweep(folder / name) {}

  Words words() const {
    const char* const program = std::getenv("LEVIN_SWEEP_PROGRAM");
    REQUIRE(program != nullptr);
    Words all = {program,
                 "sweep",
                 "--model.class",
                 "Slope",
                 "--data.class",
                 "Points",
                 "--seed",
                 "3",
                 "--log-every-n-steps",
                 "1",
                 "--enable-progress-bar",
                 "false",
                 "--accelerator",
                 "cpu",
                 "--folder",
                 sweep.string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Spawned start() const { return Spawned(words(), log()); }
  int run() const { return start().wait(); }
  fs::path log() const { return folder / "log"; }
  std::string errors() const { return read_bytes(log()); }
  std::string table() const { return read_bytes(sweep / "trials.csv"); }
  /// The number of events in the journal.
  int64_t events() const {
    if (!fs::exists(sweep / "sweep.jsonl")) return 0;
    const std::string text = read_bytes(sweep / "sweep.jsonl");
    return std::count(text.begin(), text.end(), '\n') - 1;
  }
  void wait_for(int64_t count) const {
    for (int i = 0; i < 60'000 && events() < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    REQUIRE(events() >= count);
  }
  /// Returns the column of the table, by trial.
  std::map<std::string, std::string> column(const std::string& name) const {
    const std::string text = table();
    levin::data::CsvReader reader(text, "trials.csv");
    std::map<std::string, std::string> values;
    while (reader.next()) values[std::string(reader[0])] = std::string(reader[reader.column(name)]);
    return values;
  }

  TemporaryFolder folder = {};
  Words more;
  fs::path sweep;
};

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

void kill_and_wait(Spawned& running) {
  const std::vector<pid_t> children = children_of(running.id());
  ::kill(running.id(), SIGKILL);
  CHECK(running.wait() == -SIGKILL);
  // Its trials die with it.
  for (const pid_t child : children)
    for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// Kills the sweep twice and one of its trials, and resumes the sweep after each kill.
void check_survives_kills(const Words& flags, int64_t first, int64_t second) {
  Words of_unbroken = flags, of_broken = flags;
  of_unbroken.insert(of_unbroken.end(), {"--jobs", "2"});
  of_broken.insert(of_broken.end(), {"--jobs", "3"});
  const Sweep unbroken(of_unbroken), broken(of_broken);
  const int code = unbroken.run();
  INFO(unbroken.errors());
  REQUIRE(code == 0);
  {
    Spawned running = broken.start();
    broken.wait_for(first / 2);
    for (const pid_t child : children_of(running.id())) {
      ::kill(child, SIGKILL);
      break;
    }
    broken.wait_for(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    kill_and_wait(running);
  }
  CHECK_FALSE(fs::exists(broken.sweep / "trials.csv"));
  std::ofstream(broken.sweep / "sweep.jsonl", std::ios::app) << "{\"trial\":1,\"ev";  // a line that was cut
  {
    Spawned running = broken.start();
    broken.wait_for(second);
    kill_and_wait(running);
  }
  CHECK(broken.run() == 0);
  INFO(broken.errors());
  CHECK(broken.table() == unbroken.table());
  CHECK(read_bytes(broken.sweep / "best.json") == read_bytes(unbroken.sweep / "best.json"));
}

}  // namespace

TEST_CASE("a random sweep of 16 trials that is killed twice ends with the table of the unbroken one") {
  check_survives_kills({"--model.lr", "1e-3:1:log", "--model.width", "1:8", "--trials", "16", "--max-epochs", "3",
                        "--model.pause", "4", "--model.mishap", "none,throw"},
                       4, 9);
}

TEST_CASE("successive halving that is killed twice ends with the table of the unbroken one") {
  check_survives_kills({"--method", "asha", "--model.lr", "1e-3:1:log", "--model.width", "1:8", "--trials", "12",
                        "--max-epochs", "4", "--reduction-factor", "2", "--model.pause", "4"},
                       6, 14);
}

TEST_CASE(
    "trials that halving stops have trained for their rung, and those that go on are the run that never stopped") {
  const Words flags = {"--model.lr", "1e-3:1:log", "--trials", "6", "--max-epochs", "4", "--jobs", "2"};
  Words of_halving = flags;
  of_halving.insert(of_halving.end(), {"--method", "asha", "--reduction-factor", "2"});
  const Sweep halving(of_halving), whole(flags);
  REQUIRE(halving.run() == 0);
  REQUIRE(whole.run() == 0);
  const auto epochs = halving.column("epochs"), values = halving.column("val_loss"), all = whole.column("val_loss");
  const auto rates = halving.column("model.lr");
  CHECK(rates == whole.column("model.lr"));
  std::map<std::string, int64_t> counts;
  for (const auto& [trial, count] : epochs) {
    ++counts[count];
    INFO("trial " << trial << ", " << count << " epochs");
    if (count == "4") CHECK(values.at(trial) == all.at(trial));
    CHECK(halving.column("status").at(trial) == (count == "4" ? "completed" : "stopped"));
  }
  CHECK(counts["4"] >= 1);
  CHECK(counts["4"] < 6);
  CHECK(counts["1"] >= 1);
}

TEST_CASE("trials that had ended when their sweep was killed, before it wrote that down, are not trained on") {
  const Sweep sweep({"--method", "asha", "--model.lr", "1e-3:1:log", "--trials", "6", "--max-epochs", "4",
                     "--reduction-factor", "2", "--jobs", "2"});
  REQUIRE(sweep.run() == 0);
  const std::string table = sweep.table(), journal = read_bytes(sweep.sweep / "sweep.jsonl");
  // The events of the last trials of each rung are lost.
  std::istringstream lines(journal);
  std::string kept;
  std::map<int64_t, int64_t> last_rung;
  for (std::string line; std::getline(lines, line);) {
    const levin::Json event = levin::Json::parse(line);
    if (event.contains("trial")) last_rung[event["trial"]] = event["rung"];
  }
  lines = std::istringstream(journal);
  for (std::string line; std::getline(lines, line);) {
    const levin::Json event = levin::Json::parse(line);
    if (!event.contains("trial") || event["rung"] < last_rung[event["trial"]] || event["trial"] == 0)
      kept += line + "\n";
  }
  REQUIRE(kept.size() < journal.size());
  write_bytes(sweep.sweep / "sweep.jsonl", kept);
  CHECK(sweep.run() == 0);
  CHECK(sweep.table() == table);
}

TEST_CASE("trials that fail, are killed or become NaN are rows, and the sweep goes on") {
  const Sweep sweep({"--model.mishap", "throw,none,kill,nan,kill_once", "--max-epochs", "3", "--jobs", "2"});
  const int code = sweep.run();
  INFO(sweep.errors());
  REQUIRE(code == 0);
  const auto status = sweep.column("status"), errors = sweep.column("error"), values = sweep.column("val_loss");
  CHECK(status == std::map<std::string, std::string>{
                      {"0", "failed"}, {"1", "completed"}, {"2", "failed"}, {"3", "completed"}, {"4", "completed"}});
  CHECK(contains(errors.at("0"), "the step \"failed\", badly"));
  CHECK(errors.at("2") == "its process was ended by SIGKILL, 3 times");
  CHECK(values.at("3").empty());
  CHECK(values.at("4") == values.at("1"));  // the run that was killed once goes on as it would have
  const levin::Json best = levin::Json::parse(read_bytes(sweep.sweep / "best.json"));
  CHECK(best["model"]["mishap"] == "none");
  CHECK(best["name"] == "levin_logs");
  CHECK(contains(read_bytes(sweep.sweep / "report.html"), "trial_001/version_0"));
  const int64_t events = sweep.events();
  REQUIRE(sweep.run() == 0);  // which has nothing to do
  CHECK(sweep.events() == events);
  Sweep again({});
  fs::copy(sweep.sweep, again.sweep, fs::copy_options::recursive);
  again.more = sweep.more;
  again.more.emplace_back("--retry-failed");
  CHECK(again.run() == 0);
  CHECK(again.column("status") == status);
  CHECK(again.events() > events);
}

TEST_CASE("a sweep that is stopped says so, and goes on with more trials") {
  Sweep sweep({"--model.lr", "1e-3:1:log", "--max-epochs", "3", "--model.pause", "10", "--trials", "4"});
  {
    Spawned running = sweep.start();
    sweep.wait_for(1);
    ::kill(running.id(), SIGTERM);
    CHECK(running.wait() == 128 + SIGTERM);
  }
  CHECK(sweep.events() < 4);
  sweep.more.back() = "6";
  REQUIRE(sweep.run() == 0);
  CHECK(sweep.column("status").size() == 6);
  const Sweep whole({"--model.lr", "1e-3:1:log", "--max-epochs", "3", "--model.pause", "10", "--trials", "6"});
  REQUIRE(whole.run() == 0);
  CHECK(whole.table() == sweep.table());
}

TEST_CASE("what is wrong with a sweep is said before anything runs") {
  const auto error_of = [](const Words& more) {
    const Sweep sweep(more);
    CHECK(sweep.run() == 2);
    CHECK_FALSE(fs::exists(sweep.sweep));
    return sweep.errors();
  };
  CHECK(contains(error_of({"--model.widht", "1,2"}), "--model.widht: no such flag (did you mean --model.width?)"));
  CHECK(contains(error_of({"--model.width", "8:2"}), "the range is empty"));
  CHECK(contains(error_of({"--model.width", "0:8:log", "--trials", "3"}), "begins above 0"));
  CHECK(contains(error_of({"--model.width", "4,0"}),
                 "with model.width=0: --model.width: model.width: expected at least 1"));
  CHECK(contains(error_of({"--model.mishap", "none,thorw"}), "expected one of none, throw"));
  CHECK(contains(error_of({"--model.lr", "0.1"}), "no option has several values"));
  CHECK(contains(error_of({"--model.lr", "1e-3:1"}), "a grid needs the number of points"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--trials", "2", "--method", "grid"}), "a grid has all combinations"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--method", "random"}), "--trials: missing"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--method", "bayes"}),
                 "expected one of grid, random, asha, got \"bayes\""));
  CHECK(contains(error_of({"--model.lr", "1,2", "--method", "asha", "--trials", "9"}), "--max-epochs is missing"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--ckpt-path", "last"}), "trials begin at their beginning"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--logger", "false"}), "a sweep reads the metrics of its trials"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--fast-dev-run", "2"}), "writes nothing to compare"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--cores", "100000"}), "--cores: expected at most"));
  CHECK(contains(error_of({"--model.lr", "1,2", "--on-gpus", "a"}), "expected numbers of GPUs"));
}

TEST_CASE("a folder of another sweep, or of something else, is refused; a metric that nobody logs ends the sweep") {
  Sweep sweep({"--model.lr", "0.1,0.2", "--max-epochs", "1"});
  REQUIRE(sweep.run() == 0);
  sweep.more[1] = "0.1,0.3";
  CHECK(sweep.run() == 2);
  CHECK(contains(sweep.errors(), "is the folder of another sweep"));
  CHECK(contains(sweep.errors(), "parameters.model.lr: \"0.1,0.3\" (it was \"0.1,0.2\")"));
  sweep.more = {"--model.lr", "0.1,0.2", "--max-epochs", "2"};
  CHECK(sweep.run() == 2);
  CHECK(contains(sweep.errors(), "config.trainer.max_epochs: 2 (it was 1)"));
  sweep.more = {"--model.lr", "0.1,0.2", "--max-epochs", "1", "--monitor", "train_loss"};
  CHECK(sweep.run() == 0);  // the runs are judged anew
  CHECK(contains(sweep.table(), "trial,status,epochs,train_loss,step"));
  std::ofstream(sweep.sweep / "sweep.jsonl", std::ios::app) << "no event\n";
  CHECK(sweep.run() == 2);
  CHECK(contains(sweep.errors(), "line 4 is damaged"));

  const Sweep quiet({"--model.lr", "0.1,0.2,0.3,0.4,0.5,0.6", "--max-epochs", "2", "--model.mishap", "quiet"});
  CHECK(quiet.run() == 2);
  CHECK(contains(quiet.errors(), "--monitor: no metric 'val_loss' was logged; there are: train_loss"));
  CHECK(quiet.events() < 6);

  const Sweep elsewhere({"--model.lr", "0.1,0.2"});
  fs::create_directories(elsewhere.sweep);
  write_bytes(elsewhere.sweep / "thesis.tex", "text");
  CHECK(elsewhere.run() == 2);
  CHECK(contains(elsewhere.errors(), "is there and no sweep's folder"));
  CHECK(fs::exists(elsewhere.sweep / "thesis.tex"));
}
