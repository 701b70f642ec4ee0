// Trains the Learner on two ranks under fsdp with sharded checkpoints, in ROOT, from the newest one if there is one:
// `sharded_runner ROOT [RANK N]`.
//
// RANK N: that rank is killed (SIGKILL) at its Nth stage of writing a part or the index, linking or removing. Without
// it, each rank prints the number of its stages.
#include <levin/core/state/atomic_file.h>
#include <levin/levin.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>

#include "tests/trainer/checkpoint/learner.h"

namespace {

std::atomic<int64_t> stages{0}, stages_left{-1};

/// Only the thread that writes checkpoints counts.
int at_stage(const char* /*stage*/) {
  char thread[16] = {};
  ::pthread_getname_np(::pthread_self(), thread, sizeof(thread));
  if (thread != std::string("levin-ckpt")) return 0;
  ++stages;
  if (stages_left > 0 && --stages_left == 0) ::kill(::getpid(), SIGKILL);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const char* const rank = std::getenv("RANK");  // none in the process that starts the ranks
  if (argc > 3 && rank != nullptr && argv[2] == std::string(rank)) stages_left = std::stoll(argv[3]);
  levin::set_file_stage_hook(at_stage);
  torch::manual_seed(1);
  Learner module;
  Points data;
  levin::TrainerOptions options = resumable(argv[1]);
  options.strategy = {"fsdp", levin::FSDPOptions{.state_dict_type = "sharded"}};
  options.accelerator = "cpu";
  options.devices = 2;
  options.timeout_seconds = 60;
  options.num_sanity_val_steps = 0;
  options.val_check_interval = 2;  // of the 4 batches that a rank has in an epoch
  options.accumulate_grad_batches = 1;
  options.enable_checkpointing = true;
  options.callbacks = {levin::ModelCheckpoint({.save_last = true, .every_n_train_steps = 1}),
                       levin::ModelCheckpoint({.filename = "best-{epoch}", .monitor = "val_loss", .save_top_k = 2})};
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(std::move(options));
  trainer.fit(module, data, "last");
  if (rank != nullptr) std::cerr << "stages of rank " << rank << ": " << stages << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
