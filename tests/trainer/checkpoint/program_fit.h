#pragma once
#include <levin/levin.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/checkpoint/learner.h"
#include "tests/trainer/checkpoint/spawn.h"

/// Fits of the program in a temporary folder.
struct ProgramFit {
  /// Each epoch has 100 batches. `epochs` must be large enough for a signal to come before the end on any machine.
  explicit ProgramFit(int epochs = 20) {
    write_bytes(folder / "config.json", R"({
      "seed": 3, "name": "run",
      "trainer": {"max_epochs": )" + std::to_string(epochs) +
                                            R"(, "limit_train_batches": 100, "limit_val_batches": 2,
                  "log_every_n_steps": 1, "enable_progress_bar": false, "enable_model_summary": false},
      "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "Adam", "lr": 0.001}},
      "data": {"class": "SyntheticDigits", "train_size": 3200, "val_size": 640, "batch_size": 32}})");
  }

  Spawned start(const std::vector<std::string>& flags, const std::vector<std::string>& variables = {},
                const std::string& log_name = "log", const std::string& command = "fit") const {
    const char* program = std::getenv("LEVIN_PROGRAM");
    REQUIRE(program != nullptr);
    std::vector<std::string> arguments = {
        program, command, "--config", (folder / "config.json").string(), "--default-root-dir", folder.path().string()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Spawned(arguments, folder / log_name, variables);
  }

  std::filesystem::path run(int version = 0) const { return folder / "run" / ("version_" + std::to_string(version)); }
  size_t rows(int version = 0) const { return rows_in(run(version)).size(); }
  std::string log(const std::string& name = "log") const { return read_bytes(folder / name); }

  /// Waits until the run has logged `count` rows.
  void wait_for_rows(size_t count, int version = 0) const {
    for (int i = 0; i < 6000 && rows(version) < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(rows(version) >= count);
  }

  TemporaryFolder folder;
};
