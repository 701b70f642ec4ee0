#include <levin/modules/trained_weights.h>
#include <levin/modules/weights.h>
#include <levin/trainer/core/state/json_state.h>
#include <levin/trainer/core/state/safetensors.h>
#include <levin/trainer/core/state/state_file.h>

namespace levin {

void save_trained_weights(const torch::nn::Module& module, const State& learned, const std::filesystem::path& path) {
  if (learned.is_none()) return save_weights(module, path);
  if (path.extension() == ".safetensors")
    save_safetensors(module_state_dict(module), path, {{"format", "pt"}, {kLearnedFromData, json_of_state(learned)}});
  else
    save_state(module_state_dict(module), path, State::dict({{kLearnedFromData, learned}}));
}

State learned_from_data_in(const std::filesystem::path& path) {
  if (!is_safetensors_file(path)) return load_entry(path, kLearnedFromData);
  SafetensorsMetadata metadata;
  load_safetensors(path, &metadata);
  const auto found = metadata.find(kLearnedFromData);
  return found == metadata.end() ? State() : state_of_json(found->second);
}

}  // namespace levin
