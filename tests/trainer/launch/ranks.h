#pragma once
#include <levin/core/state/state_file.h>
#include <levin/levin.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/spawn.h"

/// Fits of the program with a given config, in a temporary folder.
struct RankedFits {
  using Flags = std::vector<std::string>;

  /// Trains `net` on `samples` synthetic digits, in batches of 64.
  explicit RankedFits(const std::string& net = "mlp", const std::string& precision = "64-true", int64_t samples = 230)
      : samples_(samples) {
    write_bytes(folder / "config.json",
                R"({"seed": 3, "name": "run",
      "trainer": {"max_epochs": 3, "accelerator": "cpu", "log_every_n_steps": 1, "enable_progress_bar": false,
                  "enable_model_summary": false, "num_sanity_val_steps": 0, "timeout_seconds": 60, "precision": ")" +
                    precision + R"("},
      "model": {"class": "ImageClassifier", "net": ")" +
                    net + R"(", "optimizer": {"class": "SGD", "lr": 0.05, "momentum": 0.9}},
      "data": {"class": "SyntheticDigits", "train_size": )" +
                    std::to_string(samples) + R"(, "val_size": 71, "batch_size": 64}})");
  }

  std::vector<std::string> command(const std::string& name, const Flags& flags) const {
    const char* const program = std::getenv("LEVIN_PROGRAM");
    REQUIRE(program != nullptr);
    std::vector<std::string> words = {
        program, "fit", "--config", (folder / "config.json").string(), "--default-root-dir", (folder / name).string()};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }

  /// Starts a fit called `name`, through `launcher` if that is given.
  Spawned start(const std::string& name, const Flags& flags, const Flags& launcher = {},
                const std::vector<std::string>& variables = {}) const {
    std::vector<std::string> words = launcher;
    const std::vector<std::string> fit = command(name, flags);
    words.insert(words.end(), fit.begin(), fit.end());
    return Spawned(words, folder / (name + ".log"), variables);
  }

  /// Runs a fit to its end; returns its weights.
  std::vector<torch::Tensor> weights(const std::string& name, const Flags& flags, const Flags& launcher = {}) const {
    const int code = start(name, flags, launcher).wait();
    INFO(name << ": " << log(name));
    REQUIRE(code == 0);
    return saved_weights(name);
  }
  /// Runs a fit to its end; returns its output.
  std::string output(const std::string& name, const Flags& flags) const {
    std::string line;
    for (const std::string& word : command(name, flags)) line += "'" + word + "' ";
    const std::string out = (folder / (name + ".out")).string();
    const int status = std::system((line + "> '" + out + "' 2>&1").c_str());
    INFO(read_bytes(out));
    REQUIRE(status == 0);
    return read_bytes(out);
  }
  std::vector<torch::Tensor> saved_weights(const std::string& name) const {
    std::vector<torch::Tensor> tensors;
    const levin::State saved = levin::load_state(run(name) / "weights.pt");
    for (const auto& [key, value] : saved.to_dict()) tensors.push_back(value.to_tensor());
    return tensors;
  }

  /// Returns the logged values of a run, by step and name.
  std::map<std::string, double> rows(const std::string& name) const {
    std::map<std::string, double> values;
    std::ifstream in(run(name) / "metrics.jsonl");
    for (std::string line; std::getline(in, line);) {
      const levin::Json row = levin::Json::parse(line);
      for (const auto& [key, value] : row.items())
        if (value.is_number() && key != "step" && key != "epoch" && key != "wall_seconds")
          values[std::to_string(row["step"].get<int64_t>()) + " " + key] = value.get<double>();
    }
    return values;
  }

  std::filesystem::path run(const std::string& name, int version = 0) const {
    return folder / name / "run" / ("version_" + std::to_string(version));
  }
  std::string log(const std::string& name) const { return read_bytes(folder / (name + ".log")); }

  TemporaryFolder folder;

 private:
  int64_t samples_;
};

inline RankedFits::Flags joined(RankedFits::Flags a, const RankedFits::Flags& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline const RankedFits::Flags kAdam = {"--model.optimizer.class", "Adam", "--model.optimizer.lr", "0.01"};

/// Returns the command that starts two ranks by torchrun; empty if LEVIN_TEST_PYTHON is not set.
inline RankedFits::Flags torchrun(const RankedFits::Flags& more = {}) {
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') {
    WARN("skipped: LEVIN_TEST_PYTHON names no Python with torch");
    return {};
  }
  return joined({python, "-m", "torch.distributed.run", "--no-python", "--nnodes", "1", "--nproc-per-node", "2",
                 "--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"},
                more);
}

inline double difference(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, (a[i].to(torch::kDouble) - b[i].to(torch::kDouble)).abs().max().item<double>());
  return largest;
}

/// Returns the largest difference between values of the same name; both must have the same names.
inline double difference(const std::map<std::string, double>& a, const std::map<std::string, double>& b) {
  double largest = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [name, value] : a) {
    INFO(name);
    REQUIRE(b.count(name) == 1);
    largest = std::max(largest, std::abs(value - b.at(name)));
  }
  return largest;
}

/// Checks that ranks with `ranks` flags, whose batches add up to 64 samples, give the result of one process; both use
/// `flags`.
inline void ends_as_one_process(const RankedFits& fits, const RankedFits::Flags& flags, const RankedFits::Flags& ranks,
                                double within) {
  const std::string number = std::to_string(std::rand());
  const auto expected = fits.weights("one" + number, flags);
  CHECK(difference(fits.weights("ranks" + number, joined(flags, ranks)), expected) < within);
  CHECK(difference(fits.rows("ranks" + number), fits.rows("one" + number)) < 1e3 * within);
}
