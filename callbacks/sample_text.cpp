#include <levin/callbacks/sample_text.h>
#include <ATen/ops/tensor.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/datasets/readers/tokenizer_settings.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/transformers/causal_lm.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace levin {
namespace {

at::Tensor tokens_of(const Tokenizer& tokenizer, const std::string& prompt) {
  const Encoding encoding = tokenizer.encode(prompt, {.with_offsets = false, .truncate = false});
  if (encoding.ids.empty()) throw UsageError("SampleText.prompts: '", prompt, "' has no token");
  return at::tensor(encoding.ids, at::kInt).to(at::kLong).unsqueeze(0);
}

std::string text_of(const Tokenizer& tokenizer, const at::Tensor& tokens) {
  const at::Tensor ids = tokens.to(at::kCPU, at::kInt).contiguous();
  return tokenizer.decode({ids.const_data_ptr<int32_t>(), static_cast<size_t>(ids.numel())});
}

nn::CausalLM& model_of(Run& run) {
  if (auto* const model = dynamic_cast<nn::CausalLM*>(&run.module())) return *model;
  throw UsageError("SampleText: the module generates no text; CausalLM does");
}

}  // namespace

SampleText::SampleText(SampleTextOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "SampleText");
  require_local("SampleText.output_dir", options_.output_dir);
  if (options_.prompts.empty())
    throw UsageError("SampleText.prompts: missing; give the texts that the model continues");
}

void SampleText::on_fit_start(Run& run) {
  const nn::CausalLM& model = model_of(run);
  tokenizer_ = std::make_shared<const Tokenizer>(
      data::open_tokenizer(options_.tokenizer.empty() ? model.options.folder : options_.tokenizer));
  for (const std::string& prompt : options_.prompts) tokens_of(*tokenizer_, prompt);
  latest_epoch_ = -1;
  latest_step_ = run.state().global_step;
}

void SampleText::on_train_batch_end(Run& run) {
  const int64_t step = run.state().global_step;
  if (options_.every_n_steps == 0 || step == latest_step_ || step % options_.every_n_steps != 0) return;
  latest_step_ = step;
  write(run);
}

void SampleText::write_if_due(Run& run) {
  const int64_t epoch = run.state().epoch;
  if (options_.every_n_epochs == 0 || epoch % options_.every_n_epochs != 0 || epoch == latest_epoch_) return;
  latest_epoch_ = epoch;
  write(run);
}

void SampleText::on_validation_batch_end(Run& run) {
  const bool is_first = run.batch_idx() == 0 && run.dataloader_idx() == 0;
  if (is_first && run.fitting() && run.state().stage == Stage::Validate) write_if_due(run);
}

void SampleText::on_train_epoch_end(Run& run) {
  if (run.state().last_batch) write_if_due(run);  // an epoch that is cut short is not at its end
}

void SampleText::write(Run& run) {
  nn::CausalLM& model = model_of(run);
  const RngGuard random_numbers;
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  std::string shown;
  for (const std::string& prompt : options_.prompts) {
    seed_generators(static_cast<uint64_t>(options_.seed));
    const at::Tensor given = tokens_of(*tokenizer_, prompt);
    const at::Tensor all =
        model.generate(given, options_.tokens,
                       {.temperature = options_.temperature, .top_k = options_.top_k, .top_p = options_.top_p});
    const std::string text = text_of(*tokenizer_, all[0].narrow(0, given.size(1), all.size(1) - given.size(1)));
    texts.push_back({{"prompt", prompt}, {"text", text}});
    shown += "**" + prompt + "**" + text + "\n\n";
  }
  if (!run.comm().is_global_zero()) return;
  run.log_text("samples", shown);
  namespace fs = std::filesystem;
  if (options_.output_dir.empty() && run.folder().empty()) return;
  const fs::path folder = options_.output_dir.empty() ? run.folder() / "samples" : fs::path(options_.output_dir);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UsageError("SampleText.output_dir: ", folder.string(), ": ", error.message());
  const int64_t step = run.state().global_step;
  write_text_file_atomically(
      folder / ("step=" + std::to_string(step) + ".json"),
      json_text({{"step", step}, {"epoch", run.state().epoch}, {"texts", std::move(texts)}}, 2) + "\n");
}

}  // namespace levin
