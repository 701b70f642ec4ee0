#include <levin/modules/nn/language_model.h>
#include <ATen/CPUGeneratorImpl.h>
#include <levin/modules/optim/optimizers/adamw.h>
#include <levin/modules/registry.h>
#include <levin/modules/weights.h>
#include <torch/types.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/temporary_folder.h"

using levin::UsageError;
using levin::nn::GenerateOptions;
using levin::nn::LanguageModel;
using levin::nn::LanguageModelOptions;

namespace {

LanguageModelOptions small_model() {
  return {.gpt = {.vocab_size = 128, .block_size = 32, .layers = 2, .heads = 2, .embedding = 32, .dropout = 0.1}};
}

at::Tensor bytes(const std::string& text) {
  std::vector<int64_t> ids(text.begin(), text.end());
  return torch::tensor(ids);
}

/// Puts a module into a run that records what it logs.
struct RecordedRun {
  explicit RecordedRun(LanguageModel& module_) : module(module_) {
    context.sink = &sink;
    levin::ModuleAccess::set_context(module, &context);
  }
  ~RecordedRun() { levin::ModuleAccess::set_context(module, nullptr); }

  LanguageModel& module;
  RecordingSink sink = {};
  levin::StepContext context = {};
};

levin::Batch random_batch(int64_t batch, int64_t time) {
  const at::Tensor tokens = torch::randint(128, {batch, time + 1});
  return levin::Batch(tokens.narrow(1, 0, time), tokens.narrow(1, 1, time));
}

}  // namespace

TEST_CASE("a language model logs the loss of a token and the perplexity, and weighs a batch by its tokens") {
  torch::manual_seed(1);
  LanguageModel module(small_model());
  module.eval();
  RecordedRun run(module);
  const levin::Batch batch = random_batch(4, 20), other = random_batch(2, 32);

  const levin::StepOutput output = module.training_step(batch, 0);
  CHECK(output.loss.requires_grad());
  CHECK(output.weight == 80);
  CHECK(run.sink.values.at("train_loss") == output.loss.item<double>());
  CHECK(run.sink.options.at("train_loss").prog_bar);
  CHECK(std::abs(output.loss.item<double>() - std::log(128.0)) < 0.1);

  module.validation_step(batch, 0);
  const double first = run.sink.values.at("val_loss");
  CHECK(first == output.loss.item<double>());
  CHECK(run.sink.options.at("val_loss").batch_size == 80);
  const auto perplexity = run.sink.metrics.at("val_perplexity");
  CHECK(std::abs(std::log(perplexity->compute().item<double>()) - first) < 1e-5);

  module.validation_step(other, 1);
  const double second = run.sink.values.at("val_loss");
  const double mean = (80 * first + 64 * second) / 144;
  CHECK(std::abs(std::log(perplexity->compute().item<double>()) - mean) < 1e-5);

  // Each loader has its own perplexity.
  run.context.dataloader_idx = 1;
  module.validation_step(other, 0);
  CHECK(run.sink.metrics.at("val_perplexity") != perplexity);
  CHECK(std::abs(std::log(run.sink.metrics.at("val_perplexity")->compute().item<double>()) - second) < 1e-5);
  CHECK(std::abs(std::log(perplexity->compute().item<double>()) - mean) < 1e-5);

  run.context.dataloader_idx = 0;
  module.test_step(other, 0);
  CHECK(run.sink.values.at("test_loss") == second);
  CHECK(run.sink.metrics.count("test_perplexity") == 1);
}

TEST_CASE("prediction gives the probability of each token to follow") {
  LanguageModel module(small_model());
  module.eval();
  const levin::Batch batch = random_batch(3, 10);
  const at::Tensor probabilities = module.predict_step(batch, 0).input();
  REQUIRE(probabilities.sizes() == std::vector<int64_t>{3, 128});
  CHECK(probabilities.sum(1).sub(1).abs().max().item<double>() < 1e-5);
  CHECK(probabilities.allclose(module.forward(batch.input()).select(1, 9).softmax(1)));
}

TEST_CASE("a language model learns a sentence by heart and says it again") {
  torch::manual_seed(2);
  const at::Tensor sentence = bytes("the quick brown fox jumps, so do").unsqueeze(0);
  REQUIRE(sentence.size(1) == 32);
  LanguageModelOptions options = small_model();
  options.gpt.dropout = 0;
  options.optimizer = {"AdamW", levin::optim::AdamWOptions{.lr = 1e-2}};
  LanguageModel module(options);
  RecordedRun run(module);
  const auto optimizer = module.configure_optimizers().entries[0].optimizer;
  const levin::Batch batch(sentence.narrow(1, 0, 31), sentence.narrow(1, 1, 31));
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer->zero_grad();
    const at::Tensor value = module.training_step(batch, step).loss;
    value.backward();
    optimizer->step();
    loss = value.item<double>();
  }
  CHECK(loss < 0.1);
  CHECK(module.generate(sentence.narrow(1, 0, 3), 29, {.temperature = 0}).equal(sentence));
  CHECK(module.generate(sentence.narrow(1, 0, 3), 29, {.temperature = 2, .top_k = 1}).equal(sentence));
}

TEST_CASE("generation continues beyond block_size with the last tokens") {
  torch::manual_seed(3);
  LanguageModel module(small_model());
  for (auto& parameter : module.parameters()) parameter.data().normal_(0, 0.3);
  const at::Tensor prompt = torch::randint(128, {2, 40});
  const at::Tensor all = module.generate(prompt, 5, {.temperature = 0});
  REQUIRE(all.sizes() == std::vector<int64_t>{2, 45});
  CHECK(all.narrow(1, 0, 40).equal(prompt));
  module.eval();
  for (int64_t end = 40; end < 45; ++end) {
    const at::Tensor next = module.forward(all.narrow(1, end - 32, 32)).select(1, 31).argmax(1);
    CHECK(next.equal(all.select(1, end)));
  }
  CHECK(module.generate(prompt, 0).equal(prompt));
}

TEST_CASE("generation draws from the distribution that temperature and top_k make") {
  torch::manual_seed(4);
  LanguageModel module(small_model());
  for (auto& parameter : module.parameters()) parameter.data().normal_(0, 0.4);
  const int64_t draws = 20000;
  const at::Tensor prompt = torch::full({draws, 1}, 7);
  module.eval();
  const at::Tensor logits = module.forward(prompt.narrow(0, 0, 1))[0][0].detach();

  const auto frequencies = [&](const GenerateOptions& how) {
    return module.generate(prompt, 1, how).select(1, 1).bincount({}, 128).to(torch::kFloat).div(draws);
  };
  for (const double temperature : {1.0, 0.5}) {
    const at::Tensor expected = logits.div(temperature).softmax(0);
    CHECK(frequencies({.temperature = temperature}).sub(expected).abs().max().item<double>() < 0.015);
  }
  CHECK(logits.softmax(0).sub(logits.div(0.5).softmax(0)).abs().max().item<double>() > 0.05);

  const auto [likeliest, tokens] = logits.topk(3);
  const at::Tensor expected = torch::zeros(128).scatter(0, tokens, likeliest.softmax(0));
  const at::Tensor actual = frequencies({.top_k = 3});
  CHECK(actual.sub(expected).abs().max().item<double>() < 0.015);
  CHECK(actual.gt(0).sum().item<int64_t>() == 3);
  CHECK(frequencies({.top_k = 1000}).sub(logits.softmax(0)).abs().max().item<double>() < 0.015);
}

TEST_CASE("generation repeats itself with an equal generator, and leaves the module as it was") {
  LanguageModel module(small_model());
  module.net->final_norm->eval();
  const at::Tensor prompt = torch::randint(128, {2, 3}, torch::kInt);
  const auto with_seed = [&](uint64_t seed) {
    return module.generate(prompt, 20, {.generator = at::make_generator<at::CPUGeneratorImpl>(seed)});
  };
  const at::Tensor first = with_seed(5);
  CHECK(first.scalar_type() == torch::kLong);
  CHECK(!first.requires_grad());
  CHECK(first.equal(with_seed(5)));
  CHECK(!first.equal(with_seed(6)));
  CHECK(module.net->is_training());
  CHECK(!module.net->final_norm->is_training());
  for (const auto& block : module.net->children()) {
    if (block != module.net->final_norm.ptr()) CHECK(block->is_training());
  }
}

TEST_CASE("generation says what is wrong with its arguments") {
  LanguageModel module(small_model());
  const at::Tensor prompt = torch::zeros({1, 2}, torch::kLong);
  const auto with = [&](const at::Tensor& start, const GenerateOptions& how) {
    return error_text<UsageError>([&] { module.generate(start, 1, how); });
  };
  CHECK(with(torch::zeros({1, 0}, torch::kLong), {}) ==
        "generate: expected a prompt [batch, time] of at least one token, got [1, 0]");
  CHECK(with(torch::zeros({4}, torch::kLong), {}) ==
        "generate: expected a prompt [batch, time] of at least one token, got [4]");
  CHECK(with(prompt, {.temperature = -1}) == "generate: temperature is at least 0, got -1");
  CHECK(with(prompt, {.top_k = 0}) == "generate: top_k is at least 1, got 0");
  CHECK(contains(with(torch::full({1, 1}, 128), {}), "token id 128"));
}

TEST_CASE("a config makes a language model, whose options stand side by side") {
  const auto& registry = levin::ModuleKind::registry();
  const levin::Schema& schema = registry.at("LanguageModel", "model").schema();
  const auto options = schema.make();
  schema.set(options.get(), "model",
             nlohmann::ordered_json::parse(R"({"vocab_size": 65, "block_size": 16, "layers": 1, "heads": 2,
               "embedding": 8, "tied_head": false, "optimizer": {"class": "SGD", "lr": 0.5},
               "lr_scheduler": {"class": "WarmupCosine", "warmup_steps": 10, "interval": "step"}})"));
  const auto module = registry.entry("LanguageModel", "model")(options.get());
  const auto& model = dynamic_cast<LanguageModel&>(*module);
  CHECK(model.options.gpt.vocab_size == 65);
  CHECK(model.net->head->weight.sizes() == std::vector<int64_t>{65, 8});
  CHECK(nlohmann::json::parse(module->hyperparameters())["block_size"] == 16);
  const levin::OptimizerConfig config = module->configure_optimizers();
  REQUIRE(config.entries.size() == 1);
  CHECK(config.entries[0].optimizer->param_groups()[0].options().get_lr() == 0.5);
  REQUIRE(config.entries[0].scheduler);
  CHECK(config.entries[0].scheduler->config.interval == levin::Interval::Step);
  CHECK(!LanguageModel().configure_optimizers().entries[0].scheduler);
  CHECK(levin::ModuleAccess::factory(*module)()->named_parameters().size() == module->named_parameters().size());
  CHECK(contains(error_text<UsageError>([&] { schema.set(options.get(), "model", {{"block_sise", 3}}); }),
                 "did you mean block_size"));
}

TEST_CASE("a language model's weights come from a file") {
  const TemporaryFolder folder;
  LanguageModelOptions options = small_model();
  const LanguageModel first(options);
  levin::save_weights(first, folder / "init.pt");
  options.initial.weights = (folder / "init.pt").string();
  const LanguageModel second(options);
  CHECK(first.parameters()[0].equal(second.parameters()[0]));
  options.initial.weights = "none/such.pt";
  CHECK(error_text<UsageError>([&] { LanguageModel{options}; }) == "model.weights: no file none/such.pt");
}
