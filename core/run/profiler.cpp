#include <levin/core/run/profiler.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace levin {
namespace {

enum class Owner { None, Module, DataModule, Strategy };

struct ActionName {
  Owner owner;
  const char* name;
};

/// By Action.
constexpr std::array<ActionName, static_cast<size_t>(Action::kCount)> kActionNames = {{
    {Owner::None, "run_training_epoch"},
    {Owner::None, "run_training_batch"},
    {Owner::None, "[_TrainingEpochLoop].train_dataloader_next"},
    {Owner::None, "[_EvaluationLoop].val_next"},
    {Owner::None, "[_EvaluationLoop].test_next"},
    {Owner::None, "[_PredictionLoop].predict_next"},
    {Owner::None, "save_checkpoint"},
    {Owner::None, "optimizer_step"},
    {Owner::None, "run_sanity_check"},
    {Owner::None, "run_validation"},
    {Owner::None, "run_test"},
    {Owner::None, "read_metrics"},
    {Owner::None, "checkpoint_contents"},
    {Owner::None, "checkpoint_wait"},
    {Owner::None, "checkpoint_copy"},
    {Owner::Module, "configure_callbacks"},
    {Owner::Module, "configure_optimizers"},
    {Owner::Module, "optimizer_step"},
    {Owner::Module, "optimizer_zero_grad"},
    {Owner::Module, "configure_gradient_clipping"},
    {Owner::Module, "lr_scheduler_step"},
    {Owner::Module, "on_validation_model_eval"},
    {Owner::Module, "on_test_model_eval"},
    {Owner::Module, "on_predict_model_eval"},
    {Owner::Module, "on_validation_model_zero_grad"},
    {Owner::Module, "on_before_batch_transfer"},
    {Owner::Module, "transfer_batch_to_device"},
    {Owner::Module, "on_after_batch_transfer"},
    {Owner::DataModule, "prepare_data"},
    {Owner::DataModule, "setup"},
    {Owner::DataModule, "teardown"},
    {Owner::DataModule, "on_before_batch_transfer"},
    {Owner::DataModule, "transfer_batch_to_device"},
    {Owner::DataModule, "on_after_batch_transfer"},
    {Owner::Strategy, "batch_to_device"},
    {Owner::Strategy, "training_step"},
    {Owner::Strategy, "backward"},
    {Owner::Strategy, "validation_step"},
    {Owner::Strategy, "test_step"},
    {Owner::Strategy, "predict_step"},
    {Owner::Strategy, "optimizer_step"},
}};
static_assert(kActionNames.back().name != nullptr, "each Action has a name");

std::string full_name(const ActionName& action, const Profiler::Parts& parts) {
  switch (action.owner) {
    case Owner::Module:
      return "[LightningModule]" + parts.module + "." + action.name;
    case Owner::DataModule:
      return "[LightningDataModule]" + parts.data_module + "." + action.name;
    case Owner::Strategy:
      return "[Strategy]" + parts.strategy + "." + action.name;
    case Owner::None:
      break;
  }
  return action.name;
}

int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double seconds_of(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

thread_local ProfileSpan* innermost_span = nullptr;

}  // namespace

const ProfiledAction* ProfileTotals::find(std::string_view action) const {
  const auto found = std::ranges::find(actions, action, &ProfiledAction::action);
  return found == actions.end() ? nullptr : &*found;
}

Profiler::Profiler(const Parts& parts) : began_(nanoseconds_now()) {
  for (const ActionName& action : kActionNames) add_name(full_name(action, parts));
}

int Profiler::add_name(std::string name) {
  const int number = static_cast<int>(counts_.size());
  numbers_.emplace(name, number);
  counts_.push_back({.name = std::move(name)});
  return number;
}

int Profiler::number_of(std::string_view action) {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(action);
  return found != numbers_.end() ? found->second : add_name(std::string(action));
}

const std::string& Profiler::name_of(int number) const {
  const std::lock_guard lock(mutex_);
  return counts_[static_cast<size_t>(number)].name;  // a deque: the name stays where it is
}

void Profiler::add(const ProfileSpan& span, int64_t nanoseconds, int64_t self_nanoseconds) noexcept {
  const std::lock_guard lock(mutex_);
  Count& count = counts_[static_cast<size_t>(span.number())];
  count.calls += 1;
  count.nanoseconds += nanoseconds;
  count.self_nanoseconds += self_nanoseconds;
}

ProfileTotals Profiler::totals() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Count*> used;
  for (const Count& count : counts_)
    if (count.calls > 0) used.push_back(&count);
  std::ranges::stable_sort(used, {}, [](const Count* count) { return count->first; });
  ProfileTotals totals{.seconds = seconds_of((ended_ != 0 ? ended_ : nanoseconds_now()) - began_)};
  for (const Count* count : used)
    totals.actions.push_back({.action = count->name,
                              .calls = count->calls,
                              .seconds = seconds_of(count->nanoseconds),
                              .self_seconds = seconds_of(count->self_nanoseconds)});
  return totals;
}

void Profiler::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ != 0) return;
    ended_ = nanoseconds_now();
  }
  end();
}

const ProfileSpan* ProfileSpan::innermost(const Profiler& profiler) {
  const ProfileSpan* span = innermost_span;
  while (span != nullptr && span->profiler_ != &profiler) span = span->before_;
  return span;
}

void ProfileSpan::start(int number) {
  number_ = number;
  inside_ = 0;
  before_ = innermost_span;
  outer_ = const_cast<ProfileSpan*>(innermost(*profiler_));
  innermost_span = this;
  {
    const std::lock_guard lock(profiler_->mutex_);
    Profiler::Count& count = profiler_->counts_[static_cast<size_t>(number)];
    if (count.first == 0) count.first = ++profiler_->started_;
  }
  profiler_->on_start(*this);
  began_ = nanoseconds_now();
}

void ProfileSpan::stop() noexcept {
  const int64_t ended = nanoseconds_now();
  innermost_span = before_;
  const int64_t nanoseconds = ended - began_;
  if (outer_ != nullptr) outer_->inside_ += nanoseconds;
  profiler_->add(*this, nanoseconds, nanoseconds - inside_);
  profiler_->on_stop(*this, began_, ended);
}

}  // namespace levin
