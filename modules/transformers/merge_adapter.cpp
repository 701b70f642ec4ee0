#include <levin/modules/transformers/merge_adapter.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/state/file_bytes.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/adapters/low_rank_adapter.h>
#include <levin/modules/adapters/peft_config.h>
#include <levin/modules/adapters/peft_weights.h>
#include <levin/modules/transformers/pretrained_tensors.h>
#include <levin/modules/transformers/save_pretrained.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace levin {
namespace {

/// Finds the tensor of a model's files that an adapter's name stands for. Files of a bare decoder lack the beginning of
/// the adapter's names.
at::Tensor& tensor_named(nn::PretrainedTensors& tensors, const std::string& name, const std::string& file) {
  std::vector<std::string> all;
  for (const auto& [known, tensor] : tensors) all.push_back(known);
  if (const auto found = adapters::name_in(all, name)) return tensors[*found];
  for (const std::string& known : all)
    if (name.ends_with("." + known)) return tensors[known];
  throw UsageError(file, ": the model has no ", name, did_you_mean(name, all));
}

/// Returns whether the linear layers of a model store their weights as [in, out]: transformers' Conv1D.
bool has_transposed_layers(const std::filesystem::path& config) {
  const nlohmann::ordered_json json = read_json_file(config);
  const auto type = json.is_object() ? json.find("model_type") : json.end();
  return json.is_object() && type != json.end() && (*type == "gpt2" || *type == "openai-gpt");
}

}  // namespace

int64_t merge_adapter(const std::filesystem::path& base, const std::filesystem::path& adapter,
                      const std::filesystem::path& out, uint64_t most_bytes) {
  const at::NoGradGuard no_grad;
  const std::string file = (adapter / adapters::kPeftWeightsFile).string();
  const adapters::PeftConfig config = adapters::read_peft_config(adapter / adapters::kPeftConfigFile);
  const adapters::PeftWeights weights = adapters::read_peft_weights(file);
  adapters::check_magnitudes(weights, config.dora, file);
  nn::PretrainedTensors tensors = nn::read_pretrained_tensors(base);
  const bool transposes_square = config.fan_in_fan_out || has_transposed_layers(base / "config.json");
  for (const auto& [layer, factors] : weights.factors) {
    at::Tensor& weight = tensor_named(tensors, layer + ".weight", file);
    const double scale = adapters::scale_of(config, layer, factors.a.size(0));
    const bool is_transposed = adapters::is_transposed(weight.sizes(), factors, transposes_square, file + ": " + layer);
    const at::Tensor change =
        adapters::product_of(factors.a.to(at::kFloat), factors.b.to(at::kFloat), scale, is_transposed);
    weight = adapters::merged_weight(weight, change, factors.magnitude, is_transposed);
  }
  for (const auto& [name, value] : weights.others) {
    at::Tensor& tensor = tensor_named(tensors, name, file);
    if (tensor.sizes() != value.sizes())
      throw UsageError(file, ": ", name, " is of ", value.sizes(), ", in the model of ", tensor.sizes());
    tensor = value.to(tensor.scalar_type());
  }
  const nn::NamedWeights named(tensors.begin(), tensors.end());
  const FileBytes text = map_file_bytes(base / "config.json");
  nn::write_pretrained_folder({.config = std::string(text.text()), .source = base}, named, out, most_bytes);
  return static_cast<int64_t>(weights.factors.size());
}

}  // namespace levin
