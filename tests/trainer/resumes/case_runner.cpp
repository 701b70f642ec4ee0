// Trains a random case in ROOT: `case_runner ROOT NUMBER COMPARABLE WHAT...`. Ranks are started by the trainer.
//
// WHAT: `run`; `kill RANK EVENT`, which ends that rank by SIGKILL at the event of this number: a batch's or an epoch's
// end, or a stage of writing a file; `save HOOK CALL FILE`, which requests a checkpoint in a hook; `resume FILE`, where
// FILE may be last; `one`, the case's training in one process with the batches of all ranks. Each rank writes the
// number of its events.
#include <levin/levin.h>
#include <levin/trainer/checkpoint/find_checkpoint.h>
#include <levin/trainer/core/state/atomic_file.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/trainer/checkpoint/save_in_hook.h"
#include "tests/trainer/resumes/case_training.h"

namespace {

std::atomic<int64_t> events{0}, events_left{-1};
std::filesystem::path root;

/// Returns whether the run has ended. A kill after that would make the next session train on.
bool has_ended() {
  std::error_code no_folder;
  return std::ranges::any_of(std::filesystem::directory_iterator(root / "run", no_folder),
                             [](const auto& run) { return levin::ended_in_order(run.path()); });
}

void event() {
  ++events;
  if (events_left > 0 && --events_left == 0 && !has_ended()) ::kill(::getpid(), SIGKILL);
}

int at_stage(const char*) {
  event();
  return 0;
}

struct Events : levin::Callback {
  void on_train_batch_end(levin::Run&) override { event(); }
  void on_validation_batch_end(levin::Run&) override { event(); }
  void on_train_epoch_end(levin::Run&) override { event(); }
};

std::string rank_of_process() {
  const char* const rank = std::getenv("RANK");
  return rank == nullptr ? "0" : rank;
}

}  // namespace

int main(int argc, char** argv) try {
  root = argv[1];
  RandomCase drawn = RandomCase::draw(std::stoull(argv[2]), argv[3] == std::string("1"));
  const std::string what = argv[4];
  const auto argument = [&](int number) { return std::string(4 + number < argc ? argv[4 + number] : ""); };
  int64_t batch_size = drawn.batch_size;
  if (what == "one") {
    batch_size *= drawn.ranks;
    drawn.ranks = 1;
  }
  levin::TrainerOptions options = random_case::options_of(drawn, root);
  options.callbacks.push_back(Events());
  if (what == "save")
    options.callbacks.push_back(
        SaveInHook(static_cast<levin::Hook>(std::stoi(argument(1))), std::stoi(argument(2)), argument(3)));
  levin::Trainer trainer(options);

  if (what == "kill" && rank_of_process() == argument(1)) events_left = std::stoll(argument(2));
  if (rank_of_process() == "0") levin::set_file_stage_hook(at_stage);
  const std::string ckpt_path = what == "resume" ? argument(1) : what == "kill" ? "last" : "";
  // If there is a checkpoint to resume, the module starts from other weights.
  const bool resumes = ckpt_path == "last" ? levin::newest_checkpoint(root / "run").has_value() : !ckpt_path.empty();
  torch::manual_seed(resumes ? 99 : 1);
  random_case::Learner module(drawn);
  random_case::Data data(drawn, batch_size);
  trainer.fit(module, data, ckpt_path);
  trainer.save_checkpoint(root / "final.ckpt");
  std::ofstream(root / ("events_of_rank_" + rank_of_process())) << events;
  return 0;
} catch (const levin::UsageError& error) {
  std::cerr << "refused: " << error.what() << std::endl;
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
