#include <levin/modules/images/pretrained_image_classifier.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <levin/core/run/run.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/images/image_families.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/transformers/data_classes.h>
#include <levin/modules/transformers/load_tensors.h>
#include <levin/modules/transformers/save_module.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMoreLabels = "set model.num_labels";

/// Gives tensors the names that they have below the head. Files of a bare network lack the base's name.
PretrainedTensors named_as_classifier(PretrainedTensors tensors, const ImageNetwork& network) {
  const auto has_base = [&](const auto& item) { return item.first.starts_with(network.base); };
  if (network.base.empty() || std::ranges::any_of(tensors, has_base)) return tensors;
  PretrainedTensors named;
  for (auto& [name, tensor] : tensors) {
    const bool is_head = name.starts_with(network.head + ".");
    named[is_head ? name : network.base + name] = std::move(tensor);
  }
  return named;
}

std::optional<int64_t> rows_of_head(const PretrainedTensors& tensors, const ImageNetwork& network) {
  const auto found = tensors.find(network.head + ".weight");
  if (found == tensors.end() || found->second.dim() != 2) return {};
  return found->second.size(0);
}

/// Returns the metadata of the weights' file; of several files, which transformers writes, those that it writes.
SafetensorsMetadata metadata_of(const fs::path& folder) {
  SafetensorsMetadata metadata = {{"format", "pt"}};
  const fs::path file = folder / "model.safetensors";
  if (!fs::exists(file)) return metadata;
  metadata.clear();
  load_safetensors(file, &metadata);
  return metadata;
}

}  // namespace

PretrainedImageClassifier::PretrainedImageClassifier(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  const fs::path folder = open_model_folder(options.folder, "model.folder");
  const std::string file = (folder / "config.json").string();
  const nlohmann::ordered_json json = read_json_file(file);
  config_text_ = json.dump();
  is_timm_ = json.is_object() && json.contains("architecture") && !json.contains("model_type");
  network_ = is_timm_ ? timm_image_network(json, file, options.ignored_fields)
                      : transformers_image_network(json, file, options.ignored_fields);
  if (options.interpolate_positions && !network_.image)
    throw UsageError("model.interpolate_positions: a ", network_.family,
                     " has no table of positions, and takes images of any size; set it to false");
  const PretrainedTensors tensors = named_as_classifier(read_pretrained_tensors(folder), network_);
  metadata_ = metadata_of(folder);
  read_labels(json, file, rows_of_head(tensors, network_));
  make_network(tensors);
  load_initial_weights(*this, options.initial);
  named_metrics_.set(*this, "PretrainedImageClassifier", options.measured, {"loss", "acc", "mae"});
  named_metrics_.use(options.problem.task(static_cast<int64_t>(labels_.names.size())));
}

void PretrainedImageClassifier::read_labels(const nlohmann::ordered_json& json, const std::string& file,
                                            std::optional<int64_t> rows) {
  const auto named = static_cast<int64_t>(options.labels.size());
  if (std::set<std::string>(options.labels.begin(), options.labels.end()).size() != options.labels.size())
    throw UsageError("model.labels: names a class twice");
  if (options.num_labels && named > 0 && *options.num_labels != named)
    throw UsageError("model.num_labels: is ", *options.num_labels, ", and model.labels has ", named,
                     " names; set one of the two");
  std::optional<ImageLabels> own = read_image_labels(json, file, is_timm_);
  if (!own && rows) own = unnamed_labels(*rows);
  if (own && rows && static_cast<int64_t>(own->names.size()) != *rows)
    throw UsageError(file, ": has ", own->names.size(), " classes, and ", network_.head, ".weight has ", *rows);
  const std::optional<int64_t> wanted = named > 0 ? std::optional(named) : options.num_labels;
  if (!own && !wanted)
    throw UsageError("model.num_labels: ", options.folder, " has no head, whose classes would tell it; set it");
  const int64_t count = wanted.value_or(own ? static_cast<int64_t>(own->names.size()) : 0);
  has_new_head_ = rows != count;
  labels_ = own && static_cast<int64_t>(own->names.size()) == count ? *own : unnamed_labels(count);
  has_other_names_ = !own || static_cast<int64_t>(own->names.size()) != count;
  if (named > 0) {
    has_other_names_ = has_other_names_ || labels_.names != options.labels;
    labels_ = {.names = options.labels, .are_named = true};
  }
}

void PretrainedImageClassifier::make_network(const PretrainedTensors& tensors) {
  PretrainedParts parts(tensors);
  features_ = network_.make(parts, *this);
  const auto classes = static_cast<int64_t>(labels_.names.size());
  // Before the memory of a new head is taken: its sizes are those of the files.
  if (has_new_head_) parts.leave(network_.head);
  if (!has_new_head_) head_ = parts.linear({*this}, network_.head, network_.features, classes);
  parts.check(network_.family, options.folder, network_.left);
  if (!has_new_head_) return;
  head_ = new_linear(*this, network_.head, network_.features, classes);
  new_parameters_ = {network_.head + ".weight", network_.head + ".bias"};
  console::info(options.folder + ": the head is new, for " + std::to_string(classes) +
                " classes: " + first_names(new_parameters_));
}

at::Tensor PretrainedImageClassifier::forward(const at::Tensor& images) {
  const auto& size = network_.image;
  const bool fits =
      images.dim() == 4 && images.size(1) == network_.channels && images.is_floating_point() &&
      (!size || options.interpolate_positions || (images.size(2) == (*size)[0] && images.size(3) == (*size)[1]));
  if (!fits)
    throw UsageError("PretrainedImageClassifier: a ", network_.family, " takes images [batch, ", network_.channels,
                     ", ", size ? c10::str((*size)[0], ", ", (*size)[1]) : "height, width", "] of floating point, got ",
                     images.sizes(), " of ", images.scalar_type(), "; set data.preprocessor to ", options.folder,
                     size ? ", or model.interpolate_positions" : "");
  const at::Tensor features = features_(images);
  const double rate = network_.head_dropout;
  return head_->forward(rate > 0 ? at::dropout(features, rate, is_training()) : features);
}

void PretrainedImageClassifier::save_pretrained(const fs::path& folder, uint64_t most_bytes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(config_text_);
  if (has_other_names_) write_image_labels(json, labels_, is_timm_);
  const FileForm form = [](const std::string& name, const at::Tensor& tensor) {
    return std::pair<std::string, at::Tensor>(name, tensor);
  };
  save_module(
      *this,
      {.config = json.dump(), .says_dtype = !is_timm_, .metadata = metadata_, .source = local_folder(options.folder)},
      form, {}, folder, most_bytes);
}

void PretrainedImageClassifier::name_classes(const std::vector<std::string>& names) {
  if (labels_.are_named || names.size() != labels_.names.size()) return;
  labels_ = {.names = names, .are_named = true};
  has_other_names_ = true;
}

void PretrainedImageClassifier::on_fit_start(Run& run) {
  const std::vector<std::string> names = classes_of_data(run.data_module());
  if (names.empty()) return;
  check_classes_of_data(names, labels_.names, labels_.are_named);
  name_classes(names);
}

StepOutput PretrainedImageClassifier::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = forward(batch.input());
  const at::Tensor loss = options.problem.loss(logits, batch.target(), kMoreLabels);
  log("train_loss", loss, {.prog_bar = true});
  options.problem.log_named(named_metrics_, "train", logits, batch.target());
  return loss;
}

void PretrainedImageClassifier::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val"); }

void PretrainedImageClassifier::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test"); }

void PretrainedImageClassifier::evaluate(const Batch& batch, const std::string& stage) {
  const at::Tensor logits = forward(batch.input());
  log(stage + "_loss", options.problem.loss(logits, batch.target(), kMoreLabels));
  options.problem.log_scores(*this, named_metrics_, stage, logits, batch.target());
}

Batch PretrainedImageClassifier::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(options.problem.predicted(forward(batch.input())));
}

std::map<std::string, BatchFunction> PretrainedImageClassifier::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input())); }}};
}

OptimizerConfig PretrainedImageClassifier::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

void PretrainedImageClassifier::on_fit_end(Run& /*run*/) {
  if (options.save_to.empty()) return;
  write_output("model.save_to", options.save_to, [this](const auto& folder) { save_pretrained(folder); });
}

}  // namespace levin::nn
