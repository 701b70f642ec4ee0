/// Computes, trains, generates and saves with models that transformers has saved, for transformers_parity_test.py.
///
/// usage: causal_lm_program FOLDER...
///
/// Each FOLDER has a model in `model` and its inputs in `inputs.safetensors`. The results come into
/// `results.safetensors`, the model as levin saves it into `saved`, and in several files into `sharded`. The same model
/// in bfloat16 is in `bfloat16`, and comes into `saved_bfloat16`.
#include <levin/core/state/safetensors.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/transformers/causal_lm.h>
#include <torch/types.h>

#include <filesystem>
#include <iostream>
#include <memory>

namespace {

namespace fs = std::filesystem;
using levin::State;
using levin::nn::CausalLM;
using levin::nn::DecoderInputs;

class Cases {
 public:
  explicit Cases(const fs::path& folder)
      : folder_(folder), inputs_(levin::load_safetensors(folder / "inputs.safetensors")) {}

  void run() {
    CausalLM model({.folder = (folder_ / "model").string()});
    model.save_pretrained(folder_ / "saved");
    model.save_pretrained(folder_ / "sharded", 20'000);
    model.eval();
    compute(model);
    add_gradients(model);
    generate(model);
    if (inputs_.contains("train_tokens")) {
      train<levin::optim::SGD>("sgd", levin::optim::SGDOptions{.lr = 0.005});
      train<levin::optim::AdamW>("adamw", levin::optim::AdamWOptions{.lr = 1e-3, .eps = 1e-3, .weight_decay = 0.1});
    }
    read_bfloat16();
    levin::save_safetensors(results_, folder_ / "results.safetensors");
  }

 private:
  at::Tensor input(const std::string& name) const { return inputs_.at(name).to_tensor(); }
  void add(const std::string& name, const at::Tensor& value) { results_[name] = value.detach().contiguous(); }

  void compute(CausalLM& model) {
    const at::NoGradGuard no_grad;
    add("logits", model.forward(input("tokens")));
    add("padded_logits", model.forward(input("tokens"), {.attention_mask = input("attention_mask")}));
    add("packed_logits", model.forward(input("tokens"), {.position_ids = input("position_ids")}));
    add("loss", model.loss(input("tokens"), input("target"), {.attention_mask = input("attention_mask")}));
    // In two parts, with a cache.
    levin::nn::KeyValueCache cache;
    const at::Tensor tokens = input("tokens");
    const int64_t first = tokens.size(1) / 2;
    const at::Tensor before = model.forward(tokens.narrow(1, 0, first), {.cache = &cache});
    const at::Tensor after = model.forward(tokens.narrow(1, first, tokens.size(1) - first), {.cache = &cache});
    add("cached_logits", torch::cat({before, after}, 1));
  }

  /// Without and with activation checkpointing.
  void add_gradients(CausalLM& model) {
    for (const bool checkpointing : {false, true}) {
      levin::set_checkpoint_activations(model, checkpointing);
      model.zero_grad();
      model.loss(input("tokens"), input("target"), {.attention_mask = input("attention_mask")}).backward();
      for (const auto& item : model.named_parameters())
        add((checkpointing ? "checkpointed." : "gradient.") + item.key(), item.value().grad().clone());
    }
    levin::set_checkpoint_activations(model, false);
  }

  void generate(CausalLM& model) {
    const at::Tensor prompt = input("prompt"), mask = input("prompt_mask");
    const levin::nn::GenerateOptions greedy = {.temperature = 0, .stop_tokens = std::vector<int64_t>{}};
    add("generated", model.generate(prompt, 20, greedy));
    add("generated_without_cache", model.generate(prompt, 20, greedy, {.use_cache = false}));
    add("generated_padded", model.generate(prompt, 20, greedy, {.attention_mask = mask}));
    add("generated_padded_without_cache",
        model.generate(prompt, 20, greedy, {.attention_mask = mask, .use_cache = false}));
    add("generated_to_end", model.generate(prompt, 20, {.temperature = 0}));
  }

  void read_bfloat16() {
    const at::NoGradGuard no_grad;
    CausalLM wide({.folder = (folder_ / "bfloat16").string()});
    CausalLM narrow({.folder = (folder_ / "bfloat16").string(), .dtype = "file"});
    narrow.save_pretrained(folder_ / "saved_bfloat16");
    wide.eval();
    narrow.eval();
    add("wide_logits", wide.forward(input("tokens")));
    add("narrow_logits", narrow.forward(input("tokens")));
  }

  template <class Optimizer, class Options>
  void train(const std::string& name, const Options& options) {
    CausalLM model({.folder = (folder_ / "model").string()});
    Optimizer optimizer(model.parameters(), options);
    const at::Tensor tokens = input("train_tokens"), target = input("train_target");
    std::vector<double> losses;
    for (int64_t step = 0; step < tokens.size(0); ++step) {
      optimizer.zero_grad();
      const at::Tensor loss = model.loss(tokens[step], target[step]);
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    add(name + "_losses", torch::tensor(losses, torch::kDouble));
    for (const auto& item : model.named_parameters()) add(name + "." + item.key(), item.value());
  }

  fs::path folder_;
  State inputs_, results_ = State::dict();
};

}  // namespace

int main(int count, char** arguments) {
  at::set_num_threads(1);
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    try {
      Cases(arguments[i]).run();
    } catch (const std::exception& error) {
      std::cerr << arguments[i] << ": " << error.what() << "\n";
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
