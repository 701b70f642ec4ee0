#include <levin/core/system/error.h>
#include <levin/program/runs/recorded_run.h>
#include <levin/program/runs/report.h>
#include <levin/program/runs/text_chart.h>
#include <levin/trainer/run_folder/config_changes.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/live_memory.h"

namespace levin::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using runs::RecordedRun;

/// Stands before the letter of a file, which stands before its contents.
constexpr char kRunFileMark = '\x1e';

/// Files of a run, by letter: "a" is the first.
constexpr std::array<const char*, 10> kRunFiles = {"run.json",
                                                   "config.json",
                                                   "summary.json",
                                                   "metrics.jsonl",
                                                   "metrics.csv",
                                                   "environment.json",
                                                   "classification/validate.json",
                                                   "classification/validate_samples.png",
                                                   "samples/epoch=1-step=3.png",
                                                   "checkpoints/epoch=0-step=3.ckpt"};

/// A folder in memory, if the system has one.
class FuzzedFolder {
 public:
  FuzzedFolder() {
    const fs::path memory = "/dev/shm";
    std::error_code ignored;
    path_ = (fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path()) /
            ("levin_fuzzed_run_" + std::to_string(::getpid()));
    fs::remove_all(path_);
  }
  ~FuzzedFolder() { clear(); }
  FuzzedFolder(const FuzzedFolder&) = delete;
  FuzzedFolder& operator=(const FuzzedFolder&) = delete;

  void write(std::string_view input) const {
    clear();
    for (const char* folder : {"classification", "samples", "checkpoints"}) fs::create_directories(path_ / folder);
    for (size_t at = input.find(kRunFileMark); at != input.npos && at + 1 < input.size();) {
      const size_t end = std::min(input.find(kRunFileMark, at + 1), input.size());
      const auto letter = static_cast<unsigned char>(input[at + 1] - 'a');
      const std::string_view contents = input.substr(at + 2, end - std::min(at + 2, end));
      std::ofstream(path_ / kRunFiles.at(letter % kRunFiles.size()), std::ios::binary) << contents;
      at = end < input.size() ? end : input.npos;
    }
  }
  const fs::path& path() const { return path_; }

 private:
  void clear() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path path_ = {};
};

std::string run_file(char letter, const std::string& contents) { return std::string{kRunFileMark, letter} + contents; }

/// What ls, compare, watch, report and serve ask of a run.
void show_run(const RecordedRun& run) {
  for (const auto& [name, series] : run.metrics) {
    expect(!series.values.empty() && series.values.size() == series.steps.size() &&
               series.values.size() == series.seconds.size(),
           "a metric has a step and a time for each value");
    const runs::Series thin = runs::thinned(series, 20);
    expect(thin.values.size() <= std::max<size_t>(series.values.size(), 20) &&
               thin.steps.front() == series.steps.front() && thin.steps.back() == series.steps.back(),
           "of a metric that is thinned the ends stay");
    for (const bool is_log : {false, true})
      for (const std::string& line : runs::text_chart(
               {{.series = &series}}, {.width = 60, .is_log = is_log, .has_axis = true, .smoothing = 0.5, .from = 0.5}))
        expect(runs::printable(line) == line, "a chart controls no terminal");
    run.best({.metric = name, .mode = levin::MetricMode::Max});
    run.last(name);
  }
  run.option("max_epochs");
  if (const auto best = run.best()) expect(run.metrics.contains(best->monitor.metric), "the best value is of a metric");
  const std::string text = runs::report_json({run});
  expect(text.find('<') == text.npos, "the data of a page have no tag");
  expect(ordered_json::parse(text, nullptr, /*allow_exceptions=*/false).is_object(), "the data of a page are JSON");
  const std::string config = run.config.dump();
  expect(config_changes(config, config).empty(), "a config does not differ from itself");
  config_changes(R"({"trainer": {"max_epochs": 3, "callbacks": []}, "model": {"class": "Net"}})", config);
}

}  // namespace

void fuzz_recorded_run(const std::string& input) try {
  static const FuzzedFolder folder;
  folder.write(input);
  constexpr size_t kMost = 64 << 20;
  const LiveMemory memory;
  show_run(runs::read_run(folder.path()));
  expect(memory.most() <= kMost, "a small run asks for little memory");
} catch (const UsageError&) {  // the folder is none of a run
}

const std::vector<std::string>& recorded_run_seeds() {
  static const std::vector<std::string> seeds = {
      run_file('a', R"({"id": "0"})") +
          run_file('b',
                   R"({"trainer": {"max_epochs": 3, "callbacks": [{"class": "ModelCheckpoint", "monitor": "val_acc",
 "mode": "max"}]}, "model": {"class": "Net", "lr": 1e-3}})") +
          run_file('c', R"({"status": "completed", "best_checkpoint": "epoch=0-step=3.ckpt"})") +
          run_file('d',
                   "{\"step\": 1, \"epoch\": 0, \"wall_seconds\": 0.5, \"train_loss\": 2.5}\n"
                   "{\"step\": 3, \"epoch\": 0, \"wall_seconds\": 1, \"train_loss\": \"NaN\", \"val_acc\": 0.5}\n"
                   "{\"step\": 4, \"val_acc\": \"-Infinity\"}\n{\"step\":") +
          run_file('f', R"({"sessions": [{"host": "a", "started": "x"}]})") +
          run_file('g', R"({"matrix": [[1, 2], [3, 4]], "samples_picture": true, "classes": ["a", "<b>"]})") +
          run_file('h', "\x89PNG\r\n") + run_file('i', "\x89PNG\r\n") + run_file('j', "PK"),
      run_file('e', "step,epoch,wall_seconds,loss,a\"b\n1,0,0.5,1e300,\n2,0,1,-1e300,inf\n3,0,2,nan,x\n"),
      run_file('d', R"({"step": 1e300, "epoch": -1e300, "wall_seconds": 1e400, "a": 1e16, "b": 1e16})") +
          run_file('b', R"({"trainer": [1]})"),
      run_file('a', std::string(2000, '[')) + run_file('b', std::string(2000, '[')) +
          run_file('d', std::string(2000, '{')),
      run_file('e', std::string(400, ',') + "\n" + std::string(400, ',') + "\n"),
      run_file('d', "{\"step\": 1, \"\x1b[31m\": 1}\n{\"step\": 2, \"\xc2\x9b\": 1}\n") +
          run_file('c', "{\"status\": \"\\u001b[2J\"}"),
  };
  return seeds;
}

}  // namespace levin::testing
