#include <levin/modules/optim/ema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/trainer/core/system/error.h>

#include <algorithm>

namespace levin::optim {

EMA::EMA(const torch::nn::Module& module, EMAOptions options) : options_(options) {
  if (!(options_.decay >= 0 && options_.decay <= 1))
    throw UsageError("EMA.decay: expected a number from 0 to 1, got ", options_.decay);
  const auto add = [this](const std::string& name, const at::Tensor& value, bool averaged) {
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.value.is_same(value); });
    if (known == entries_.end())
      entries_.push_back({{name}, value, value.detach().clone(), averaged});
    else
      known->names.push_back(name);
  };
  for (const auto& item : module.named_parameters()) add(item.key(), item.value(), true);
  if (entries_.empty()) throw UsageError("EMA: the module has no parameters to average");
  for (const auto& item : module.named_buffers())
    add(item.key(), item.value(), options_.use_buffers && item.value().is_floating_point());
}

EMA::EMA(EMA&& other, const detail::RowLock& lock)
    : options_(other.options_), updates_(other.updates_), entries_(std::move(other.entries_)), rows_(*this, lock) {}

EMA& EMA::operator=(EMA&& other) noexcept {
  const detail::RowLock lock;
  options_ = other.options_;
  updates_ = other.updates_;
  entries_ = std::move(other.entries_);
  return *this;
}

bool EMA::has_rows_of(const at::Tensor& parameter) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& one) { return one.value.is_same(parameter); });
}

void EMA::prepare(const at::Tensor& parameter, const detail::RowChange& change, detail::RowCommit& commit) {
  for (Entry& entry : entries_)
    if (entry.value.is_same(parameter))
      commit.actions.emplace_back([&entry, average = change.of_average(entry.average)] { entry.average = average; });
}

void EMA::follow_devices() {
  for (Entry& entry : entries_)
    if (entry.average.device() != entry.value.device() || entry.average.scalar_type() != entry.value.scalar_type())
      entry.average = entry.average.to(entry.value.options());
}

void EMA::update() {
  const at::NoGradGuard no_grad;
  follow_devices();
  std::vector<at::Tensor> averages, values;
  for (Entry& entry : entries_) {
    if (updates_ == 0 || !entry.averaged) {
      entry.average.copy_(entry.value);
    } else {
      averages.push_back(entry.average);
      values.push_back(entry.value);
    }
  }
  if (!averages.empty()) at::_foreach_lerp_(averages, values, 1 - options_.decay);
  ++updates_;
}

const at::Tensor& EMA::average(const std::string& name) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (std::find(entry.names.begin(), entry.names.end(), name) != entry.names.end()) return entry.average;
    names.insert(names.end(), entry.names.begin(), entry.names.end());
  }
  throw UsageError("EMA: the module has no parameter or buffer '", name, "'", did_you_mean(name, names));
}

void EMA::swap() {
  const at::NoGradGuard no_grad;
  follow_devices();
  for (Entry& entry : entries_) {
    const at::Tensor value = entry.value.detach().clone();
    entry.value.copy_(entry.average);
    entry.average.copy_(value);
  }
}

void EMA::copy_to_module() {
  const at::NoGradGuard no_grad;
  for (Entry& entry : entries_) entry.value.copy_(entry.average);
}

State EMA::state_dict() const {
  State state = State::dict({{"n_averaged", at::scalar_tensor(updates_, at::TensorOptions(at::kLong))}});
  for (const Entry& entry : entries_)
    for (const std::string& name : entry.names) state["module." + name] = entry.average;
  return state;
}

void EMA::load_state_dict(const State& state) {
  std::vector<at::Tensor> averages;
  for (const Entry& entry : entries_) {
    const std::string& name = entry.names.front();
    const State* saved = state.find("module." + name);
    if (!saved) throw UsageError("the EMA's state has no average of ", name);
    const at::Tensor& average = saved->to_tensor();
    if (average.sizes() != entry.value.sizes())
      throw UsageError("the EMA's state has ", name, " of shape ", average.sizes(), ", the module of shape ",
                       entry.value.sizes());
    averages.push_back(average);
  }
  const State& updates = state.at("n_averaged");
  const int64_t count = updates.is_tensor() ? updates.to_tensor().item<int64_t>() : updates.to_int();
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < entries_.size(); ++i)
    entries_[i].average = averages[i].to(entries_[i].value.options()).clone();
  updates_ = count;
}

}  // namespace levin::optim
