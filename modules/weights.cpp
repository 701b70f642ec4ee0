#include <levin/modules/weights.h>
#include <levin/core/state/copy_bytes.h>
#include <levin/core/state/find_state_dict.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/parallel/tensor/tensor_parallel.h>
#include <levin/modules/renamed_by.h>

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace levin {
namespace fs = std::filesystem;
namespace {

/// Prefixes that torch.nn.DataParallel, torch.compile and LightningModules add to a network's names.
constexpr std::array<std::string_view, 4> kWrappers = {"module.", "_orig_mod.", "model.", "net."};

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

/// Returns the state dict inside a checkpoint of levin, of PyTorch Lightning or of a hand-written loop.
const State& unwrapped(const State& state) {
  if (!state.is_dict()) throw UsageError("a state dict was expected, found a ", state.kind());
  if (const State* inner = find_state_dict(state)) return *inner;
  for (const char* key : {"model_state_dict", "model"})
    if (const State* inner = state.find(key); inner && inner->is_dict()) return *inner;
  return state;
}

std::string found_text(const State& value) {
  return value.is_tensor() ? c10::str(value.to_tensor().sizes()) : std::string("a ") + value.kind();
}

/// A mapping from the names of a file to the names of a module.
struct Renaming {
  std::string removed = {}, added = {};
  bool skips_others = false;  ///< ignore keys that do not start with `removed`
  std::map<std::string, std::string> patterns = {};

  std::optional<std::string> operator()(const std::string& key) const {
    if (!key.starts_with(removed)) return std::nullopt;
    return added + renamed_by(patterns, key.substr(removed.size()));
  }
};

/// Returns the first component common to all names ("net."); empty if there is none.
std::string common_first_name(const NamedTensors& tensors) {
  std::string common;
  for (const auto& [name, tensor] : tensors) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return {};
    if (common.empty()) common = name.substr(0, dot + 1);
    if (!name.starts_with(common)) return {};
  }
  return common;
}

/// Returns the first renaming under which any key names a tensor of the module; the identity if there is none.
Renaming find_renaming(const NamedTensors& targets, const State::Dict& values) {
  std::unordered_set<std::string> names;
  for (const auto& [name, tensor] : targets) names.insert(name);
  const auto fits = [&](const Renaming& renaming) {
    return std::any_of(values.begin(), values.end(), [&](const State::Item& item) {
      const std::optional<std::string> name = renaming(to_text(item.first));
      return name && names.contains(*name);
    });
  };
  const auto all_begin = [&](const std::string& prefix) {
    return std::all_of(values.begin(), values.end(),
                       [&](const State::Item& item) { return to_text(item.first).starts_with(prefix); });
  };
  const std::string first_name = common_first_name(targets);
  for (std::string removed; !values.empty();) {
    for (const std::string& added : {std::string(), first_name})
      if (const Renaming renaming{removed, added}; fits(renaming)) return renaming;
    const auto* wrapper = std::find_if(kWrappers.begin(), kWrappers.end(),
                                       [&](std::string_view name) { return all_begin(removed + std::string(name)); });
    if (wrapper == kWrappers.end()) break;
    removed += *wrapper;
  }
  return {};
}

struct WeightMatch {
  WeightsReport report = {};
  std::vector<std::pair<at::Tensor, at::Tensor>> copies = {};  ///< pairs (destination, source)

  void copy() const {
    const c10::NoGradGuard no_grad;
    for (auto [target, source] : copies) {
      const bool as_bytes = target.is_cpu() && source.is_cpu() && target.scalar_type() == source.scalar_type() &&
                            target.is_contiguous() && source.is_contiguous() && !source.is_conj() && !source.is_neg() &&
                            target.storage().resizable() &&      // memory divided among ranks is not
                            source.storage().data() != nullptr;  // nor is there what is read when it is used
      if (as_bytes) {
        copy_bytes(target.mutable_data_ptr(), source.const_data_ptr(), target.nbytes());
        // As copy_ does, so that autograd detects uses of replaced values.
        torch::autograd::impl::bump_version(target);
      } else {
        target.copy_(source);
      }
    }
  }
};

/// The tensors of a module that weights are loaded into. Of some of them this rank may have a part.
struct Targets {
  explicit Targets(const torch::nn::Module& module)
      : tensors(named_tensors(module)), partitions(parallel::partitions_of(module)) {}

  /// Returns what of `saved` is this rank's; nothing if the shapes differ.
  std::optional<at::Tensor> own_part(const std::string& name, const at::Tensor& target, const at::Tensor& saved) const {
    if (saved.sizes() == target.sizes()) return saved;
    const auto partition = partitions.find(name);
    if (partition == partitions.end() || !partition->second.is_whole(saved, target)) return {};
    return partition->second.part_of(saved);
  }
  std::string expected_shape(const std::string& name, const at::Tensor& target) const {
    const auto partition = partitions.find(name);
    if (partition == partitions.end()) return c10::str(target.sizes());
    return c10::str(at::IntArrayRef(partition->second.whole_sizes(target)));
  }

  NamedTensors tensors;
  std::map<std::string, parallel::Partition> partitions;
};

bool is_same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.is_same(b) || (a.has_storage() && b.has_storage() && a.is_alias_of(b) && a.numel() > 0 &&
                          a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
                          a.strides() == b.strides() && a.scalar_type() == b.scalar_type());
}

/// Patterns may give several weights of a file one name.
void check_distinct(const State::Dict& values, const Renaming& renaming) {
  if (renaming.patterns.empty()) return;
  std::unordered_map<std::string, std::string> keys;
  for (const auto& [key, value] : values) {
    const auto name = renaming(to_text(key));
    if (!name) continue;
    if (const auto [at, is_new] = keys.emplace(*name, to_text(key)); !is_new)
      throw UsageError("two weights of the file become ", *name, ": ", at->second, " and ", to_text(key));
  }
}

WeightMatch match(const Targets& targets, const State::Dict& values, const Renaming& renaming) {
  std::unordered_map<std::string, const State*> by_name;
  for (const auto& [key, value] : values)
    if (const auto name = renaming(to_text(key))) by_name[*name] = &value;
  check_distinct(values, renaming);
  WeightMatch match = {.report = {.removed_prefix = renaming.removed, .added_prefix = renaming.added}};
  std::unordered_set<std::string> used;
  NamedTensors left_out;
  for (const auto& [name, target] : targets.tensors) {
    used.insert(name);
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      left_out.emplace_back(name, target);
      continue;
    }
    const State& value = *found->second;
    const auto own = value.is_tensor() ? targets.own_part(name, target, value.to_tensor()) : std::nullopt;
    if (!own) {
      match.report.mismatched.push_back({name, found_text(value), targets.expected_shape(name, target)});
      continue;
    }
    match.report.loaded.push_back(name);
    match.copies.emplace_back(target, *own);
  }
  // Of tied weights a file may have one name alone (safetensors, save_pretrained).
  for (const auto& [name, target] : left_out) {
    const bool is_tied = std::ranges::any_of(
        match.copies, [&, &missing = target](const auto& copy) { return is_same_memory(copy.first, missing); });
    if (is_tied)
      match.report.loaded.push_back(name);
    else
      match.report.missing.push_back({name, "", targets.expected_shape(name, target)});
  }
  for (const auto& [key, value] : values) {
    const auto name = renaming(to_text(key));
    const bool is_skipped = !name && renaming.skips_others;
    if (!is_skipped && !(name && used.contains(*name)))
      match.report.unexpected.push_back({to_text(key), found_text(value), ""});
  }
  return match;
}

[[noreturn]] void fail_to_fit(const torch::nn::Module& module, const std::string& text) {
  throw UsageError("the weights do not fit the module ", module.name(), ":", text);
}

WeightsReport load_matching(torch::nn::Module& module, const State::Dict& values, const WeightsOptions& options) {
  const Targets targets(module);
  check_renaming(options.renamed);
  const bool is_given = !options.prefix.empty() || !options.renamed.empty() || !options.added_prefix.empty();
  const Renaming renaming = is_given ? Renaming{options.prefix, options.added_prefix,
                                                /*skips_others=*/!options.prefix.empty(), options.renamed}
                                     : find_renaming(targets.tensors, values);
  const WeightMatch found = match(targets, values, renaming);
  if (renaming.skips_others && std::none_of(values.begin(), values.end(), [&](const State::Item& item) {
        return to_text(item.first).starts_with(options.prefix);
      }))
    throw UsageError("no key begins with the prefix ", options.prefix,
                     values.empty() ? "" : "; the first is " + to_text(values.front().first));
  if (options.strict && !found.report.is_complete()) fail_to_fit(module, found.report.text());
  if (found.copies.empty() && !targets.tensors.empty()) fail_to_fit(module, " nothing does" + found.report.text());
  found.copy();
  return found.report;
}

bool is_zip_file(const fs::path& path) {
  char magic[4] = {};
  return std::ifstream(path, std::ios::binary).read(magic, 4) && std::string_view(magic, 4) == "PK\x03\x04";
}

WeightMatch checked_match(const torch::nn::Module& module, const State& state, const LoadStateDictOptions& options) {
  WeightMatch found = match(Targets(module), unwrapped(state).to_dict(), {});
  if (!options.strict) {
    found.report.missing.clear();
    found.report.unexpected.clear();
  }
  if (!found.report.is_complete()) fail_to_fit(module, found.report.text());
  return found;
}

}  // namespace

State module_state_dict(const torch::nn::Module& module) {
  State state = State::dict();
  for (auto& [name, tensor] : named_tensors(module)) state.to_dict().emplace_back(name, State(tensor.detach()));
  return state;
}

void load_module_state_dict(torch::nn::Module& module, const State& state, const LoadStateDictOptions& options) {
  checked_match(module, state, options).copy();
}

void check_module_state_dict(const torch::nn::Module& module, const State& state, const LoadStateDictOptions& options) {
  checked_match(module, state, options);
}

State load_state_dict_file(const fs::path& path) {
  const bool is_named_safetensors = path.extension() == ".safetensors" && !is_zip_file(path);
  if (is_named_safetensors || is_safetensors_file(path)) return load_safetensors(path);
  const State state = load_state(path, kStateDict);
  try {
    return unwrapped(state);
  } catch (const UsageError& error) {
    throw UsageError(path.string(), ": ", error.what());
  }
}

WeightsReport load_weights(torch::nn::Module& module, const fs::path& path, const WeightsOptions& options) {
  const State state = load_state_dict_file(path);
  try {
    return load_matching(module, state.to_dict(), options);
  } catch (const UsageError& error) {
    throw UsageError(path.string(), ": ", error.what());
  }
}

void save_weights(const torch::nn::Module& module, const fs::path& path) {
  if (path.extension() == ".safetensors") return save_safetensors(module_state_dict(module), path);
  save_state(module_state_dict(module), path);
}

}  // namespace levin
