// The cross entropy of a CausalLM in blocks of tokens, beside that of all logits at once.
#include <levin/modules/transformers/blocked_loss.h>
#include <ATen/CPUGeneratorImpl.h>
#include <levin/core/device/memory_tracker.h>
#include <levin/modules/adapters/lora.h>
#include <levin/modules/autocast.h>
#include <levin/modules/transformers/causal_lm.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/nn/recording_sink.h"
#include "tests/modules/transformers/small_folder.h"

using levin::UsageError;
using levin::nn::CausalLM;

namespace {

using Change = std::function<void(CausalLM&)>;

at::Tensor random_tokens(int64_t seed, int64_t batch = 3, int64_t time = 7, int64_t vocabulary = 13) {
  return torch::randint(vocabulary, {batch, time}, at::detail::createCPUGenerator(static_cast<uint64_t>(seed)),
                        torch::kLong);
}

/// The next tokens, of which the first two of each row and all of the last row do not count.
at::Tensor partly_counted(const at::Tensor& tokens) {
  at::Tensor target = tokens.roll(-1, 1);
  target.narrow(1, 0, 2).fill_(-100);
  target.select(0, -1).fill_(-100);
  return target;
}

/// Adds adapters, and gives their factors values.
Change with_lora(const levin::LoRAOptions& options) {
  return [options](CausalLM& model) {
    levin::add_lora(model, options);
    at::Generator draws = at::detail::createCPUGenerator(9);
    for (auto& item : model.named_parameters())
      if (item.key().find(".lora_") != std::string::npos && item.key().find("magnitude") == std::string::npos)
        item.value().data().normal_(0, 0.3, draws);
  };
}

Change freeze(const std::string& part, bool is_frozen_itself) {
  return [part, is_frozen_itself](CausalLM& model) {
    for (auto& item : model.named_parameters())
      if (item.key().starts_with(part) == is_frozen_itself) item.value().requires_grad_(false);
  };
}

struct Computed {
  double loss = 0;
  std::map<std::string, at::Tensor> gradients = {};
};

/// Computes the gradients of a loss that is multiplied by 3, in two batches that are added up.
Computed gradients_of(CausalLM& model) {
  Computed result;
  for (const int64_t seed : {1, 2}) {
    const at::Tensor tokens = random_tokens(seed);
    const at::Tensor loss = model.loss(tokens, partly_counted(tokens));
    (loss * 3).backward();
    result.loss += loss.item<double>();
  }
  for (const auto& item : model.named_parameters())
    if (item.value().grad().defined()) result.gradients[item.key()] = item.value().grad().to(torch::kDouble);
  return result;
}

struct HeadCase {
  std::string name, family = "llama";
  Json changes = Json::object();
  Change change = [](CausalLM&) {};
};

std::vector<HeadCase> head_cases() {
  const auto on_head = [](levin::LoRAOptions options) {
    options.rank = 2;
    options.targets = {"lm_head", "q_proj"};
    return with_lora(options);
  };
  return {
      {.name = "a head of its own"},
      {.name = "a tied head", .changes = {{"tie_word_embeddings", true}}},
      {.name = "a bias", .family = "phi"},
      {.name = "capped logits",
       .family = "gemma2",
       .changes = {{"head_dim", 4}, {"sliding_window", 3}, {"final_logit_softcapping", 1.5}}},
      {.name = "divided logits", .family = "granite", .changes = {{"logits_scaling", 3}}},
      {.name = "gpt2", .family = "gpt2"},
      {.name = "a frozen head", .change = freeze("lm_head", true)},
      {.name = "the head alone", .change = freeze("lm_head", false)},
      {.name = "a bias alone", .family = "phi", .change = freeze("lm_head.bias", false)},
      {.name = "adapters elsewhere", .change = with_lora({.rank = 2, .targets = {"q_proj", "up_proj"}})},
      {.name = "a head beside adapters", .change = with_lora({.rank = 2, .targets = {"q_proj"}, .train = {"lm_head"}})},
      {.name = "an adapter of the head", .change = on_head({})},
      {.name = "DoRA", .change = on_head({.dora = true})},
      {.name = "int8", .change = on_head({.base = "int8"})},
      {.name = "nf4", .changes = {{"vocab_size", 64}}, .change = on_head({.base = "nf4", .double_quant = true})}};
}

/// Returns how far all gradients are from `exact`, relative to their norm.
double distance(const Computed& computed, const Computed& exact) {
  double squares = 0, all = 0;
  for (const auto& [name, gradient] : exact.gradients) {
    squares += (computed.gradients.at(name) - gradient).square().sum().item<double>();
    all += gradient.square().sum().item<double>();
  }
  return std::sqrt(squares / all);
}

/// `most`: how far all gradients may be apart, relative to their norm; the numbers of one may be three times as far.
void check_same(const Computed& got, const Computed& expected, double most) {
  CHECK(std::abs(got.loss - expected.loss) <= most * expected.loss);
  REQUIRE(got.gradients.size() == expected.gradients.size());
  CHECK(distance(got, expected) <= most);
  for (const auto& [name, gradient] : expected.gradients) {
    INFO(name);
    const double largest = gradient.abs().max().item<double>();
    CHECK((got.gradients.at(name) - gradient).abs().max().item<double>() <= 3 * most * largest);
  }
}

int64_t peak_of(const std::function<void()>& work) {
  const levin::MemoryTracker tracker;
  work();
  return tracker.peak()["cpu"];
}

/// Returns the loss, the perplexity and the share of exact matches that a validation step logs.
std::vector<double> validated(CausalLM& model, const levin::Batch& batch) {
  const at::NoGradGuard no_grad;
  RecordingSink sink;
  levin::StepContext context;
  context.sink = &sink;
  levin::ModuleAccess::set_context(model, &context);
  model.validation_step(batch, 0);
  levin::ModuleAccess::set_context(model, nullptr);
  return {sink.values.at("val_loss"), sink.metrics.at("val_perplexity")->compute().item<double>(),
          sink.metrics.at("val_exact_match")->compute().item<double>()};
}

}  // namespace

TEST_CASE("a loss in blocks of tokens has the value and the gradients of one of all logits") {
  for (const HeadCase& one : head_cases()) {
    const SmallFolder folder(one.family, one.changes);
    CausalLM whole({.folder = folder.path()});
    one.change(whole);
    const Computed expected = gradients_of(whole);
    REQUIRE_FALSE(expected.gradients.empty());
    for (const int64_t size : {1, 4, 20, 21, 1000}) {
      INFO(one.name << " in blocks of " << size);
      CausalLM blocks({.folder = folder.path(), .cross_entropy_block_size = size});
      one.change(blocks);
      const Computed got = gradients_of(blocks);
      check_same(got, expected, size < 21 ? 1e-6 : 0);
    }
  }
}

TEST_CASE("in 16 bits a loss in blocks is as near to the exact gradients as one of all logits") {
  const SmallFolder folder("llama", {{"vocab_size", 300}});
  CausalLM wide({.folder = folder.path()});
  const Computed exact = gradients_of(wide);
  for (const auto dtype : {torch::kBFloat16, torch::kHalf})
    for (const bool autocast : {true, false}) {
      INFO(dtype << (autocast ? " by autocast" : " throughout"));
      std::vector<double> distances;
      for (const int64_t size : {0, 3}) {
        CausalLM model({.folder = folder.path(), .cross_entropy_block_size = size});
        if (!autocast) model.to(dtype);
        const levin::Autocast scope(at::kCPU, dtype, autocast);
        distances.push_back(distance(gradients_of(model), exact));
      }
      CHECK(distances[0] > 1e-5);
      CHECK(distances[1] < 1.2 * distances[0]);
    }
}

TEST_CASE("without targets that count, and without gradients, blocks add up to the same loss") {
  const SmallFolder folder("llama");
  CausalLM whole({.folder = folder.path()}), blocks({.folder = folder.path(), .cross_entropy_block_size = 4});
  const at::Tensor tokens = random_tokens(1), none = torch::full_like(tokens, -100);
  const at::Tensor loss = blocks.loss(tokens, none);
  CHECK(loss.item<double>() == 0);
  loss.backward();
  for (const at::Tensor& parameter : blocks.parameters()) CHECK(parameter.grad().eq(0).all().item<bool>());
  const at::NoGradGuard no_grad;
  CHECK(std::abs((blocks.loss(tokens, tokens) - whole.loss(tokens, tokens)).item<double>()) < 1e-6);
  CHECK(contains(error_text<UsageError>([&] { blocks.loss(tokens, torch::full_like(tokens, 13)); }), "out of bounds"));
}

TEST_CASE("a loss in blocks has one backward, without derivatives of its own") {
  const SmallFolder folder("llama");
  CausalLM model({.folder = folder.path(), .cross_entropy_block_size = 4});
  const at::Tensor tokens = random_tokens(1);
  const at::Tensor loss = model.loss(tokens, tokens);
  loss.backward({}, /*retain_graph=*/true);
  const std::string expected = "set cross_entropy_block_size to 0 for several backwards or a graph of the gradients";
  CHECK(contains(error_text<UsageError>([&] { loss.backward(); }), expected));
  const at::Tensor other = model.loss(tokens, tokens);
  CHECK(contains(error_text<UsageError>(
                     [&] { torch::autograd::grad({other}, model.parameters(), {}, true, /*create_graph=*/true); }),
                 expected));
  CHECK(contains(error_text<UsageError>(
                     [&] { CausalLM({.folder = folder.path(), .objective = {"DPO"}, .cross_entropy_block_size = 4}); }),
                 "model.cross_entropy_block_size: model.objective takes the logits of all tokens"));
}

TEST_CASE("a loss in blocks takes the memory of one block's logits") {
  constexpr int64_t kVocabulary = 4096, kBytes = 4 * 128 * kVocabulary * 4;
  for (const bool tied : {false, true}) {
    INFO(tied);
    const SmallFolder folder(
        "llama", {{"vocab_size", kVocabulary}, {"tie_word_embeddings", tied}, {"max_position_embeddings", 128}});
    CausalLM whole({.folder = folder.path()}), blocks({.folder = folder.path(), .cross_entropy_block_size = 16});
    const at::Tensor tokens = random_tokens(1, 4, 128, kVocabulary);
    const auto train = [&](CausalLM& model) {
      return peak_of([&] { model.loss(tokens, partly_counted(tokens)).backward(); });
    };
    CHECK(train(whole) > 2 * kBytes);
    CHECK(train(blocks) < kBytes / 3);
    const auto validate = [&](CausalLM& model) {
      return peak_of([&] { validated(model, levin::Batch(tokens, partly_counted(tokens))); });
    };
    CHECK(validate(whole) > kBytes);
    CHECK(validate(blocks) < kBytes / 3);
  }
}

TEST_CASE("validation in blocks logs the same values") {
  const SmallFolder folder("llama");
  const at::Tensor tokens = random_tokens(5);
  const auto logged = [&](int64_t size) {
    CausalLM model({.folder = folder.path(), .cross_entropy_block_size = size});
    return validated(model, levin::Batch(tokens, partly_counted(tokens)));
  };
  const std::vector<double> expected = logged(0);
  for (const int64_t size : {1, 4, 20}) {
    const std::vector<double> got = logged(size);
    for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(got[i] - expected[i]) <= 1e-6 * expected[i]);
  }
}
