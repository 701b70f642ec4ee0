#include <levin/modules/transformers/encoder_module.h>
#include <ATen/core/grad_mode.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/name_pattern.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/transformers/load_with_adapter.h>
#include <levin/modules/transformers/save_module.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string_view>
#include <utility>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

/// The heads of other models of transformers, for other tasks.
constexpr std::array<std::string_view, 14> kOtherHeads = {"cls.",
                                                          "classifier.",
                                                          "pre_classifier.",
                                                          "lm_head.",
                                                          "head.",
                                                          "decoder.",
                                                          "qa_outputs.",
                                                          "vocab_",
                                                          "discriminator_predictions.",
                                                          "generator_predictions.",
                                                          "generator_lm_head.",
                                                          "score.",
                                                          "logits_proj.",
                                                          "sequence_summary."};

bool is_other_head(const std::string& name) {
  return std::ranges::any_of(kOtherHeads, [&](std::string_view begin) { return name.starts_with(begin); });
}

/// Old files of BERT have other names for the weights of a norm.
std::string new_norm_name(const std::string& name) {
  for (const auto& [old, fresh] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")})
    if (name.ends_with(std::string("LayerNorm") + old)) return name.substr(0, name.rfind('.')) + fresh;
  return name;
}

bool has_base(const PretrainedTensors& tensors, const std::string& base) {
  return std::ranges::any_of(tensors, [&](const auto& item) { return item.first.starts_with(base + "."); });
}

/// Gives tensors the names that they have in a model with a head.
PretrainedTensors named_as_model(PretrainedTensors tensors, const std::string& base) {
  const bool is_named = has_base(tensors, base);
  PretrainedTensors named;
  for (auto& [name, tensor] : tensors)
    named[new_norm_name(is_named || is_other_head(name) ? name : base + "." + name)] = std::move(tensor);
  return named;
}

void check_encoder_tensors(const EncoderConfig& config, const PretrainedTensors& tensors, const fs::path& folder) {
  const std::string name = config.names.base + "." + config.names.words + ".weight";
  const auto found = tensors.find(name);
  const std::vector<int64_t> expected = {config.vocabulary, config.embedding};
  if (found != tensors.end() && found->second.sizes() != expected)
    throw UsageError(folder.string(), ": config.json gives a vocabulary of ", config.vocabulary, " tokens of ",
                     config.embedding, " numbers, and ", name, " is ", found->second.sizes());
  const auto hidden = static_cast<double>(config.hidden);
  const double of_layer = hidden * (4 * hidden + 2 * static_cast<double>(config.intermediate));
  check_weight_count(
      static_cast<double>(config.vocabulary + config.position_rows()) * static_cast<double>(config.embedding) +
          of_layer * static_cast<double>(config.layers),
      tensors, folder);
}

/// Whether a parameter belongs to one of these layers.
bool is_in(const std::string& name, const std::vector<std::string>& layers) {
  return std::ranges::any_of(layers, [&](const std::string& layer) { return name.starts_with(layer + "."); });
}

/// Draws normal numbers with this deviation, within `cutoff` deviations if that is above 0.
void draw_normal(at::Tensor& weight, double deviation, double cutoff) {
  if (cutoff == 0) {
    weight.normal_(0, deviation);
    return;
  }
  const double most = std::erf(cutoff / std::numbers::sqrt2);
  weight.uniform_(-most, most).erfinv_().mul_(deviation * std::numbers::sqrt2);
}

/// Draws the weights of new layers as transformers does.
void draw_head(torch::nn::Module& module, const std::vector<std::string>& layers, const EncoderConfig& config) {
  const at::NoGradGuard no_grad;
  const NewHeadConfig& how = config.new_head;
  for (auto& item : module.named_parameters()) {
    if (!is_in(item.key(), layers)) continue;
    const bool is_output = is_in(item.key(), {config.sequence_head.output});
    const double own = is_output ? how.output_range : how.dense_range;
    if (item.key().ends_with("bias"))
      item.value().zero_();
    else if (item.value().dim() == 1)
      item.value().fill_(1);  // of a norm
    else
      draw_normal(item.value(), own > 0 ? own : config.initializer_range, how.cutoff);
  }
}

}  // namespace

EncoderModule::Folder EncoderModule::open(const EncoderModuleOptions& options) {
  base_options_ = options;
  const fs::path folder = open_model_folder(options.folder, "model.folder");
  const nlohmann::ordered_json json = read_json_file(folder / "config.json");
  Folder opened = {.config = encoder_config(json, (folder / "config.json").string(), options.ignored_fields)};
  config_text_ = json.dump();
  PretrainedTensors tensors = read_pretrained_tensors(folder);
  is_bare_ = !has_base(tensors, opened.config.names.base);
  opened.tensors = named_as_model(std::move(tensors), opened.config.names.base);
  check_encoder_tensors(opened.config, opened.tensors, folder);
  encoder = register_module(opened.config.names.base, std::make_shared<Encoder>(opened.config));
  return opened;
}

void EncoderModule::load(const Folder& folder, const Loading& loading) {
  if (base_options_.dtype == PretrainedDtype::File) to(dtype_of_pretrained(folder.tensors, base_options_.folder));
  draw_head(*this, loading.head, config());
  const std::string base = config().names.base + ".";
  // The pooler of a model whose head does not use it.
  const auto is_left = [&](const std::string& name) {
    return is_other_head(name) || name.starts_with(base + "pooler.");
  };
  const TensorRules rules = {.family = config().family,
                             .is_left = is_left,
                             .may_be_new = [&](const std::string& name) { return is_in(name, loading.head); },
                             .replaces = loading.replaces_head};
  TensorReport report;
  load_with_adapter(*this, base_options_.initial,
                    [&] { report = load_tensors(*this, folder.tensors, rules, base_options_.folder); });
  keeps_bare_ = loading.keeps_rest && is_bare_;
  for (const std::string& name : report.left)
    if (loading.keeps_rest && name.starts_with(base)) kept_.emplace_back(name, folder.tensors.at(name));
  if (!report.kept.empty())
    console::info(base_options_.folder + ": these weights are new, and are to be trained: " + first_names(report.kept));
  if (!report.left.empty() && kept_.size() < report.left.size())
    console::info(base_options_.folder + ": these weights are not used: " + first_names(report.left));
  if (!base_options_.initial.adapter) return;
  // A head is trained whole beside adapters, as PEFT does it for classifiers.
  for (auto& item : named_parameters()) {
    const bool is_head = is_in(item.key(), loading.head) && !item.key().starts_with(base);
    const bool is_adapter = item.key().find(".lora_") != std::string::npos;
    const bool is_frozen = std::ranges::any_of(
        base_options_.initial.frozen, [&](const std::string& pattern) { return names_parameter(pattern, item.key()); });
    if (is_head && !is_adapter && !is_frozen) item.value().set_requires_grad(true);
  }
}

at::Tensor EncoderModule::hidden_of(const Batch& batch, const std::string& prefix) {
  EncoderInputs inputs;
  if (batch.contains(prefix + "attention_mask")) inputs.attention_mask = batch[prefix + "attention_mask"];
  if (batch.contains(prefix + "token_type_ids")) inputs.token_type_ids = batch[prefix + "token_type_ids"];
  return encoder->forward(prefix.empty() ? batch.input() : batch[prefix + "input"], inputs);
}

void EncoderModule::save_pretrained(const fs::path& folder, uint64_t most_bytes) {
  const std::string base = config().names.base + ".";
  const auto in_file = [&](const std::string& name) {
    return keeps_bare_ && name.starts_with(base) ? name.substr(base.size()) : name;
  };
  const FileForm form = [&](const std::string& name, const at::Tensor& tensor) {
    return std::pair(in_file(name), tensor);
  };
  NamedWeights kept;
  for (const auto& [name, tensor] : kept_) kept.emplace_back(in_file(name), tensor);
  PretrainedFiles files = {.config = config_text(), .source = local_folder(base_options_.folder)};
  add_files(files);
  save_module(*this, files, form, kept, folder, most_bytes);
}

OptimizerConfig EncoderModule::configure_optimizers() {
  return configured_optimizer(base_options_.optimizer, base_options_.lr_scheduler, *this, base_options_.groups);
}

void EncoderModule::on_fit_end(Run& /*run*/) {
  if (base_options_.save_to.empty()) return;
  write_output("model.save_to", base_options_.save_to, [this](const auto& folder) { save_pretrained(folder); });
}

}  // namespace levin::nn
