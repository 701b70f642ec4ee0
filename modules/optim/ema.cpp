#include <levin/modules/optim/ema.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/ranks/sharded_memory.h>
#include <levin/modules/parallel/sharding/watched_memory.h>

#include <algorithm>

namespace levin::optim {

EMA::EMA(const torch::nn::Module& module, EMAOptions options) : options_(options) {
  if (!(options_.decay >= 0 && options_.decay <= 1))
    throw UsageError("EMA.decay: expected a number from 0 to 1, got ", options_.decay);
  const auto add = [this](const std::string& name, const at::Tensor& value, bool averaged) {
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.value.is_same(value); });
    if (known != entries_.end()) {
      known->names.push_back(name);
      return;
    }
    Entry& entry = entries_.emplace_back(Entry{{name}, value, {}, averaged});
    entry.average = present(entry).clone();
  };
  const auto can_be_averaged = [](const at::Tensor& value) { return value.is_floating_point() || value.is_complex(); };
  for (const auto& item : module.named_parameters()) add(item.key(), item.value(), can_be_averaged(item.value()));
  if (entries_.empty()) throw UsageError("EMA: the module has no parameters to average");
  for (const auto& item : module.named_buffers())
    add(item.key(), item.value(), options_.use_buffers && can_be_averaged(item.value()));
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

at::Tensor EMA::present(const Entry& entry) const {
  const parallel::OwnPart own = options_.own_parts ? parallel::own_part(entry.value) : parallel::OwnPart();
  return own.values.defined() ? own.values : entry.value.detach();
}

bool EMA::is_divided() const {
  return options_.own_parts && std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
           return parallel::own_part(entry.value).values.defined();
         });
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
      entry.average.copy_(present(entry));
    } else {
      averages.push_back(entry.average);
      values.push_back(present(entry));
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
    const at::Tensor value = present(entry).clone();
    write(entry, entry.average);
    entry.average.copy_(value);
  }
}

void EMA::write(const Entry& entry, const at::Tensor& values) {
  present(entry).copy_(values);
  if (options_.own_parts) parallel::own_part_changed(entry.value);
}

void EMA::copy_to_module() {
  const at::NoGradGuard no_grad;
  for (const Entry& entry : entries_) write(entry, entry.average);
}

State EMA::state_dict() const {
  if (is_divided())
    throw UsageError("EMA: the averages are divided among the ranks; swap, and save the module's weights");
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
  for (size_t i = 0; i < entries_.size(); ++i) {
    const at::Tensor& value = entries_[i].value;
    const parallel::OwnPart own = options_.own_parts ? parallel::own_part(value) : parallel::OwnPart();
    if (!own.values.defined()) {
      entries_[i].average = averages[i].to(value.options()).clone();
      continue;
    }
    const at::Tensor laid_out = at::empty_strided(value.sizes(), value.strides(), averages[i].options());
    laid_out.copy_(averages[i]);
    entries_[i].average = parallel::elements(laid_out, own.begin, own.values.numel()).to(own.values.options()).clone();
  }
  updates_ = count;
}

}  // namespace levin::optim
