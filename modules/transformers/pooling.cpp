#include <levin/modules/transformers/pooling.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/modules/transformers/config_fields.h>

#include <nlohmann/json.hpp>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kModulesFile = "modules.json";

/// Returns the kind of pooling that a config says: one of the flags `pooling_mode_...`, or a word.
PoolingKind pooling_kind_of(const fs::path& file) {
  const nlohmann::ordered_json json = read_json_file(file);
  ConfigFields fields(json, file.string() + ": ");
  const std::string word = fields.word("pooling_mode", "");
  if (!word.empty()) {
    const Choice<PoolingKind> kind(word);
    if (!kind.is_known() || kind == PoolingKind::Auto)
      fields.fail("pooling_mode", "levin does not compute ", word, "; it computes mean and cls");
    return kind;
  }
  for (const char* const other : {"max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"})
    fields.require(std::string("pooling_mode_") + other, false);
  const bool is_cls = fields.flag("pooling_mode_cls_token", false);
  if (is_cls == fields.flag("pooling_mode_mean_tokens", !is_cls))
    fields.fail("pooling_mode_mean_tokens", "levin computes either the mean of the tokens or the first one");
  return is_cls ? PoolingKind::Cls : PoolingKind::Mean;
}

/// A folder in the folder, not one elsewhere on the machine.
bool is_plain_folder(const std::string& name) {
  return !name.empty() && name.find_first_of("/\\") == std::string::npos && !name.starts_with(".");
}

}  // namespace

Pooling read_pooling(const fs::path& folder) {
  Pooling pooling;
  if (!fs::exists(folder / kModulesFile)) return pooling;
  const std::string file = (folder / kModulesFile).string();
  const nlohmann::ordered_json json = read_json_file(folder / kModulesFile);
  if (!json.is_array()) throw UsageError(file, ": a list of modules was expected");
  for (size_t i = 0; i < json.size(); ++i) {
    ConfigFields fields(json[i], c10::str(file, ": [", i, "]."));
    const std::string type = fields.word("type"), path = fields.word("path", "");
    const std::string kind = type.substr(type.rfind('.') + 1);
    if (kind == "Pooling" && !is_plain_folder(path)) fields.fail("path", "the name of a folder was expected");
    if (kind == "Pooling")
      pooling.kind = pooling_kind_of(folder / path / "config.json");
    else if (kind == "Normalize")
      pooling.normalizes = true;
    else if (kind != "Transformer")
      fields.fail("type", "levin does not compute ", type, "; it computes Transformer, Pooling and Normalize");
    else if (!path.empty())
      fields.fail("path", "is ", path, "; set model.folder to that folder in the folder");
  }
  return pooling;
}

std::map<std::string, std::string> pooling_files(const Pooling& pooling, int64_t size) {
  using Json = nlohmann::ordered_json;
  Json modules = Json::array();
  const auto add = [&](const char* name, const std::string& path) {
    modules.push_back({{"idx", modules.size()},
                       {"name", std::to_string(modules.size())},
                       {"path", path},
                       {"type", std::string("sentence_transformers.models.") + name}});
  };
  add("Transformer", "");
  add("Pooling", "1_Pooling");
  if (pooling.normalizes) add("Normalize", "2_Normalize");
  const bool is_cls = pooling.kind == PoolingKind::Cls;
  const Json config = {{"word_embedding_dimension", size},
                       {"pooling_mode_cls_token", is_cls},
                       {"pooling_mode_mean_tokens", !is_cls},
                       {"pooling_mode_max_tokens", false},
                       {"pooling_mode_mean_sqrt_len_tokens", false}};
  return {{kModulesFile, json_text(modules, 2) + "\n"}, {"1_Pooling/config.json", json_text(config, 2) + "\n"}};
}

at::Tensor pooled(const at::Tensor& hidden, const at::Tensor& mask, const Pooling& pooling) {
  at::Tensor vectors;
  if (pooling.kind == PoolingKind::Cls) {
    vectors = hidden.select(1, 0);
  } else if (mask.defined()) {
    const at::Tensor weights = mask.to(hidden.device(), hidden.scalar_type()).unsqueeze(2);
    vectors = (hidden * weights).sum(1) / weights.sum(1).clamp_min(1e-9);
  } else {
    vectors = hidden.mean(1);
  }
  if (!pooling.normalizes) return vectors;
  return vectors / at::linalg_vector_norm(vectors, 2, at::IntArrayRef({1}), /*keepdim=*/true).clamp_min(1e-12);
}

}  // namespace levin::nn
