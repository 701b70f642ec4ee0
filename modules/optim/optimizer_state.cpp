#include <levin/modules/optim/optimizer_state.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Type.h>
#include <levin/core/system/error.h>
#include <levin/modules/optim/engine/saved_state.h>
#include <levin/modules/optim/engine/torch_optimizers.h>
#include <levin/modules/optim/optimizer.h>
#include <torch/nn/module.h>
#include <torch/serialize/archive.h>

#include <deque>
#include <sstream>
#include <string>
#include <typeinfo>
#include <utility>

namespace levin::optim {
namespace {

using namespace torch_optimizers;
using torch::optim::OptimizerParamState;

struct Writer {
  State& out;

  void operator()(const char* key, double value) { out[key] = value; }
  void operator()(const char* key, bool value) { out[key] = value; }
  void operator()(const char* key, int64_t value) { out[key] = value; }
  void operator()(const char* key, const std::tuple<double, double>& value) {
    out[key] = State::Tuple{{std::get<0>(value), std::get<1>(value)}};
  }
  void operator()(const char* key, const at::Tensor& value) {
    if (value.defined()) out[key] = value;
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value)
      (*this)(key, *value);
    else
      out[key] = State();
  }
  void operator()(const char* key, const std::string& value) { out[key] = value; }
  template <class Tensors>
    requires std::same_as<typename Tensors::value_type, at::Tensor>
  void operator()(const char* key, const Tensors& value) {
    out[key] = State::list();
    for (const at::Tensor& tensor : value) out[key].push_back(tensor.defined() ? State(tensor) : State());
  }
  /// Stored as a tensor, as in Python.
  void step(int64_t value) { out["step"] = at::scalar_tensor(static_cast<double>(value), at::kFloat); }
};

struct Reader {
  const State& in;
  /// The parameter whose device and dtype tensors take; undefined while options are read.
  at::Tensor parameter = {};
  /// LBFGS stores vectors over all parameters.
  bool same_shape = true;

  /// Returns the value, or nullptr if there is none, in which case the field keeps its value.
  const State* find(const char* key) const {
    const State* value = in.find(key);
    return value && !value->is_none() ? value : nullptr;
  }
  at::Tensor tensor(const char* key, const State& value) const {
    return detail::saved_tensor(key, value.to_tensor(), parameter, same_shape ? parameter : at::Tensor());
  }

  void operator()(const char* key, double& value) const {
    if (const State* s = find(key)) value = detail::saved_number(*s);
  }
  void operator()(const char* key, bool& value) const {
    if (const State* s = find(key)) value = s->to_bool();
  }
  void operator()(const char* key, int64_t& value) const {
    if (const State* s = find(key)) value = static_cast<int64_t>(detail::saved_number(*s));
  }
  void operator()(const char* key, std::tuple<double, double>& value) const {
    const State* s = find(key);
    if (!s) return;
    if (s->size() != 2) throw UsageError("the optimizer's state has ", s->size(), " numbers as ", key, ", expected 2");
    value = {detail::saved_number(s->items()[0]), detail::saved_number(s->items()[1])};
  }
  void operator()(const char* key, std::string& value) const {
    if (const State* s = find(key)) value = s->to_string();
  }
  void operator()(const char* key, at::Tensor& value) const {
    if (const State* s = find(key)) value = tensor(key, *s);
  }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) const {
    value.reset();
    if (find(key)) (*this)(key, value.emplace());
  }
  template <class Tensors>
    requires std::same_as<typename Tensors::value_type, at::Tensor>
  void operator()(const char* key, Tensors& value) const {
    const State* s = find(key);
    if (!s) return;
    value.clear();
    for (const State& item : s->items()) value.push_back(item.is_none() ? at::Tensor() : tensor(key, item));
  }
  void step(int64_t& value) const { (*this)("step", value); }
};

/// Collects the names of the values in a parameter's state.
struct KeyCollector {
  std::vector<const char*> keys = {};
  void operator()(const char* key, const auto& /*value*/) { keys.push_back(key); }
  void step(int64_t /*value*/) {}
};

void check_groups(torch::optim::Optimizer& optimizer, const State::List& groups) {
  detail::check_saved_groups(optimizer.param_groups(), groups);
  for (const State& group : groups) {
    const State* maximize = group.find("maximize");
    if (maximize && maximize->is_bool() && maximize->to_bool())
      throw UsageError("the optimizer's state was made with maximize=True, which LibTorch's optimizers do not have");
  }
}

template <class Options>
State write_options(torch::optim::OptimizerParamGroup& group) {
  State saved = State::dict();
  Writer to_group{saved};
  options(to_group, static_cast<Options&>(group.options()));
  return saved;
}

template <class Options, class ParamState>
State write(torch::optim::Optimizer& optimizer) {
  State state = State::dict({{"state", State::dict()}, {"param_groups", State::list()}});
  int64_t index = 0;
  for (auto& group : optimizer.param_groups()) {
    State saved = write_options<Options>(group);
    State indices = State::list();
    for (const at::Tensor& parameter : group.params()) {
      const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
      if (found != optimizer.state().end()) {
        State of_parameter = State::dict();
        Writer writer{of_parameter};
        values(writer, static_cast<ParamState&>(*found->second));
        state["state"][index] = std::move(of_parameter);
      }
      indices.push_back(index++);
    }
    saved["params"] = std::move(indices);
    state["param_groups"].push_back(std::move(saved));
  }
  return state;
}

template <class Options, class ParamState>
void read(torch::optim::Optimizer& optimizer, const State& state) {
  const State::List& saved_groups = state.at("param_groups").items();
  check_groups(optimizer, saved_groups);
  std::vector<Options> new_options;
  std::vector<std::pair<void*, std::unique_ptr<OptimizerParamState>>> new_values;
  for (size_t g = 0; g < saved_groups.size(); ++g) {
    auto& group = optimizer.param_groups()[g];
    detail::check_saved_options(saved_groups[g], write_options<Options>(group));
    new_options.push_back(static_cast<Options&>(group.options()));
    Reader from_group{saved_groups[g]};
    options(from_group, new_options.back());
    const State::List& indices = saved_groups[g].at("params").items();
    for (size_t i = 0; i < indices.size(); ++i) {
      const State* of_parameter = detail::saved_values(state, indices[i].to_int());
      if (!of_parameter) continue;
      const at::Tensor& parameter = group.params()[i];
      auto value = std::make_unique<ParamState>();
      KeyCollector known;
      values(known, *value);
      detail::check_saved_keys(*of_parameter, known.keys);
      Reader reader{*of_parameter, parameter, !std::is_same_v<ParamState, torch::optim::LBFGSParamState>};
      values(reader, *value);
      new_values.emplace_back(parameter.unsafeGetTensorImpl(), std::move(value));
    }
  }
  for (size_t g = 0; g < new_options.size(); ++g)
    static_cast<Options&>(optimizer.param_groups()[g].options()) = std::move(new_options[g]);
  optimizer.state().clear();
  for (auto& [key, value] : new_values) optimizer.state()[key] = std::move(value);
}

constexpr const char* kArchive = "archive";

/// Returns the state of an optimizer of another class, as its own `save` writes it. Throws if it writes nothing.
State archived(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  torch::serialize::OutputArchive nothing;
  const auto bytes_of = [](torch::serialize::OutputArchive& one) {
    std::ostringstream stream;
    one.save_to(stream);
    return std::move(stream).str();
  };
  std::string bytes = bytes_of(archive);
  if (bytes.size() == bytes_of(nothing).size()) throw_unknown_state();
  return State::dict({{kArchive, State::Bytes{std::move(bytes)}}});
}

void load_archived(torch::optim::Optimizer& optimizer, const State& state) {
  const State* const saved = state.find(kArchive);
  if (saved == nullptr)
    throw UsageError("the state was saved by an optimizer of another class than ",
                     c10::demangle(typeid(optimizer).name()));
  const std::string& bytes = saved->to_bytes();
  torch::serialize::InputArchive archive;
  archive.load_from(bytes.data(), bytes.size());
  optimizer.load(archive);
}

}  // namespace

bool is_elementwise(const torch::optim::Optimizer& optimizer) {
  if (const auto* ours = dynamic_cast<const Optimizer*>(&optimizer)) return ours->is_elementwise();
  const auto is_one_of = [&]<class... Classes>() { return (dynamic_cast<const Classes*>(&optimizer) || ...); };
  return is_one_of.operator()<torch::optim::SGD, torch::optim::Adam, torch::optim::AdamW, torch::optim::RMSprop,
                              torch::optim::Adagrad>();
}

std::string state_shape_mismatch(torch::optim::Optimizer& optimizer, const torch::nn::Module& module) try {
  if (!is_elementwise(optimizer)) return {};
  const State state = optimizer_state_dict(optimizer);
  int64_t index = 0;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      const State* const values = state.at("state").find(index++);
      if (values == nullptr) continue;
      for (const auto& [key, value] : values->to_dict()) {
        if (!value.is_tensor() || value.to_tensor().dim() == 0 || value.to_tensor().sizes() == parameter.sizes())
          continue;
        std::string name = c10::str("parameter ", index - 1, " of the optimizer");
        for (const auto& item : module.named_parameters())
          if (item.value().is_same(parameter)) name = item.key();
        return c10::str(
            name, " has the shape ", parameter.sizes(), ", and the optimizer's state of it, ", to_text(key),
            ", the shape ", value.to_tensor().sizes(),
            ": the parameter was given other data (set_data) after steps were made; drop what the optimizer "
            "keeps of it, optimizer.state().erase(parameter.unsafeGetTensorImpl()), and it starts again");
      }
    }
  return {};
} catch (const UsageError&) {
  return {};
}

State optimizer_state_dict(torch::optim::Optimizer& optimizer) {
  if (const auto* ours = dynamic_cast<const Optimizer*>(&optimizer)) return ours->state_dict();
  State state;
  const bool is_known = with_known_types(optimizer, [&]<class Options, class ParamState>(Options*, ParamState*) {
    state = write<Options, ParamState>(optimizer);
  });
  return is_known ? state : archived(optimizer);
}

State parameter_group_options(torch::optim::Optimizer& optimizer, size_t group) {
  if (const auto* ours = dynamic_cast<const Optimizer*>(&optimizer)) return ours->group_state(group);
  State state;
  with_types(optimizer, [&]<class Options, class ParamState>(Options*, ParamState*) {
    state = write_options<Options>(optimizer.param_groups().at(group));
  });
  return state;
}

void load_optimizer_state_dict(torch::optim::Optimizer& optimizer, const State& state) {
  if (auto* ours = dynamic_cast<Optimizer*>(&optimizer)) {
    ours->load_state_dict(state);
    return;
  }
  const bool is_known = with_known_types(optimizer, [&]<class Options, class ParamState>(Options*, ParamState*) {
    read<Options, ParamState>(optimizer, state);
  });
  if (!is_known) load_archived(optimizer, state);
}

}  // namespace levin::optim
