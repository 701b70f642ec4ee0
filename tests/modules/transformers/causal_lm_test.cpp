#include <levin/modules/transformers/causal_lm.h>
#include <ATen/CPUGeneratorImpl.h>
#include <levin/core/state/atomic_file.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/export/export_program.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <torch/nn/functional/loss.h>
#include <torch/types.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/modules/transformers/small_folder.h"

using levin::UsageError;
using levin::nn::CausalLM;
using levin::nn::GenerateOptions;

namespace {

/// Puts a module into a run that records what it logs.
struct RecordedModule {
  explicit RecordedModule(CausalLM& module_) : module(module_) {
    context.sink = &sink;
    levin::ModuleAccess::set_context(module, &context);
  }
  ~RecordedModule() { levin::ModuleAccess::set_context(module, nullptr); }

  CausalLM& module;
  RecordingSink sink = {};
  levin::StepContext context = {};
};

at::Tensor some_tokens(int64_t batch, int64_t time, uint64_t seed = 3) {
  return torch::randint(4, 13, {batch, time}, at::detail::createCPUGenerator(seed), torch::kLong);
}

levin::Batch batch_of(int64_t batch, int64_t time, int64_t ignored, uint64_t seed) {
  const at::Tensor tokens = some_tokens(batch, time + 1, seed);
  at::Tensor target = tokens.narrow(1, 1, time).clone();
  target.narrow(1, 0, ignored).fill_(-100);
  return levin::Batch(tokens.narrow(1, 0, time), target);
}

}  // namespace

TEST_CASE("a causal language model logs the loss of the targets that count, and weighs a batch by them") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  module.eval();
  RecordedModule run(module);
  const levin::Batch batch = batch_of(3, 10, 4, 1), other = batch_of(2, 8, 7, 2);
  const at::Tensor logits = module.forward(batch.input());
  const double expected = torch::nn::functional::cross_entropy(logits.narrow(1, 4, 6).flatten(0, 1),
                                                               batch.target().narrow(1, 4, 6).flatten())
                              .item<double>();
  const levin::StepOutput output = module.training_step(batch, 0);
  CHECK(output.weight_tensor.item<int64_t>() == 18);
  CHECK(std::abs(output.loss.item<double>() - expected) < 1e-6);
  CHECK_FALSE(run.sink.options.at("train_loss").batch_size);  // the weight of the step

  module.validation_step(batch, 0);
  const double first = run.sink.values.at("val_loss");
  CHECK(std::abs(first - expected) < 1e-6);
  module.validation_step(other, 1);
  const double mean = (18 * first + 2 * run.sink.values.at("val_loss")) / 20;
  CHECK(std::abs(std::log(run.sink.metrics.at("val_perplexity")->compute().item<double>()) - mean) < 1e-5);
  module.test_step(other, 0);
  CHECK(run.sink.values.count("test_loss") == 1);

  const levin::Batch none = batch_of(2, 8, 8, 2);
  CHECK(module.loss(none.input(), none.target()).item<double>() == 0);
  const at::Tensor probabilities = module.predict_step(batch, 0).input();
  CHECK(probabilities.allclose(logits.select(1, 9).softmax(1)));
}

TEST_CASE("a batch brings its mask and its positions") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  RecordedModule run(module);
  levin::Batch batch = batch_of(2, 8, 0, 5);
  const double plain = module.training_step(batch, 0).loss.item<double>();
  at::Tensor mask = torch::ones({2, 8}, torch::kLong);
  mask.narrow(1, 0, 3).zero_();
  batch.set("attention_mask", mask);
  const double masked = module.training_step(batch, 0).loss.item<double>();
  CHECK(masked != plain);
  CHECK(masked == module.loss(batch.input(), batch.target(), {.attention_mask = mask}).item<double>());
  levin::Batch packed = batch_of(2, 8, 0, 5);
  const at::Tensor positions = torch::cat({torch::arange(3), torch::arange(5)}).unsqueeze(0);
  packed.set("position_ids", positions);
  CHECK(module.training_step(packed, 0).loss.item<double>() ==
        module.loss(packed.input(), packed.target(), {.position_ids = positions}).item<double>());
}

TEST_CASE("padding, packed neighbours and tokens beyond the window change nothing") {
  const SmallFolder folder("mistral", {{"sliding_window", 4}, {"num_hidden_layers", 1}});
  CausalLM module({.folder = folder.path()});
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = some_tokens(1, 9);
  const at::Tensor logits = module.forward(tokens);
  for (int64_t changed = 0; changed < 9; ++changed) {
    at::Tensor other = tokens.clone();
    other[0][changed] = 4 + (other[0][changed].item<int64_t>() - 3) % 9;
    const at::Tensor difference = (module.forward(other) - logits).abs().amax({0, 2});
    for (int64_t i = 0; i < 9; ++i) {
      INFO(changed << " at " << i);
      CHECK((difference[i].item<double>() > 0) == (i >= changed && i < changed + 4));
    }
  }
  const at::Tensor packed = torch::cat({tokens, some_tokens(1, 5, 8)}, 1);
  const at::Tensor positions = torch::cat({torch::arange(9), torch::arange(5)}).unsqueeze(0);
  const at::Tensor both = module.forward(packed, {.position_ids = positions});
  CHECK(both.narrow(1, 0, 9).allclose(logits, 1e-5, 1e-6));
  CHECK(both.narrow(1, 9, 5).allclose(module.forward(some_tokens(1, 5, 8)), 1e-5, 1e-6));
}

TEST_CASE("tokens, masks and positions that do not fit are refused") {
  const SmallFolder folder("gpt2");
  CausalLM module({.folder = folder.path()});
  const auto with = [&](const at::Tensor& tokens, const levin::nn::DecoderInputs& inputs = {}) {
    return error_text<UsageError>([&] { module.forward(tokens, inputs); });
  };
  const at::Tensor tokens = some_tokens(2, 5);
  CHECK(with(torch::zeros({2, 3})) == "CausalLM: expected token ids [batch, time] of int64, got [2, 3] of Float");
  CHECK(with(torch::zeros({4, 3, 2}, torch::kLong)) ==
        "CausalLM: expected token ids [batch, time] of int64, got [4, 3, 2] of Long");
  const std::string pairs = with(torch::zeros({4, 2, 3}, torch::kLong));
  CHECK(contains(pairs, "got [4, 2, 3] of Long; pairs of completions (TextPreferences) are what the objective DPO"));
  CHECK(contains(pairs, "take data of single texts, TextJsonl, or `levin generate`"));
  CHECK(with(torch::full({1, 2}, 13)) == "CausalLM: token id 13 is not in the vocabulary, 0 to 12");
  CHECK(with(torch::full({1, 2}, -1)) == "CausalLM: token id -1 is not in the vocabulary, 0 to 12");
  CHECK(contains(with(some_tokens(1, 17)), "a sequence of 17 tokens, and the model has 16 positions"));
  CHECK(with(tokens, {.attention_mask = torch::ones({2, 4})}) ==
        "CausalLM: expected an attention_mask [2, 5], got [2, 4]");
  CHECK(contains(with(tokens, {.position_ids = torch::arange(5)}), "expected position_ids [2, 5] of int64, got [5]"));
  CHECK(contains(with(tokens, {.position_ids = torch::full({1, 5}, 16)}), "position 16 is not in the table"));
  levin::nn::KeyValueCache cache;
  module.forward(tokens, {.cache = &cache});
  CHECK(cache.length() == 5);
  CHECK(contains(with(some_tokens(1, 2), {.cache = &cache}), "KeyValueCache: holds 2 sequences, 1 came"));
  CHECK(contains(error_text<UsageError>([&] { module.loss(tokens, some_tokens(2, 4)); }),
                 "expected a target of token ids [2, 5], as the input is, got [2, 4] of Long"));
}

TEST_CASE("dropout acts in training alone") {
  for (const char* const field : {"attn_pdrop", "resid_pdrop", "embd_pdrop"}) {
    INFO(field);
    const SmallFolder folder("gpt2", {{field, 0.5}});
    CausalLM module({.folder = folder.path()});
    const at::Tensor tokens = some_tokens(2, 8);
    CHECK(!module.forward(tokens).equal(module.forward(tokens)));
    module.eval();
    CHECK(module.forward(tokens).equal(module.forward(tokens)));
  }
  const SmallFolder folder("gemma2", {{"head_dim", 4}, {"attention_dropout", 0.5}});
  CausalLM module({.folder = folder.path()});
  CHECK(!module.forward(some_tokens(2, 8)).equal(module.forward(some_tokens(2, 8))));
}

TEST_CASE("generation draws from the most likely tokens that together have top_p") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  module.eval();
  constexpr int64_t kDraws = 20000;
  const at::Tensor prompt = torch::full({kDraws, 1}, 7);
  const at::Tensor probabilities = module.forward(prompt.narrow(0, 0, 1))[0][0].detach().softmax(0);
  const auto frequencies = [&](GenerateOptions how) {
    how.generator = at::make_generator<at::CPUGeneratorImpl>(9);
    how.stop_tokens = std::vector<int64_t>{};
    return module.generate(prompt, 1, how).select(1, 1).bincount({}, 13).to(torch::kFloat).div(kDraws);
  };
  for (const double top_p : {0.3, 0.75, 1.0}) {
    INFO(top_p);
    const auto [likeliest, tokens] = probabilities.sort(0, /*descending=*/true);
    const at::Tensor kept = (likeliest.cumsum(0) - likeliest).lt(top_p);
    const at::Tensor expected = torch::zeros(13).scatter(0, tokens, likeliest * kept / (likeliest * kept).sum());
    const at::Tensor actual = frequencies({.top_p = top_p});
    CHECK(actual.sub(expected).abs().max().item<double>() < 0.015);
    CHECK(actual.gt(0).eq(expected.gt(0)).all().item<bool>());
  }
  CHECK(frequencies({.top_k = 3, .top_p = 0.999999}).gt(0).sum().item<int64_t>() == 3);
  CHECK(frequencies({.top_p = 1e-9}).gt(0).sum().item<int64_t>() == 1);
  const auto with = [&](const GenerateOptions& how) {
    return error_text<UsageError>([&] { module.generate(prompt, 1, how); });
  };
  CHECK(with({.top_p = 0}) == "generate: top_p is above 0 and at most 1, got 0");
  CHECK(with({.top_p = 1.5}) == "generate: top_p is above 0 and at most 1, got 1.5");
  CHECK(with({.temperature = NAN}) == "generate: temperature is at least 0, got nan");
}

TEST_CASE("rows end with a stop token, and the rest is filled") {
  const SmallFolder folder("llama");
  write_text(folder.folder / "generation_config.json", R"({"eos_token_id": [11, 5], "pad_token_id": 3})");
  CausalLM module({.folder = folder.path()});
  CHECK(module.stop_tokens() == std::vector<int64_t>{11, 5});
  const at::Tensor prompt = torch::full({50, 1}, 7);
  const auto generated = [&](const GenerateOptions& how) { return module.generate(prompt, 40, how); };
  const auto with_seed = [] { return at::make_generator<at::CPUGeneratorImpl>(4); };
  const auto ends_with = [](const at::Tensor& row, const std::vector<int64_t>& stops, int64_t pad) {
    bool is_over = false;
    for (int64_t i = 1; i < row.size(0); ++i) {
      const auto token = row[i].item<int64_t>();
      if (is_over && token != pad) return false;
      is_over = is_over || std::ranges::count(stops, token) > 0;
    }
    return is_over;
  };
  const at::Tensor all = generated({.generator = with_seed()});
  CHECK(all.size(1) < 41);  // it ended when the last row did
  for (int64_t row = 0; row < 50; ++row) CHECK(ends_with(all[row], {11, 5}, 3));
  const at::Tensor own = generated({.stop_tokens = std::vector<int64_t>{6}, .pad_token = 0, .generator = with_seed()});
  int64_t ended = 0;
  for (int64_t row = 0; row < 50; ++row) ended += ends_with(own[row], {6}, 0) ? 1 : 0;
  CHECK(ended > 25);
  CHECK(generated({.stop_tokens = std::vector<int64_t>{}, .generator = with_seed()}).size(1) == 41);
  write_text(folder.folder / "generation_config.json", R"({"eos_token_id": "x"})");
  CHECK(
      contains(error_text<UsageError>([&] { CausalLM({.folder = folder.path()}); }), "eos_token_id: expected a list"));
}

TEST_CASE("a model that learned with adapters is saved with what they add") {
  for (const char* const family : {"llama", "gpt2"}) {
    INFO(family);
    const SmallFolder folder(family);
    CausalLM module({.folder = folder.path()});
    levin::add_lora(module, {.rank = 2, .targets = {std::string(family) == "gpt2" ? "c_attn" : "q_proj"}});
    levin::optim::SGD optimizer(module.parameters(), {.lr = 0.1});
    const at::Tensor tokens = some_tokens(2, 9);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      module.loss(tokens, tokens.roll(-1, 1)).backward();
      optimizer.step();
    }
    module.eval();
    const TemporaryFolder saved;
    module.save_pretrained(saved.path());
    CausalLM original({.folder = folder.path()}), merged({.folder = saved.path().string()});
    merged.eval();
    original.eval();
    CHECK(merged.forward(tokens).allclose(module.forward(tokens), 1e-5, 1e-5));
    CHECK(!merged.forward(tokens).allclose(original.forward(tokens), 1e-3, 1e-3));
  }
}

TEST_CASE("a model that cannot be saved leaves no empty folder") {
  const SmallFolder folder("llama");
  CausalLM module({.folder = folder.path()});
  const TemporaryFolder saved;
  std::filesystem::create_directories(saved / "there");
  const auto full = [](const char* stage) { return std::string_view(stage) == "write" ? ENOSPC : 0; };
  const auto before = levin::set_file_stage_hook(full);
  CHECK(contains(error_text([&] { module.save_pretrained(saved / "new" / "model"); }), "No space left"));
  CHECK(contains(error_text([&] { module.save_pretrained(saved / "there"); }), "No space left"));
  levin::set_file_stage_hook(before);
  CHECK_FALSE(std::filesystem::exists(saved / "new"));
  CHECK(std::filesystem::exists(saved / "there"));
}

TEST_CASE("forward is exported as a program, for any number of samples") {
  const Json of_gemma = {{"head_dim", 4}, {"sliding_window", 3}};
  for (const auto& [family, changes] :
       {std::pair("llama", Json::object()), {"gemma2", of_gemma}, {"gpt2", Json::object()}}) {
    INFO(family);
    const SmallFolder folder(family, changes);
    CausalLM module({.folder = folder.path()});
    module.eval();
    const auto exported =
        levin::export_program(module, levin::Batch(some_tokens(2, 7)),
                              {.function = module.export_functions().at("forward"), .inference = true});
    const at::Tensor others = some_tokens(5, 7, 11);
    CHECK(exported.run({others}).front().allclose(module.forward(others), 1e-5, 1e-6));
  }
}

TEST_CASE("a config makes a causal language model") {
  const SmallFolder folder("qwen3", {{"num_key_value_heads", 4}, {"head_dim", 4}});
  const auto& registry = levin::ModuleKind::registry();
  const levin::Schema& schema = registry.at("CausalLM", "model").schema();
  const auto options = schema.make();
  schema.set(options.get(), "model",
             Json{{"folder", folder.path()}, {"optimizer", {{"class", "SGD"}, {"lr", 0.5}}}, {"dtype", "file"}});
  const auto module = registry.entry("CausalLM", "model")(options.get());
  auto& model = dynamic_cast<CausalLM&>(*module);
  CHECK(model.named_parameters().contains("model.layers.1.self_attn.q_norm.weight"));
  CHECK(model.config().family == "qwen3");
  CHECK(module->configure_optimizers().entries[0].optimizer->param_groups()[0].options().get_lr() == 0.5);
  CHECK(levin::ModuleAccess::factory(*module)()->named_parameters().size() == module->named_parameters().size());
  CHECK(contains(error_text<UsageError>([&] { schema.set(options.get(), "model", {{"dtype", "int4"}}); }), "dtype"));
}

TEST_CASE("a base in 4 bits that is read layer by layer has the codes of one that was whole before") {
  for (const char* type : {"llama", "gpt2"})
    for (const bool dora : {false, true}) {
      CAPTURE(type, dora);
      const SmallFolder folder(type);
      const levin::LoRAOptions lora = {.rank = 2, .dora = dora, .base = "nf4"};
      levin::nn::CausalLMOptions options = {.folder = folder.path()};
      options.initial.adapter = {"LoRA", lora};
      const CausalLM by_layer(options);
      CausalLM whole({.folder = folder.path()});
      levin::add_lora(whole, lora);
      const auto expected = whole.named_parameters();
      REQUIRE(by_layer.named_parameters().size() == expected.size());
      for (const auto& item : by_layer.named_parameters()) {
        CAPTURE(item.key());
        if (!item.key().ends_with("lora_A.weight")) CHECK(item.value().equal(expected[item.key()]));
      }
    }
}
