// Adapters beside other options of a fit: each equals the fit of a network that has its low-rank parts by hand.
#include <levin/levin.h>
#include <levin/modules/adapters/adapted_weight.h>

#include <torch/torch.h>

#include <functional>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/adapters/hand_lora.h"

using Catch::Matchers::Contains;

namespace {

struct Bare : ToyModule {
  Bare() : ToyModule(small_net()) {}
};

/// A module that gets its adapters in its constructor.
struct Adapted : ToyModule {
  explicit Adapted(levin::LoRAOptions options) : ToyModule(small_net()) { levin::add_lora(*this, options); }
};

void check_equal(const levin::TrainerOptions& options, double tolerance = 1e-6) {  // sums have another order
  const Pair pair;
  fit(pair.adapted, options);
  fit(pair.by_hand, options);
  CHECK(trained(*pair.adapted).size() == 4);
  CHECK(largest_difference(trained(*pair.adapted), trained(*pair.by_hand)) <= tolerance);
  CHECK_FALSE(bit_equal(trained(*pair.adapted), trained(*Pair().adapted)));
}

levin::TrainerOptions three_epochs(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  return options;
}

}  // namespace

TEST_CASE("replicas of an adapted module train as one process does") {
  const TemporaryFolder folder, other;
  auto options = three_epochs(folder), alone = three_epochs(other);
  options.strategy = "dp";
  options.devices = 2;
  options.accelerator = "cpu";
  const levin::LoRAOptions lora = {.rank = 2, .alpha = 3};
  std::shared_ptr<ToyModule> module;
  SECTION("that gets its adapters where it is made") { module = levin::make_module<Adapted>(lora); }
  SECTION("that gets them afterwards") {
    module = levin::make_module<Bare>();
    levin::add_lora(*module, lora);
  }
  SECTION("with weights of 4 bits and magnitudes") {
    levin::LoRAOptions held = lora;
    held.base = "nf4";
    held.dora = true;
    module = levin::make_module<Adapted>(held);
  }
  const levin::LoRAOptions as_made = {.rank = 2,
                                      .alpha = 3,
                                      .dora = trained(*module).size() == 6,
                                      .base = trained(*module).size() == 6 ? "nf4" : "as_given"};
  const auto single = std::make_shared<Adapted>(as_made);
  for (size_t i = 0; i < 2; ++i) {
    const torch::NoGradGuard no_grad;
    const auto from = levin::adapted_layers(*module), to = levin::adapted_layers(*single);
    to[i].adapter->weight.copy_(from[i].adapter->weight);
  }
  fit(module, options);
  fit(single, alone);
  CHECK(largest_difference(trained(*module), trained(*single)) < 1e-6);
  CHECK_FALSE(torch::equal(trained(*module)[1], torch::zeros_like(trained(*module)[1])));
}

TEST_CASE("a clone of an adapted network computes with adapters of its own") {
  auto net = small_net();
  levin::add_lora(*net, {.rank = 2});
  draw_outputs(*net);
  levin::parallel::DataParallel<torch::nn::Sequential> replicas(net, {.devices = {torch::kCPU, torch::kCPU}});
  const auto x = torch::randn({6, 4});
  const auto one = net->forward(x);
  const auto both = replicas->forward(x);
  CHECK(torch::allclose(both, one, 1e-6, 1e-7));
  both.sum().backward();
  const auto gradients = [&] {
    std::vector<torch::Tensor> all;
    for (const auto& parameter : net->parameters())
      if (parameter.requires_grad()) all.push_back(parameter.grad().clone());
    return all;
  };
  const auto of_both = gradients();
  net->zero_grad();
  one.sum().backward();
  CHECK(largest_difference(of_both, gradients()) < 1e-5);
  CHECK(net->named_parameters().size() == 8);
}

TEST_CASE("averages of weights are those of the factors") {
  const TemporaryFolder folder;
  auto options = three_epochs(folder);
  SECTION("exponential") { options.callbacks = {levin::EMAWeightAveraging({.decay = 0.7, .update_every_n_steps = 1})}; }
  SECTION("stochastic") {
    options.callbacks = {levin::StochasticWeightAveraging({.swa_lrs = 0.02, .swa_epoch_start = 2})};
  }
  check_equal(options);
}

TEST_CASE("adapters accumulate gradients in all precisions as a network by hand does") {
  const TemporaryFolder folder;
  auto options = three_epochs(folder);
  options.accumulate_grad_batches = 3;
  SECTION("bf16-true") {
    options.precision = "bf16-true";
    check_equal(options, 0.005);  // sums of 8 bits
  }
  SECTION("64-true") {
    options.precision = "64-true";
    check_equal(options);
  }
  SECTION("bf16-mixed") {
    options.precision = "bf16-mixed";
    check_equal(options, 0.02);  // by hand, the part is added before it is rounded
  }
}

TEST_CASE("a fit of adapters with averages is resumed to the bit") {
  const TemporaryFolder folder, other;
  const auto with_averages = [](const TemporaryFolder& where, int64_t epochs) {
    auto options = quiet(where);
    options.max_epochs = epochs;
    options.precision = "bf16-mixed";
    options.accumulate_grad_batches = 4;
    options.callbacks = {levin::EMAWeightAveraging({.decay = 0.7, .update_every_n_steps = 1})};
    return options;
  };
  for (const char* base : {"as_given", "nf4", "int8", "bfloat16"})
    for (const bool dora : {false, true}) {
      CAPTURE(base, dora);
      const TemporaryFolder whole_folder, part_folder;
      const levin::LoRAOptions lora = {.rank = 2, .alpha = 3, .dropout = 0.2, .dora = dora, .base = base};
      const auto make = [&] {
        torch::manual_seed(5);
        return std::make_shared<Adapted>(lora);
      };
      const auto whole = make(), first = make(), second = make();
      // Dropout draws by the seed, which the resume takes over.
      fit(whole, with_averages(whole_folder, 4));
      fit(first, with_averages(part_folder, 2));
      {
        const torch::NoGradGuard no_grad;  // what is resumed has other values
        for (auto& parameter : second->parameters())
          if (parameter.requires_grad()) parameter.normal_();
      }
      fit(second, with_averages(part_folder, 4), "last");
      CHECK(bit_equal(whole->parameters(), second->parameters()));
      CHECK_FALSE(bit_equal(trained(*first), trained(*second)));
    }
}

TEST_CASE("published weights of an adapted module are what it computes with") {
  const TemporaryFolder folder;
  auto options = quiet(folder);
  options.max_steps = 3;
  const ToyData data(12);
  for (const char* base : {"as_given", "nf4"}) {
    CAPTURE(base);
    const levin::LoRAOptions lora = {.rank = 2, .alpha = 3, .base = base};
    const auto module = std::make_shared<Adapted>(lora);
    Adapted reader(lora);
    levin::Session session = levin::Trainer(options).start(module);
    while (session.next()) {
      session.step(levin::Batch(data.input, data.target));
      session.publish();
      session.published().copy_to(reader);
      CHECK(torch::equal(reader.net->forward(data.input), module->net->forward(data.input)));
    }
    session.finish();
    CHECK_FALSE(torch::equal(reader.net->forward(data.input), Adapted(lora).net->forward(data.input)));
  }
}

TEST_CASE("layers with adapters are not divided among tensor-parallel ranks, which is said by name") {
  torch::nn::Sequential net(levin::parallel::ColumnLinear(levin::parallel::ColumnLinearOptions{4, 8}));
  levin::add_lora(*net, {.rank = 2});
  CHECK_THAT(error_text([&] { levin::parallel::divide_module(*net, nullptr); }),
             Contains("0 has an adapter") && Contains("trainer.mesh.tensor"));
}

TEST_CASE("pruned adapters keep their zeros, and the frozen weights are pruned as those of any module") {
  const TemporaryFolder folder;
  auto options = three_epochs(folder);
  levin::ModelPruningOptions pruning = {.pruning_fn = "l1_unstructured", .amount = 0.5};
  const Pair pair;
  const auto weight = [&] { return pair.adapted->net->ptr<torch::nn::LinearImpl>(0)->weight; };
  SECTION("factors by name") {
    pruning.parameters_to_prune = {"net.0.lora_A.weight"};
    pruning.use_lottery_ticket_hypothesis = false;
    options.callbacks = {levin::ModelPruning(pruning)};
    fit(pair.adapted, options);
    const auto a = levin::adapted_layers(*pair.adapted).at(0).adapter->weight;
    CHECK(a.eq(0).sum().item<int64_t>() == 7);  // 4, 2 and 1 of 8
    CHECK(weight().eq(0).sum().item<int64_t>() == 0);
  }
  SECTION("all") {
    options.callbacks = {levin::ModelPruning(pruning)};
    fit(pair.adapted, options);
    CHECK(levin::adapters::adapter_of(weight()));
    CHECK(weight().eq(0).sum().item<int64_t>() > 0);
  }
}
