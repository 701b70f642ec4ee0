#include <levin/modules/trained_weights.h>
#include <levin/core/state/json_state.h>
#include <levin/core/state/safetensors.h>
#include <levin/core/state/state_file.h>
#include <levin/data/remote/local_path.h>
#include <levin/modules/weights.h>

namespace levin {

void save_trained_weights(const torch::nn::Module& module, const State& learned, const std::filesystem::path& path) {
  save_trained_weights(module_state_dict(module), learned, path);
}

void save_trained_weights(const State& weights, const State& learned, const std::filesystem::path& path) {
  if (path.extension() == ".safetensors") {
    SafetensorsMetadata metadata = {{"format", "pt"}};
    if (!learned.is_none()) metadata[kLearnedFromData] = json_of_state(learned);
    save_safetensors(weights, path, metadata);
  } else if (learned.is_none()) {
    save_state(weights, path);
  } else {
    save_state(weights, path, State::dict({{kLearnedFromData, learned}}));
  }
}

State learned_from_data_in(const std::filesystem::path& given) {
  const std::filesystem::path path = local_path(given);
  if (!is_safetensors_file(path)) return load_entry(path, kLearnedFromData);
  SafetensorsMetadata metadata;
  load_safetensors(path, &metadata);
  const auto found = metadata.find(kLearnedFromData);
  return found == metadata.end() ? State() : state_of_json(found->second);
}

}  // namespace levin
