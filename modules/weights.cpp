#include <levin/modules/weights.h>
#include <levin/trainer/core/error.h>
#include <levin/trainer/core/state_file.h>

#include <c10/core/GradMode.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace levin {
namespace {

constexpr const char* kStateDict = "state_dict";

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

void collect(const torch::nn::Module& module, const std::string& prefix, NamedTensors& tensors) {
  for (const auto& parameter : module.named_parameters(/*recurse=*/false))
    tensors.emplace_back(prefix + parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers(/*recurse=*/false))
    tensors.emplace_back(prefix + buffer.key(), buffer.value());
  for (const auto& child : module.named_children())
    if (child.value()) collect(*child.value(), prefix + child.key() + ".", tensors);
}

NamedTensors named_tensors(const torch::nn::Module& module) {
  NamedTensors tensors;
  collect(module, "", tensors);
  return tensors;
}

/// What does not fit, one line per kind.
class Mismatches {
 public:
  void add(const std::string& kind, std::string key) {
    for (auto& [known, keys] : kinds_)
      if (known == kind) return keys.push_back(std::move(key));
    kinds_.push_back({kind, {std::move(key)}});
  }

  bool empty() const { return kinds_.empty(); }

  std::string text() const {
    constexpr size_t kShown = 10;
    std::string text;
    for (const auto& [kind, keys] : kinds_) {
      text += "\n  " + kind + ": ";
      for (size_t i = 0; i < std::min(keys.size(), kShown); ++i) text += (i ? ", " : "") + keys[i];
      if (keys.size() > kShown) text += " and " + std::to_string(keys.size() - kShown) + " more";
    }
    return text;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds_;
};

const State& unwrapped(const State& state) {
  if (!state.is_dict()) throw UsageError("a state dict was expected, found a ", state.kind());
  const State* inner = state.find(kStateDict);
  return inner && inner->is_dict() ? *inner : state;
}

std::string shape_text(const at::Tensor& tensor) { return c10::str(tensor.sizes()); }

}  // namespace

State module_state_dict(const torch::nn::Module& module) {
  State state = State::dict();
  for (auto& [name, tensor] : named_tensors(module)) state.to_dict().emplace_back(name, State(tensor.detach()));
  return state;
}

void load_module_state_dict(torch::nn::Module& module, const State& state, const LoadStateDictOptions& options) {
  std::unordered_map<std::string, const State*> values;
  for (const auto& [key, value] : unwrapped(state).to_dict()) values[to_text(key)] = &value;

  const NamedTensors targets = named_tensors(module);
  std::unordered_set<std::string> used;
  Mismatches mismatches;
  for (const auto& [name, target] : targets) {
    used.insert(name);
    const auto found = values.find(name);
    if (found == values.end()) {
      if (options.strict) mismatches.add("missing", name + " " + shape_text(target));
    } else if (!found->second->is_tensor()) {
      mismatches.add("not a tensor", name + " (a " + found->second->kind() + ")");
    } else if (found->second->to_tensor().sizes() != target.sizes()) {
      const std::string found_shape = shape_text(found->second->to_tensor());
      mismatches.add("of another shape",
                     name + " (is " + found_shape + ", the module's is " + shape_text(target) + ")");
    }
  }
  for (const auto& [key, value] : unwrapped(state).to_dict())
    if (options.strict && !used.contains(to_text(key))) mismatches.add("unexpected", to_text(key));
  if (!mismatches.empty())
    throw UsageError("the weights do not fit the module ", module.name(), ":", mismatches.text());

  const c10::NoGradGuard no_grad;
  for (auto [name, target] : targets)
    if (const auto found = values.find(name); found != values.end()) target.copy_(found->second->to_tensor());
}

void load_weights(torch::nn::Module& module, const std::filesystem::path& path) {
  const State state = load_state(path, kStateDict);
  try {
    load_module_state_dict(module, state);
  } catch (const UsageError& error) {
    throw UsageError(path.string(), ": ", error.what());
  }
}

void save_weights(const torch::nn::Module& module, const std::filesystem::path& path) {
  save_state(module_state_dict(module), path);
}

}  // namespace levin
