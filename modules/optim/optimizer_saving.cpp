// How optimizers are saved and loaded: as PyTorch's state_dict, and as LibTorch's archives.
#include <ATen/ops/scalar_tensor.h>
#include <levin/modules/optim/engine/saved_state.h>
#include <levin/modules/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace levin::optim {
namespace {

const AnyGroupOptions& saved_options_of(const torch::optim::OptimizerParamGroup& group) {
  return static_cast<const AnyGroupOptions&>(group.options());
}

State to_state(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return {};
  State::Tuple tuple;
  for (const Json& item : value) tuple.items.push_back(to_state(item));
  return tuple;
}

/// Converts an option's value; null for other values.
Json to_json(const State& value) {
  if (value.is_bool()) return value.to_bool();
  if (value.is_int()) return value.to_int();
  if (value.is_float() || (value.is_tensor() && value.to_tensor().numel() == 1)) return detail::saved_number(value);
  if (value.is_string()) return value.to_string();
  if (!value.is_list() && !value.is_tuple()) return nullptr;
  Json array = Json::array();
  for (const State& item : value.items()) array.push_back(to_json(item));
  return array;
}

/// Returns a scalar tensor: float32 as in Python if it represents the value exactly, else float64.
State number_tensor(double value) {
  const bool fits = static_cast<double>(static_cast<float>(value)) == value;
  return at::scalar_tensor(value, fits ? at::kFloat : at::kDouble);
}

State write(const StateNames& names, const ParamState& state) {
  State out = State::dict();
  if (names.has_step) out["step"] = number_tensor(static_cast<double>(state.step));
  for (size_t i = 0; i < names.numbers.size(); ++i) out[names.numbers[i]] = number_tensor(state.numbers[i]);
  for (size_t i = 0; i < names.tensors.size(); ++i)
    if (state.tensors[i].defined()) out[names.tensors[i]] = state.tensors[i];
  return out;
}

/// Loads into a state as before the first step, which has the shapes.
void read(const StateNames& names, const State& saved, const at::Tensor& parameter, ParamState& state) {
  const auto find = [&](const char* key) {
    const State* value = saved.find(key);
    return value && !value->is_none() ? value : nullptr;
  };
  std::vector<const char*> known = names.tensors;
  known.insert(known.end(), names.numbers.begin(), names.numbers.end());
  detail::check_saved_keys(saved, known);
  if (const State* step = find("step")) state.step = static_cast<int64_t>(detail::saved_number(*step));
  for (size_t i = 0; i < names.numbers.size(); ++i)
    if (const State* number = find(names.numbers[i])) state.numbers[i] = detail::saved_number(*number);
  for (size_t i = 0; i < names.tensors.size(); ++i) {
    if (const State* value = find(names.tensors[i]))
      state.tensors[i] = detail::saved_tensor(names.tensors[i], value->to_tensor(), parameter, state.tensors[i]);
  }
}

}  // namespace

State Optimizer::group_state(size_t group) const {
  State state = State::dict();
  const Json values = saved_options_of(param_groups().at(group)).values();
  for (const auto& [key, value] : values.items()) state[key] = to_state(value);
  return state;
}

State Optimizer::state_dict() const {
  const StateNames names = state_names();
  State out = State::dict({{"state", State::dict()}, {"param_groups", State::list()}});
  int64_t index = 0;
  for (size_t g = 0; g < param_groups().size(); ++g) {
    State group = group_state(g);
    State indices = State::list();
    for (const at::Tensor& parameter : param_groups()[g].params()) {
      const auto found = state().find(parameter.unsafeGetTensorImpl());
      if (found != state().end()) out["state"][index] = write(names, static_cast<const ParamState&>(*found->second));
      indices.push_back(index++);
    }
    group["params"] = std::move(indices);
    out["param_groups"].push_back(std::move(group));
  }
  return out;
}

void Optimizer::load_state_dict(const State& saved) {
  const State::List& groups = saved.at("param_groups").items();
  detail::check_saved_groups(param_groups(), groups);
  const StateNames names = state_names();
  std::vector<std::unique_ptr<torch::optim::OptimizerOptions>> new_options;
  std::vector<std::pair<void*, std::unique_ptr<ParamState>>> new_states;
  for (size_t g = 0; g < groups.size(); ++g) {
    detail::check_saved_options(groups[g], group_state(g));
    torch::optim::OptimizerParamGroup& group = param_groups()[g];
    Json values = Json::object();
    for (const auto& [key, value] : groups[g].to_dict())
      if (const Json json = to_json(value); !json.is_null()) values[to_text(key)] = json;
    new_options.push_back(group.options().clone());
    static_cast<AnyGroupOptions&>(*new_options.back()).set_values(values);
    const State::List& indices = groups[g].at("params").items();
    for (size_t i = 0; i < indices.size(); ++i) {
      const State* of_parameter = detail::saved_values(saved, indices[i].to_int());
      if (!of_parameter) continue;
      const at::Tensor& parameter = group.params()[i];
      auto state = std::make_unique<ParamState>(state_before_steps(*new_options.back(), parameter, parameter));
      read(names, *of_parameter, parameter, *state);
      new_states.emplace_back(parameter.unsafeGetTensorImpl(), std::move(state));
    }
  }
  for (size_t g = 0; g < groups.size(); ++g) param_groups()[g].set_options(std::move(new_options[g]));
  state().clear();
  for (auto& [key, value] : new_states) state()[key] = std::move(value);
}

void Optimizer::save(torch::serialize::OutputArchive& archive) const {
  const StateNames names = state_names();
  for (size_t g = 0, index = 0; g < param_groups().size(); ++g) {
    archive.write("group" + std::to_string(g), c10::IValue(saved_options_of(param_groups()[g]).values().dump()));
    for (const at::Tensor& parameter : param_groups()[g].params()) {
      const std::string prefix = "parameter" + std::to_string(index++) + ".";
      const auto found = state().find(parameter.unsafeGetTensorImpl());
      if (found == state().end()) continue;
      const State values = write(names, static_cast<const ParamState&>(*found->second));
      for (const auto& [key, value] : values.to_dict())
        archive.write(prefix + to_text(key), value.to_tensor(), /*is_buffer=*/true);
    }
  }
}

void Optimizer::load(torch::serialize::InputArchive& archive) {
  const StateNames names = state_names();
  std::vector<std::string> keys(names.numbers.begin(), names.numbers.end());
  keys.insert(keys.end(), names.tensors.begin(), names.tensors.end());
  keys.push_back("step");
  State saved = State::dict({{"state", State::dict()}, {"param_groups", State::list()}});
  int64_t index = 0;
  for (size_t g = 0; g < param_groups().size(); ++g) {
    c10::IValue options;
    archive.read("group" + std::to_string(g), options);
    State group = State::dict();
    const Json values_of_group = Json::parse(options.toStringRef());
    for (const auto& [key, value] : values_of_group.items()) group[key] = to_state(value);
    State indices = State::list();
    for (size_t i = 0; i < param_groups()[g].params().size(); ++i, ++index) {
      const std::string prefix = "parameter" + std::to_string(index) + ".";
      State values = State::dict();
      for (const std::string& key : keys) {
        at::Tensor value;
        if (archive.try_read(prefix + key, value, /*is_buffer=*/true)) values[key] = value;
      }
      if (values.size() > 0) saved["state"][index] = std::move(values);
      indices.push_back(index);
    }
    group["params"] = std::move(indices);
    saved["param_groups"].push_back(std::move(group));
  }
  load_state_dict(saved);
}

}  // namespace levin::optim
