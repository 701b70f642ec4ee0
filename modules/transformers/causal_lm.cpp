#include <levin/modules/transformers/causal_lm.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>
#include <levin/core/ranks/process_group.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/data/ignored_target.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/nn/configured_optimizer.h>
#include <levin/modules/nn/metric_of_loader.h>
#include <levin/modules/parallel/tensor/joined_state.h>
#include <levin/modules/parallel/tensor/vocabulary_cross_entropy.h>
#include <levin/modules/training_modes.h>
#include <levin/modules/transformers/config_fields.h>
#include <levin/modules/transformers/load_pretrained.h>
#include <levin/modules/transformers/save_pretrained.h>
#include <levin/modules/weights.h>

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

at::Tensor counted_cross_entropy(const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor wide = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  return mean_of_counted(at::cross_entropy_loss(wide.flatten(0, 1), target.flatten().to(at::kLong), {},
                                                at::Reduction::Sum, kIgnoredTarget),
                         target);
}

DecoderInputs inputs_of_batch(const Batch& batch) {
  DecoderInputs inputs;
  if (batch.contains("attention_mask")) inputs.attention_mask = batch["attention_mask"];
  if (batch.contains("position_ids")) inputs.position_ids = batch["position_ids"];
  return inputs;
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
  const fs::path folder = options.folder;
  if (options.folder.empty() || !fs::is_directory(folder))
    throw UsageError("model.folder: ", options.folder.empty() ? "is not set" : "no folder " + options.folder,
                     "; name one with config.json and *.safetensors");
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
  load_pretrained(*this, tensors, config, folder);
  read_generation_config(folder);
  load_initial_weights(*this, options.initial);
}

void CausalLM::read_generation_config(const fs::path& folder) {
  const bool is_own = fs::exists(folder / "generation_config.json");
  const fs::path file = folder / (is_own ? "generation_config.json" : "config.json");
  const nlohmann::ordered_json json = read_json_file(file);
  ConfigFields fields(json, file.string() + ": ");
  stop_tokens_ = token_list(fields, "eos_token_id");
  const std::vector<int64_t> pad = token_list(fields, "pad_token_id");
  if (!pad.empty()) pad_token_ = pad.front();
}

at::Tensor CausalLM::own_logits(const at::Tensor& hidden) {
  at::Tensor logits = head ? head->forward(hidden) : decoder->embedding->logits(hidden);
  if (config().logit_divisor != 1) logits = logits / config().logit_divisor;
  if (const auto& cap = config().logit_softcap) logits = (logits / *cap).tanh() * *cap;
  return logits;
}

at::Tensor CausalLM::forward(const at::Tensor& tokens, const DecoderInputs& inputs) {
  return decoder->embedding->whole_logits(own_logits(decoder->forward(tokens, inputs)));
}

at::Tensor CausalLM::loss(const at::Tensor& tokens, const at::Tensor& target, const DecoderInputs& inputs) {
  check_same_shape(tokens, target);
  const at::Tensor logits = own_logits(decoder->forward(tokens, inputs));
  if (!decoder->embedding->is_divided()) return counted_cross_entropy(logits, target);
  const at::Tensor sum =
      parallel::vocabulary_cross_entropy(logits, target, config().vocabulary, decoder->embedding->tensor_group(),
                                         {.ignore_index = kIgnoredTarget, .reduction = at::Reduction::Sum});
  return mean_of_counted(sum, target);
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
  const at::NoGradGuard no_grad;
  const parallel::TensorGroup group = parallel::tensor_group_of(*this);
  const bool writes = (!in_run() || is_global_zero()) && (!group || group->rank() == 0);
  State state = State::dict();
  // Ranks that do not write take part: a weight that ranks have divided is whole for them all while they use it.
  for (const auto& [name, value] : merged_state_dict(*this).to_dict()) {
    const at::Tensor& own = value.to_tensor();
    const at::Tensor copied = in_run() ? own.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true) : own;
    if (writes || group) state.to_dict().emplace_back(name, State(copied));
  }
  if (group) state = parallel::join_tensors(*this, state);
  if (!writes) return;
  NamedWeights weights;
  for (const auto& [key, value] : state.to_dict())
    weights.emplace_back(to_text(key), as_in_files(value.to_tensor(), to_text(key), config()));
  write_pretrained_folder({.config = config_text_, .source = options.folder}, weights, folder, most_bytes);
}

StepOutput CausalLM::training_step(const Batch& batch, int64_t /*batch_idx*/) {
  const at::Tensor& target = batch.target();
  const at::Tensor value = loss(batch.input(), target, inputs_of_batch(batch));
  const at::Tensor counted = target.ne(kIgnoredTarget).sum();
  // On a GPU the exact number would wait for the device; it is the weight of the step, which stays there.
  const int64_t logged = counted.is_cpu() ? counted.item<int64_t>() : target.numel();
  log("train_loss", value, {.prog_bar = true, .batch_size = logged});
  return {value, counted};
}

void CausalLM::validation_step(const Batch& batch, int64_t /*batch_idx*/) {
  evaluate(
      batch, "val",
      metric_of_loader(val_perplexity_, dataloader_idx(), metrics::PerplexityOptions{.ignore_index = kIgnoredTarget}));
}

void CausalLM::test_step(const Batch& batch, int64_t /*batch_idx*/) {
  evaluate(
      batch, "test",
      metric_of_loader(test_perplexity_, dataloader_idx(), metrics::PerplexityOptions{.ignore_index = kIgnoredTarget}));
}

void CausalLM::evaluate(const Batch& batch, const std::string& stage, metrics::Perplexity& perplexity) {
  const at::Tensor& target = batch.target();
  check_same_shape(batch.input(), target);
  const at::Tensor logits = forward(batch.input(), inputs_of_batch(batch));
  const int64_t counted = target.ne(kIgnoredTarget).sum().item<int64_t>();
  log(stage + "_loss", counted_cross_entropy(logits, target), {.prog_bar = true, .batch_size = counted});
  perplexity.update(logits, target);
  log(stage + "_perplexity", perplexity);
}

Batch CausalLM::predict_step(const Batch& batch, int64_t /*batch_idx*/) {
  return Batch(forward(batch.input(), inputs_of_batch(batch)).select(1, -1).to(at::kFloat).softmax(1));
}

std::map<std::string, BatchFunction> CausalLM::export_functions() {
  return {{"forward", [this](const Batch& batch) { return Batch(forward(batch.input(), inputs_of_batch(batch))); }}};
}

OptimizerConfig CausalLM::configure_optimizers() {
  return configured_optimizer(options.optimizer, options.lr_scheduler, *this, options.groups);
}

void CausalLM::on_fit_end(Run& /*run*/) {
  if (!options.save_to.empty()) save_pretrained(options.save_to);
}

}  // namespace levin::nn
