// Trains the Learner in ROOT, from the newest checkpoint if there is one: `resume_runner ROOT [KIND N]`.
//
// KIND kill: the process is killed (SIGKILL) at its Nth event: a batch's end, a validation batch's end, or a stage of
// writing a file, in any thread. A run that ends prints the number of its events. KIND full: from the Nth write
// on the disk is full (ENOSPC), for one file.
#include <levin/core/state/atomic_file.h>
#include <levin/levin.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "tests/trainer/checkpoint/learner.h"

namespace {

std::atomic<int64_t> events{0}, events_left{-1}, writes_left{-1};

void event() {
  ++events;
  if (events_left > 0 && --events_left == 0) ::kill(::getpid(), SIGKILL);
}

int at_stage(const char* stage) {
  event();
  if (std::strcmp(stage, "write") != 0 || writes_left < 0) return 0;
  return --writes_left < 0 ? ENOSPC : 0;
}

struct Events : levin::Callback {
  void on_train_batch_end(levin::Run&) override { event(); }
  void on_validation_batch_end(levin::Run&) override { event(); }
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string root = argv[1], kind = argc > 3 ? argv[2] : "";
  if (kind == "kill") events_left = std::stoll(argv[3]);
  if (kind == "full") writes_left = std::stoll(argv[3]);
  levin::set_file_stage_hook(at_stage);
  // If there is a checkpoint to resume, the module starts from other weights.
  torch::manual_seed(levin::newest_checkpoint(root + "/run") ? 99 : 1);
  Learner module;
  Points data;
  levin::TrainerOptions options = resumable(root);
  options.enable_checkpointing = true;
  options.callbacks = {Events(), levin::ModelCheckpoint({.save_last = true, .every_n_train_steps = 1}),
                       levin::ModelCheckpoint({.dirpath = root + "/best", .monitor = "val_loss", .save_top_k = 2})};
  levin::Trainer trainer(std::move(options));
  trainer.fit(module, data, "last");
  std::cerr << "events: " << events << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
