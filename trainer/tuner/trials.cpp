#include <levin/trainer/tuner/trials.h>
#include <levin/core/state/deep_copy.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/memory_use.h>
#include <levin/trainer/trainer_impl.h>

#include <exception>

namespace levin {

/// Restores everything at the end of a trial, however it ended.
class Trials::PutBack {
 public:
  explicit PutBack(Trials& trials) : trials_(trials) {}
  PutBack(const PutBack&) = delete;
  PutBack& operator=(const PutBack&) = delete;
  ~PutBack() {
    try {
      trials_.snapshot_.restore();
      if (trials_.data_ && !trials_.data_state_.is_none()) trials_.data_->module->load_state_dict(trials_.data_state_);
      for (size_t i = 0; i < trials_.loader_states_.size(); ++i)
        trials_.train_[i].load_state_dict(trials_.loader_states_[i]);
      empty_device_cache();
    } catch (const std::exception& error) {
      console::warn(std::string("levin::tune could not put everything back after a trial: ") + error.what());
    }
  }

 private:
  Trials& trials_;
  RngGuard random_numbers_ = {};
};

Trials::Trials(const Trainer& trainer, ModuleRef module, std::optional<data::DataModuleRef> data, data::Loaders train)
    : trainer_(trainer), module_(module), data_(data), train_(std::move(train)), snapshot_(*module.module) {
  if (trainer.options()->fast_dev_run)
    throw UsageError("trainer.fast_dev_run: a test of a few batches looks for no batch size and no learning rate");
  if (data_) data_state_ = deep_copy(data_->module->state_dict());
  for (const auto& loader : train_) loader_states_.push_back(deep_copy(loader->state_dict()));
}

void Trials::run(const std::shared_ptr<TrialCallback>& callback, const std::function<void(TrainerOptions&)>& change) {
  const PutBack put_back(*this);
  callback->use(state_, snapshot_);
  const std::unique_ptr<Trainer> trainer = Trainer::Impl::of(trainer_).for_trials({CallbackEntry(callback)}, change);
  if (data_)
    trainer->fit(module_, *data_);
  else
    trainer->fit(module_, train_);
}

}  // namespace levin
