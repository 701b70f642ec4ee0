#include <levin/modules/transformers/causal_lm.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/adapters/adapted_weight.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/parallel/tensor/vocabulary_cross_entropy.h>
#include <levin/modules/recording/is_recording.h>
#include <levin/modules/training_modes.h>
#include <levin/modules/transformers/blocked_loss.h>
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/fused/fused_operators.h>
#include <levin/modules/transformers/load_pretrained.h>
#include <levin/modules/transformers/load_tensors.h>
#include <levin/modules/transformers/load_with_adapter.h>
#include <levin/modules/transformers/padded_batch.h>
#include <levin/modules/transformers/save_module.h>

#include <algorithm>
#include <map>
#include <utility>

namespace levin::nn {
namespace fs = std::filesystem;
namespace {

/// The cross entropy of the targets that count. Their number is on the device, so that nothing waits for it.
at::Tensor mean_of_counted(const at::Tensor& sum, const at::Tensor& target) {
  return sum / target.ne(kIgnoredTarget).sum().clamp_min(1);
}

/// The sum of the cross entropies of logits [rows, vocabulary] and targets [rows].
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor rows = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  const at::Tensor targets = target.to(at::kLong);
  return fused::can_fuse(rows) ? fused::cross_entropy_sum(rows, targets, kIgnoredTarget)
                               : at::cross_entropy_loss(rows, targets, {}, at::Reduction::Sum, kIgnoredTarget);
}

/// Divides logits and caps them, as the config says.
at::Tensor finished_logits(at::Tensor logits, const DecoderConfig& config) {
  if (config.logit_divisor != 1) logits = logits / config.logit_divisor;
  if (const auto& cap = config.logit_softcap) logits = (logits / *cap).tanh() * *cap;
  return logits;
}

void check_same_shape(const at::Tensor& tokens, const at::Tensor& target) {
  if (target.sizes() == tokens.sizes() && !target.is_floating_point()) return;
  throw UsageError("CausalLM: expected a target of token ids ", tokens.sizes(), ", as the input is, got ",
                   target.sizes(), " of ", target.scalar_type());
}

/// Returns a token, several or none.
std::vector<int64_t> token_list(ConfigFields& fields, const std::string& name) {
  const ConfigFields::Json* const value = fields.find(name);
  if (value == nullptr) return {};
  if (value->is_number_integer()) return {value->get<int64_t>()};
  std::vector<int64_t> tokens;
  for (const double token : fields.numbers(name)) tokens.push_back(static_cast<int64_t>(token));
  return tokens;
}

/// Returns whether the sequence gets longer than what the frequencies of its cached keys are for, so that these must be
/// computed again.
bool changes_frequencies(const DecoderConfig& config, int64_t seen, int64_t length) {
  return std::ranges::any_of(config.ropes, [&](const RopeConfig& rope) {
    return rope.scaling == RopeScaling::LongRope && seen <= rope.original_positions && length > rope.original_positions;
  });
}

/// The positions of left-padded prompts, which count from the first token that is none.
at::Tensor positions_of_mask(const at::Tensor& mask) { return (mask.cumsum(1) - 1).masked_fill(mask.eq(0), 0); }

}  // namespace

CausalLM::CausalLM(Options options_) : options(std::move(options_)) {
  schema_of<Options>().check(&options, "model");
  save_hyperparameters(options);
  const fs::path folder = open_model_folder(options.folder, "model.folder");
  const nlohmann::ordered_json json = read_json_file(folder / "config.json");
  const DecoderConfig config = decoder_config(json, (folder / "config.json").string(), options.ignored_fields);
  config_text_ = json.dump();
  const PretrainedTensors tensors = with_base_name(read_pretrained_tensors(folder), config);
  check_pretrained_sizes(config, tensors, folder);
  decoder = register_module(config.parts.base, std::make_shared<Decoder>(config));
  if (!config.tied_head)
    head = register_module(config.parts.head,
                           parallel::ColumnLinear(parallel::ColumnLinearOptions{.in_features = config.hidden,
                                                                                .out_features = config.vocabulary,
                                                                                .bias = config.head_bias,
                                                                                .initialized = false}));
  if (options.dtype == PretrainedDtype::File) to(dtype_of_pretrained(tensors, folder));
  load_with_adapter(*this, options.initial, [&] { load_pretrained(*this, tensors, config, folder); });
  read_generation_config(folder);
  if (options.objective) objective_ = options.objective.make("model.objective");
  if (objective_ && !options.measured.metrics.empty())
    throw UsageError("model.metrics: with model.objective the objective's own values are logged; leave one unset");
  if (objective_ && options.cross_entropy_block_size > 0)
    throw UsageError("model.cross_entropy_block_size: model.objective takes the logits of all tokens; leave one unset");
  named_metrics_.set(*this, "CausalLM", options.measured, {"loss", "perplexity", "exact_match"},
                     /*counts_in_training=*/false);
  named_metrics_.use(
      {.learned = metrics::Learned::Tokens, .columns = config.vocabulary, .ignore_index = kIgnoredTarget});
}

DecoderInputs CausalLM::inputs_of(const Batch& batch) {
  DecoderInputs inputs;
  if (batch.contains(kMask)) inputs.attention_mask = batch[kMask];
  if (batch.contains("position_ids")) inputs.position_ids = batch["position_ids"];
  return inputs;
}

Batch CausalLM::on_before_batch_transfer(Batch batch, int64_t /*dataloader_idx*/) { return without_end_mask(batch); }

void CausalLM::read_generation_config(const fs::path& folder) {
  const bool is_own = fs::exists(folder / "generation_config.json");
  const fs::path file = folder / (is_own ? "generation_config.json" : "config.json");
  const nlohmann::ordered_json json = read_json_file(file);
  ConfigFields fields(json, file.string() + ": ");
  stop_tokens_ = token_list(fields, "eos_token_id");
  const std::vector<int64_t> pad = token_list(fields, "pad_token_id");
  if (!pad.empty()) pad_token_ = pad.front();
}

at::Tensor CausalLM::head_output(const at::Tensor& hidden) {
  return head ? head->forward(hidden) : decoder->embedding->logits(hidden);
}

at::Tensor CausalLM::own_logits(const at::Tensor& hidden) { return finished_logits(head_output(hidden), config()); }

at::Tensor CausalLM::forward(const at::Tensor& tokens, const DecoderInputs& inputs) {
  return decoder->embedding->whole_logits(own_logits(decoder->forward(tokens, inputs)));
}

LossHead CausalLM::loss_head() {
  const parallel::VocabularyEmbedding& embedding = decoder->embedding;
  LossHead of = {.layer = [this](const at::Tensor& hidden) { return head_output(hidden); },
                 .loss =
                     [this](const at::Tensor& output, const at::Tensor& target) {
                       const at::Tensor logits = finished_logits(output, config());
                       if (!decoder->embedding->is_divided()) return cross_entropy_sum(logits, target);
                       return parallel::vocabulary_cross_entropy(
                           logits, target, config().vocabulary, decoder->embedding->tensor_group(),
                           {.ignore_index = kIgnoredTarget, .reduction = at::Reduction::Sum});
                     },
                 .parameters = head ? head->parameters() : embedding->parameters()};
  of.is_linear = !embedding->is_divided() && !adapters::adapter_of(of.parameters.front());
  return of;
}

at::Tensor CausalLM::loss(const at::Tensor& tokens, const at::Tensor& target, const DecoderInputs& inputs) {
  check_same_shape(tokens, target);
  const at::Tensor hidden = decoder->forward(tokens, inputs).flatten(0, 1), targets = target.flatten();
  const LossHead of = loss_head();
  const int64_t size = options.cross_entropy_block_size;
  const bool in_blocks = size > 0 && size < targets.numel() && !recording::is_recording();
  return mean_of_counted(in_blocks ? blocked_loss(hidden, targets, of, size) : of.loss(of.layer(hidden), targets),
                         target);
}

GenerateOptions CausalLM::with_stop_tokens(GenerateOptions how) const {
  if (!how.stop_tokens) how.stop_tokens = stop_tokens_;
  if (!how.pad_token) how.pad_token = pad_token_;
  return how;
}

at::Tensor CausalLM::generate(const at::Tensor& prompt, int64_t tokens, const GenerateOptions& how,
                              const PromptOptions& of_prompt) {
  check_generation(prompt, how);
  const GenerateOptions with_stops = with_stop_tokens(how);
  const at::NoGradGuard no_grad;
  const EvalMode eval_mode(*this);
  at::Tensor all = prompt.to(device(), at::kLong);
  at::Tensor mask =
      of_prompt.attention_mask.defined() ? of_prompt.attention_mask.to(all.device(), at::kLong) : at::Tensor();
  if (mask.defined() && mask.sizes() != prompt.sizes())
    throw UsageError("generate: expected an attention_mask of ", prompt.sizes(), ", got ", mask.sizes());
  KeyValueCache cache;
  RowEnds ends(with_stops);
  for (int64_t i = 0; i < tokens && !ends.all(); ++i) {
    if (changes_frequencies(config(), cache.length(), all.size(1))) cache = {};
    const int64_t seen = cache.length(), time = all.size(1) - seen;
    DecoderInputs inputs = {.attention_mask = mask, .cache = of_prompt.use_cache ? &cache : nullptr};
    if (mask.defined()) inputs.position_ids = positions_of_mask(mask).narrow(1, seen, time);
    const at::Tensor hidden = decoder->forward(all.narrow(1, seen, time), inputs).narrow(1, time - 1, 1);
    const at::Tensor logits = decoder->embedding->whole_logits(own_logits(hidden)).select(1, 0);
    all = at::cat({all, ends.padded(draw_tokens(logits, with_stops))}, 1);
    if (mask.defined()) mask = at::cat({mask, at::ones({mask.size(0), 1}, mask.options())}, 1);
    if (of_prompt.after_token && !of_prompt.after_token(all)) break;
  }
  return all;
}

void CausalLM::save_pretrained(const fs::path& folder, uint64_t most_bytes) {
  const FileForm form = [this](const std::string& name, const at::Tensor& tensor) {
    return std::pair(name, as_in_files(tensor, name, config()));
  };
  save_module(*this, {.config = config_text_, .source = local_folder(options.folder)}, form, {}, folder, most_bytes);
}

Objective::Result CausalLM::objective_of(const Batch& batch, const std::string& stage) {
  Objective::Result result = objective_->compute(*this, batch);
  const int64_t logged = result.weight.is_cpu() ? result.weight.item<int64_t>() : batch.target().numel();
  log(stage + "_loss", result.loss, {.prog_bar = true, .batch_size = logged});
  for (const auto& [name, value] : result.values) log(stage + "_" + name, value, {.batch_size = logged});
  return result;
}

StepOutput CausalLM::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  if (objective_) {
    const Objective::Result result = objective_of(batch, "train");
    return {result.loss, result.weight};
  }
  const at::Tensor& target = batch.target();
  const at::Tensor value = loss(batch.input(), target, inputs_of(batch));
  const at::Tensor counted = target.ne(kIgnoredTarget).sum();
  // The value's weight is that of the step. On a GPU, reading it would wait for the device.
  LogOptions how = {.prog_bar = true};
  if (!counted.is_cpu()) how.batch_size = target.numel();
  log("train_loss", value, how);
  return {value, counted};
}

void CausalLM::validation_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "val", val_); }

void CausalLM::test_step(const Batch& batch, int64_t /*batch_idx*/) { evaluate(batch, "test", test_); }

void CausalLM::evaluate(const Batch& batch, const std::string& stage, Measures& measures) {
  if (objective_) {
    objective_of(batch, stage);
    return;
  }
  const at::Tensor& target = batch.target();
  check_same_shape(batch.input(), target);
  const at::Tensor hidden = decoder->forward(batch.input(), inputs_of(batch)).flatten(0, 1), targets = target.flatten();
  metrics::Perplexity& perplexity = metric_of_loader(measures.perplexity, dataloader_idx(),
                                                     metrics::PerplexityOptions{.ignore_index = kIgnoredTarget});
  const bool measures_all = named_metrics_.are_logged(stage) || options.cross_entropy_block_size == 0;
  std::vector<at::Tensor> losses, found;
  at::Tensor logits;
  for_blocks(targets.numel(), measures_all ? targets.numel() : options.cross_entropy_block_size,
             [&](int64_t begin, int64_t count) {
               logits = at::Tensor();  // before the next ones are made
               logits = decoder->embedding->whole_logits(own_logits(hidden.narrow(0, begin, count)));
               const at::Tensor of_block = targets.narrow(0, begin, count);
               losses.push_back(cross_entropy_sum(logits, of_block));
               found.push_back(logits.argmax(1));
               perplexity.update(logits.unsqueeze(0), of_block.unsqueeze(0));
             });
  const int64_t counted = target.ne(kIgnoredTarget).sum().item<int64_t>();
  log(stage + "_loss", mean_of_counted(at::stack(losses).sum(), target), {.prog_bar = true, .batch_size = counted});
  log(stage + "_perplexity", perplexity);
  metrics::ExactMatch& exact_match = metric_of_loader(measures.exact_match, dataloader_idx(),
                                                      metrics::ExactMatchOptions{.ignore_index = kIgnoredTarget});
  exact_match.update(at::cat(found).view_as(target), target);
  log(stage + "_exact_match", exact_match);
  if (measures_all) named_metrics_.log(stage, logits.view({target.size(0), target.size(1), -1}), target);
}

Batch CausalLM::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor logits = forward(batch.input(), inputs_of(batch));
  const at::Tensor places = last_places(batch);
  const at::Tensor last = places.defined()
                              ? logits.gather(1, places.view({-1, 1, 1}).expand({-1, 1, logits.size(2)})).select(1, 0)
                              : logits.select(1, -1);
  return Batch(last.to(at::kFloat).softmax(1));
}

std::map<std::string, BatchFunction> CausalLM::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input(), inputs_of(batch))); }}};
}

OptimizerConfig CausalLM::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

void CausalLM::on_fit_end(Run& /*run*/) {
  if (options.save_to.empty()) return;
  write_output("model.save_to", options.save_to, [this](const auto& folder) { save_pretrained(folder); });
}

}  // namespace levin::nn
