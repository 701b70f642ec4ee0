/// Computes, trains and saves with encoders that transformers has saved, for encoder_parity_test.py.
///
/// usage: encoder_program FOLDER...
///
/// Each FOLDER has a model in `model`, its kind in `head` and its inputs in `inputs.safetensors`. The results come into
/// `results.safetensors`, the model as levin saves it into `saved`. The same encoder without its head may be in `bare`
/// and `masked`; with a new head it comes into `saved_bare` and `saved_masked`.
#include <levin/core/state/safetensors.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/transformers/sentence_encoder.h>
#include <levin/modules/transformers/sequence_classifier.h>
#include <levin/modules/transformers/token_classifier.h>
#include <torch/types.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

namespace {

namespace fs = std::filesystem;
using levin::Batch;
using levin::State;
using levin::nn::SentenceEncoder;
using levin::nn::SequenceClassifier;
using levin::nn::TokenClassifier;

template <class Module>
class Cases {
 public:
  explicit Cases(const fs::path& folder)
      : folder_(folder), inputs_(levin::load_safetensors(folder / "inputs.safetensors")) {}

  void run() {
    Module model = opened("model");
    model.save_pretrained(folder_ / "saved");
    compute(model);
    add_gradients(model);
    if (inputs_.contains("train_tokens")) {
      train<levin::optim::SGD>("sgd", levin::optim::SGDOptions{.lr = 0.005});
      train<levin::optim::AdamW>("adamw", levin::optim::AdamWOptions{.lr = 1e-3, .eps = 1e-3, .weight_decay = 0.1});
    }
    for (const std::string kind : {"bare", "masked"})
      if (fs::exists(folder_ / kind)) use_new_head(kind);
    levin::save_safetensors(results_, folder_ / "results.safetensors");
  }

 private:
  Module opened(const std::string& name) const {
    typename Module::Options options;
    options.encoder.folder = (folder_ / name).string();
    if constexpr (!std::is_same_v<Module, SentenceEncoder>)
      if (name != "model") options.classes.num_labels = 3;
    return Module(options);
  }
  at::Tensor input(const std::string& name) const { return inputs_.at(name).to_tensor(); }
  void add(const std::string& name, const at::Tensor& value) { results_[name] = value.detach().contiguous(); }

  /// Rows of the inputs whose names begin so.
  Batch batch(const std::string& prefix, int64_t begin, int64_t rows) const {
    const auto part = [&](const char* name) { return input(prefix + name).narrow(0, begin, rows); };
    Batch made(part("tokens"), part("target"));
    for (const char* const name : {"attention_mask", "token_type_ids"}) made.set(name, part(name));
    if (!std::is_same_v<Module, SentenceEncoder>) return made;
    made.set("second_input", part("second_tokens"));
    made.set("second_attention_mask", part("second_attention_mask"));
    return made;
  }
  Batch batch() const { return batch("", 0, input("tokens").size(0)); }

  static at::Tensor loss(Module& model, const Batch& batch) {
    if constexpr (std::is_same_v<Module, SentenceEncoder>) {
      return model.loss(batch);
    } else {
      return model.loss(model.forward(batch.input(), {.attention_mask = batch["attention_mask"],
                                                      .token_type_ids = batch["token_type_ids"]}),
                        batch.target());
    }
  }

  at::Tensor padded_outputs(Module& model) const {
    return model.forward(input("tokens"),
                         {.attention_mask = input("attention_mask"), .token_type_ids = input("token_type_ids")});
  }

  void compute(Module& model) {
    const at::NoGradGuard no_grad;
    add("outputs", model.forward(input("tokens")));
    add("padded_outputs", padded_outputs(model));
    add("loss", loss(model, batch()));
    if constexpr (std::is_same_v<Module, SentenceEncoder>) {
      model.options.loss = levin::nn::SentenceLoss::InBatchNegatives;
      add("ranking_loss", loss(model, batch()));
      model.options.loss = levin::nn::SentenceLoss::Auto;
    }
  }

  /// Without and with activation checkpointing.
  void add_gradients(Module& model) {
    for (const bool checkpointing : {false, true}) {
      levin::set_checkpoint_activations(model, checkpointing);
      model.zero_grad();
      loss(model, batch()).backward();
      for (const auto& item : model.named_parameters())
        if (item.value().grad().defined())
          add((checkpointing ? "checkpointed." : "gradient.") + item.key(), item.value().grad().clone());
    }
    levin::set_checkpoint_activations(model, false);
  }

  template <class Optimizer, class Options>
  void train(const std::string& name, const Options& options) {
    Module model = opened("model");
    Optimizer optimizer(model.parameters(), options);
    std::vector<double> losses;
    for (int64_t row = 0; row < input("train_tokens").size(0); row += 2) {
      optimizer.zero_grad();
      const at::Tensor value = loss(model, batch("train_", row, 2));
      value.backward();
      optimizer.step();
      losses.push_back(value.template item<double>());
    }
    add(name + "_losses", torch::tensor(losses, torch::kDouble));
    for (const auto& item : model.named_parameters()) add(name + "." + item.key(), item.value());
  }

  void use_new_head(const std::string& kind) {
    const at::NoGradGuard no_grad;
    Module model = opened(kind);
    model.save_pretrained(folder_ / ("saved_" + kind));
    model.eval();
    add(kind + "_outputs", padded_outputs(model));
  }

  fs::path folder_;
  State inputs_, results_ = State::dict();
};

void run(const fs::path& folder) {
  std::string head;
  std::ifstream(folder / "head") >> head;
  if (head == "sequence")
    Cases<SequenceClassifier>(folder).run();
  else if (head == "token")
    Cases<TokenClassifier>(folder).run();
  else
    Cases<SentenceEncoder>(folder).run();
}

}  // namespace

int main(int count, char** arguments) {
  at::set_num_threads(1);
  int failures = 0;
  for (int i = 1; i < count; ++i) {
    try {
      run(arguments[i]);
    } catch (const std::exception& error) {
      std::cerr << "error: " << arguments[i] << ": " << error.what() << "\n";
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
