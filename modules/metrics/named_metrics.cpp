#include <levin/modules/metrics/named_metrics.h>
#include <ATen/TensorOperators.h>
#include <levin/core/run/run.h>
#include <levin/core/system/error.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/metrics/engine/run_extremes.h>
#include <levin/modules/metrics/registry.h>

#include <algorithm>
#include <map>
#include <utility>

namespace levin::metrics {
namespace {

constexpr const char* kPath = "model.metrics";
constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kEpochOfCheck = -1;  ///< of no epoch, so that the check moves no random numbers of one

std::string entry_path(size_t index) { return std::string(kPath) + "[" + std::to_string(index) + "]"; }

/// Returns classes in place of their probabilities.
at::Tensor hard_target(const MetricTask& task, const at::Tensor& preds, const at::Tensor& target) {
  const bool has_classes = task.learned == Learned::Multiclass || task.learned == Learned::Segmentation;
  return has_classes && target.is_floating_point() && target.sizes() == preds.sizes() ? target.argmax(1) : target;
}

/// Returns preds and target as a metric takes them.
std::pair<at::Tensor, at::Tensor> inputs_of(MetricInput input, const MetricTask& task, const at::Tensor& preds,
                                            const at::Tensor& target) {
  switch (input) {
    case MetricInput::Classes:
      return {task.learned == Learned::Tokens ? preds.movedim(-1, 1) : preds, target};
    case MetricInput::Segments: {
      const at::Tensor found = preds.argmax(1);
      return {task.ignore_index ? found.masked_fill(target == *task.ignore_index, -1) : found, target};
    }
    case MetricInput::Tokens:
    case MetricInput::Numbers:
      break;
  }
  return {preds, target};
}

}  // namespace

struct NamedMetrics::Impl {
  struct Logged {
    std::string name = {};  ///< without the stage
    MetricInput input = MetricInput::Classes;
    LoggedValue value = {};
    bool in_training = false;
  };

  void check_name(const std::string& name, const std::string& path) const;
  void add(const ClassChoice<MetricKind>& choice, const std::string& path);
  std::vector<std::shared_ptr<Metric>>& of_loader(const std::string& stage);

  LightningModule& module;
  std::string module_name = {};
  std::vector<ClassChoice<MetricKind>> choices = {};
  std::vector<std::string> own = {};
  std::optional<MetricTask> task = {};
  std::vector<Logged> logged = {};
  /// Copies of the logged ones, by stage and loader.
  std::map<std::pair<std::string, int64_t>, std::vector<std::shared_ptr<Metric>>> copies = {};
  RunExtremes extremes = {};
};

NamedMetrics::NamedMetrics() = default;
NamedMetrics::~NamedMetrics() = default;

void NamedMetrics::Impl::check_name(const std::string& name, const std::string& path) const {
  if (std::ranges::find(own, name) != own.end())
    throw UsageError(path, ".name: ", module_name, " logs '", name, "' itself; set another name");
  for (const Logged& other : logged)
    if (other.name == name) throw UsageError(path, ".name: '", name, "' is taken by a metric before; set another name");
}

void NamedMetrics::Impl::add(const ClassChoice<MetricKind>& choice, const std::string& path) {
  const LogChoices how = log_choices(choice);
  const MadeMetric made = make_metric(choice, *task, path);
  for (const LoggedValue& value : made.values) {
    const std::string name = how.name + value.suffix;
    check_name(name, path);
    logged.push_back({.name = name, .input = made.input, .value = value, .in_training = how.train});
  }
}

void NamedMetrics::set(LightningModule& module, const std::string& name, const MetricChoices& choices,
                       const std::vector<std::string>& own, bool counts_in_training) {
  if (choices.metrics.empty()) return;
  for (size_t i = 0; i < choices.metrics.size(); ++i)
    if (!counts_in_training && log_choices(choices.metrics[i]).train)
      throw UsageError(entry_path(i), ".train: ", name, " measures in validation and test alone; leave it unset");
  impl_ =
      std::unique_ptr<Impl>(new Impl{.module = module, .module_name = name, .choices = choices.metrics, .own = own});
  const auto is_of_run = [](const auto& choice) { return choice.class_name() == "MinMaxMetric"; };
  if (std::ranges::any_of(impl_->choices, is_of_run)) module.register_metric("extremes_of_metrics", impl_->extremes);
}

void NamedMetrics::use(const MetricTask& task) {
  if (!impl_ || impl_->task) return;
  impl_->task = task;
  impl_->task->module = impl_->module_name;
  for (size_t i = 0; i < impl_->choices.size(); ++i) impl_->add(impl_->choices[i], entry_path(i));
}

bool NamedMetrics::are_logged(const std::string& stage) const {
  if (!impl_) return false;
  return stage != "train" || !impl_->task ||
         std::ranges::any_of(impl_->logged, [](const Impl::Logged& one) { return one.in_training; });
}

std::vector<std::shared_ptr<Metric>>& NamedMetrics::Impl::of_loader(const std::string& stage) {
  const int64_t loader = module.dataloader_idx();
  const auto [place, is_new] = copies.try_emplace({stage, loader});
  if (!is_new) return place->second;
  for (const Logged& one : logged) place->second.push_back(one.value.metric->clone());
  return place->second;
}

void NamedMetrics::log(const std::string& stage, const at::Tensor& preds, const at::Tensor& target) {
  if (!are_logged(stage)) return;
  if (!impl_->task) throw Error("NamedMetrics: log was called before use");
  const at::Tensor wanted = hard_target(*impl_->task, preds, target);
  const TrainerState& state = impl_->module.run().state();
  const bool is_check = state.stage == Stage::SanityCheck;
  const int64_t epoch = stage == "train" ? state.epoch : is_check ? kEpochOfCheck : state.validations;
  auto& metrics = impl_->of_loader(stage);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Impl::Logged& one = impl_->logged[i];
    if ((stage == "train" && !one.in_training) || (is_check && one.value.is_of_run)) continue;
    if (one.value.is_of_run)
      impl_->extremes.counts(stage + "/" + std::to_string(impl_->module.dataloader_idx()) + "/" + one.name, metrics[i],
                             epoch);
    if (auto* const wrapper = dynamic_cast<WrapperMetric*>(metrics[i].get()))
      wrapper->use_stream(impl_->module.global_rank() + epoch * kMostRanks);
    // Logged first: so a resumed run's metric has its earlier counts, and its random numbers, before this batch.
    impl_->module.log(stage + "_" + one.name, metrics[i]);
    const auto [found, expected] = inputs_of(one.input, *impl_->task, preds.detach(), wanted);
    metrics[i]->update(found, expected);
  }
}

}  // namespace levin::metrics
