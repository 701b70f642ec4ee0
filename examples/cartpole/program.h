#pragma once
// What the programs that learn to balance the cart-pole share: flags, options, a clock, the line at the end.
#include <levin/levin.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

struct Arguments {
  Arguments(int argc, char** argv) {
    std::map<std::string, std::string> given = {
        {"--seed", "1"}, {"--root", ""}, {"--target", "475"}, {"--steps", "500000"}};
    for (int i = 1; i + 1 < argc; i += 2) given.at(argv[i]) = argv[i + 1];
    seed = std::stoll(given["--seed"]);
    root = given["--root"];
    target = std::stod(given["--target"]);
    steps = std::stoll(given["--steps"]);
  }

  /// Quiet options: nothing is written, unless `root` is given.
  levin::TrainerOptions trainer_options(const std::string& name) const {
    levin::TrainerOptions options{.logger = false, .max_epochs = -1};
    options.enable_checkpointing = options.enable_progress_bar = options.enable_model_summary = false;
    options.name = name;
    options.num_threads = 1;
    if (root.empty()) return options;
    options.default_root_dir = root;
    options.enable_checkpointing = true;
    options.callbacks = {levin::ModelCheckpoint({.every_n_train_steps = 50})};
    return options;
  }

  /// A run that was broken off goes on. Its checkpoints wait for Session::save, where the program's state fits them.
  levin::SessionOptions session_options() const {
    return {.ckpt_path = root.empty() ? "" : "last", .host_saves = true};
  }

  int64_t seed = 1, steps = 0;  ///< at most so many steps of the environments
  double target = 0;            ///< the mean return that ends the training
  std::string root = {};        ///< the folder of the runs; empty: the run leaves no files
};

class Stopwatch {
 public:
  void stop() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  void go_on() { begin_ = Clock::now(); }
  double seconds() {
    stop();
    go_on();
    return seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  double seconds_ = 0;
};

inline void print_result(const std::string& algorithm, int64_t seed, double seconds, int64_t steps, double result) {
  std::cout << "{\"algorithm\": \"" << algorithm << "\", \"seed\": " << seed << ", \"seconds\": " << seconds
            << ", \"steps\": " << steps << ", \"return\": " << result << "}\n";
}
