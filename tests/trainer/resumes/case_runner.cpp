// Trains a random case in ROOT: `case_runner ROOT NUMBER COMPARABLE WHAT...`. Ranks are started by the trainer.
//
// WHAT: `run`; `kill RANK EVENT`, which ends that rank by SIGKILL at the event of this number: a batch's or an epoch's
// end, or a stage of writing a file; `save HOOK CALL FILE`, which requests a checkpoint in a hook; `resume FILE`, where
// FILE may be last; `one`, the case's training in one process with the batches of all ranks; `fit` and `session`, the
// case with a validation at the end of each epoch, by Trainer::fit and by Session::step; `resume_fit FILE` and
// `resume_session FILE`, both from a checkpoint. Each rank writes the number of its events.
#include <levin/core/state/atomic_file.h>
#include <levin/levin.h>
#include <levin/trainer/run_folder/find_checkpoint.h>
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

/// Also saves the state at the end, after which no kill comes.
struct Events : levin::Callback {
  void on_train_batch_end(levin::Run&) override { event(); }
  void on_validation_batch_end(levin::Run&) override { event(); }
  void on_train_epoch_end(levin::Run&) override { event(); }
  void on_fit_end(levin::Run& run) override {
    events_left = -1;
    run.save_checkpoint(root / "final.ckpt");
  }
};

std::string rank_of_process() {
  const char* const rank = std::getenv("RANK");
  return rank == nullptr ? "0" : rank;
}

/// Trains the case by steps of a session.
void run_session(levin::Trainer& trainer, random_case::Learner& module, random_case::Data& data,
                 const std::string& ckpt_path) {
  const levin::data::Loaders measured = data.train_dataloader();
  measured[0].shard(std::stoll(rank_of_process()), module.case_.ranks);
  levin::Session session = trainer.start(
      module, {.ckpt_path = ckpt_path,
               .batches_per_epoch = trainer.options()->limit_train_batches.of(measured[0].size(), "limit_train")});
  levin::SessionLoader batches = session.loader(data.train_dataloader());
  const bool validates = !trainer.options()->limit_val_batches.is_none();
  // A checkpoint may have been saved between the epoch's last batch and its validation.
  const levin::TrainerState& state = session.run().state();
  if (validates && state.last_batch && state.batch_phase == levin::BatchPhase::HooksDone)
    session.validate(data.val_dataloader());
  while (session.next())
    if (session.step(batches.next()).ended_epoch && validates) session.validate(data.val_dataloader());
  session.finish();
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
    drawn.strategy = "auto";
  }
  const bool by_session = what.ends_with("session"), by_epochs = by_session || what.ends_with("fit");
  if (by_epochs) {
    drawn.val_check_interval = 1.0;
    drawn.check_val_every_n_epoch = 1;
    drawn.monitor = "val_loss";
    drawn.sanity_steps = drawn.reload_every = 0;
  }
  levin::TrainerOptions options = random_case::options_of(drawn, root);
  options.callbacks.push_back(Events());
  if (what == "save")
    options.callbacks.push_back(
        SaveInHook(static_cast<levin::Hook>(std::stoi(argument(1))), std::stoi(argument(2)), argument(3)));
  if (const auto code = levin::launch(options)) return *code;
  levin::Trainer trainer(options);

  if (what == "kill" && rank_of_process() == argument(1)) events_left = std::stoll(argument(2));
  if (rank_of_process() == "0") levin::set_file_stage_hook(at_stage);
  const std::string ckpt_path = what.starts_with("resume") ? argument(1) : what == "kill" ? "last" : "";
  // If there is a checkpoint to resume, the module starts from other weights.
  const bool resumes = ckpt_path == "last" ? levin::newest_checkpoint(root / "run").has_value() : !ckpt_path.empty();
  torch::manual_seed(resumes ? 99 : 1);
  random_case::Learner module(drawn);
  random_case::Data data(drawn, batch_size);
  if (by_session) {
    run_session(trainer, module, data, ckpt_path);
    return 0;
  }
  trainer.fit(module, data, ckpt_path);
  std::ofstream(root / ("events_of_rank_" + rank_of_process())) << events;
  return 0;
} catch (const levin::UsageError& error) {
  std::cerr << "refused: " << error.what() << std::endl;
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << std::endl;
  return 1;
}
