#pragma once
#include "tests/trainer/checkpoint/learner.h"

using levin::Run;
using levin::State;

/// Requests a checkpoint in the `nth` call of one hook.
class SaveInHook : public levin::Callback {
 public:
  SaveInHook(levin::Hook hook, int nth, std::filesystem::path file)
      : hook_(hook), calls_left_(nth), file_(std::move(file)) {}

#define X(name, parameters) void name parameters override;
  LEVIN_FOR_EACH_HOOK(X)
#undef X

  bool asked() const { return calls_left_ <= 0; }

 private:
  void called(levin::Hook hook, levin::Run& run) {
    if (hook == hook_ && --calls_left_ == 0) run.save_checkpoint(file_);
  }
  levin::Hook hook_;
  int calls_left_;
  std::filesystem::path file_;
};

#define LEVIN_ONE(name) \
  inline void SaveInHook::name(levin::Run& run) { called(levin::Hook::name, run); }
LEVIN_ONE(setup)
LEVIN_ONE(teardown)
LEVIN_ONE(on_fit_start)
LEVIN_ONE(on_fit_end)
LEVIN_ONE(on_sanity_check_start)
LEVIN_ONE(on_sanity_check_end)
LEVIN_ONE(on_train_start)
LEVIN_ONE(on_train_end)
LEVIN_ONE(on_train_epoch_start)
LEVIN_ONE(on_train_epoch_end)
LEVIN_ONE(on_train_batch_start)
LEVIN_ONE(on_train_batch_end)
LEVIN_ONE(on_after_backward)
LEVIN_ONE(on_validation_start)
LEVIN_ONE(on_validation_end)
LEVIN_ONE(on_validation_epoch_start)
LEVIN_ONE(on_validation_epoch_end)
LEVIN_ONE(on_validation_batch_start)
LEVIN_ONE(on_validation_batch_end)
LEVIN_ONE(on_test_start)
LEVIN_ONE(on_test_end)
LEVIN_ONE(on_test_epoch_start)
LEVIN_ONE(on_test_epoch_end)
LEVIN_ONE(on_test_batch_start)
LEVIN_ONE(on_test_batch_end)
LEVIN_ONE(on_predict_start)
LEVIN_ONE(on_predict_end)
LEVIN_ONE(on_predict_epoch_start)
LEVIN_ONE(on_predict_epoch_end)
LEVIN_ONE(on_predict_batch_start)
LEVIN_ONE(on_predict_batch_end)
#undef LEVIN_ONE
inline void SaveInHook::on_before_zero_grad(levin::Run& run, torch::optim::Optimizer&) {
  called(levin::Hook::on_before_zero_grad, run);
}
inline void SaveInHook::on_before_backward(levin::Run& run, at::Tensor&) {
  called(levin::Hook::on_before_backward, run);
}
inline void SaveInHook::on_before_optimizer_step(levin::Run& run, torch::optim::Optimizer&) {
  called(levin::Hook::on_before_optimizer_step, run);
}
inline void SaveInHook::on_exception(levin::Run& run, const std::exception&) { called(levin::Hook::on_exception, run); }
inline void SaveInHook::on_save_checkpoint(levin::Run& run, levin::State&) {
  called(levin::Hook::on_save_checkpoint, run);
}
inline void SaveInHook::on_load_checkpoint(levin::Run& run, const levin::State&) {
  called(levin::Hook::on_load_checkpoint, run);
}

struct Ended {
  levin::State weights;
  std::vector<std::string> rows;
  levin::RunResult result;
};

inline Ended train(levin::TrainerOptions options, Learner::Options model = {}, const std::string& ckpt_path = "",
                   uint64_t initial_seed = 1) {
  torch::manual_seed(initial_seed);
  Learner module(model);
  Points data;
  levin::Trainer trainer(std::move(options));
  const levin::RunResult result = trainer.fit(module, data, ckpt_path);
  return {weights_copy(module), rows_in(result.folder), result};
}
