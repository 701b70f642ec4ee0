// The rollout buffer: advantages by hand and against the definition, minibatches, threads, resume, bad input.
#include <levin/data/rollout.h>
#include <levin/levin.h>

#include <map>
#include <random>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using levin::data::RolloutBuffer;
using levin::data::RolloutOptions;
using levin::data::RolloutSample;

struct ActorStep {
  torch::Tensor number, reward, value, terminated, truncated, final_value;
  LEVIN_BATCH_FIELDS(ActorStep, number, reward, value, terminated, truncated, final_value)
};

/// A step of `count` environments with random content; `number` tells step and environment.
ActorStep random_steps(int64_t step, int64_t first, int64_t count) {
  return {.number = torch::arange(first, first + count) + 100 * step,
          .reward = torch::randn({count}),
          .value = torch::randn({count}),
          .terminated = torch::rand({count}) < 0.15,
          .truncated = torch::rand({count}) < 0.15,
          .final_value = torch::randn({count})};
}

bool same(const RolloutSample<ActorStep>& a, const RolloutSample<ActorStep>& b) {
  return torch::equal(a.steps.number, b.steps.number) && torch::equal(a.steps.reward, b.steps.reward) &&
         torch::equal(a.advantages, b.advantages) && torch::equal(a.returns, b.returns);
}

}  // namespace

TEST_CASE("advantages by hand") {
  RolloutBuffer<> rollout({.steps = 3,
                           .environments = 2,
                           .batch_size = 6,
                           .passes = 1,
                           .gamma = 0.5,
                           .gae_lambda = 0.5,
                           .normalize_advantages = false});
  const auto add = [&](std::vector<double> reward, std::vector<double> value, std::vector<bool> terminated) {
    rollout.add({{"reward", torch::tensor(reward, torch::kFloat)},
                 {"value", torch::tensor(value, torch::kFloat)},
                 {"terminated", torch::tensor(std::vector<int64_t>(terminated.begin(), terminated.end()))}});
  };
  add({1, 8}, {2, 4}, {false, false});
  add({2, 16}, {4, 8}, {false, true});
  add({4, 32}, {8, 16}, {false, false});
  CHECK(rollout.is_full());
  rollout.finish(torch::tensor({16.0, 32.0}));
  const auto drawn = rollout.next();
  // Environment 0: deltas 4 + 8 - 8 = 4, 2 + 4 - 4 = 2, 1 + 2 - 2 = 1; each plus a quarter of the next advantage.
  // Environment 1: 32 + 16 - 16 = 32; the episode ends before: 16 - 8 = 8; then 8 + 4 - 4 = 8 plus a quarter of 8.
  const std::map<double, double> expected = {{4, 4}, {2, 3}, {1, 1.75}, {32, 32}, {16, 8}, {8, 10}};
  for (int64_t i = 0; i < 6; ++i) {
    CHECK(drawn.advantages[i].item<double>() == expected.at(drawn.steps["reward"][i].item<double>()));
    CHECK(drawn.returns[i].item<double>() ==
          drawn.advantages[i].item<double>() + drawn.steps["value"][i].item<double>());
  }
  CHECK_FALSE(rollout.is_ready());
  CHECK_FALSE(rollout.is_full());
}

TEST_CASE("advantages equal their definition as a weighted sum of n-step advantages") {
  torch::manual_seed(3);
  const int64_t steps = 20, environments = 3;
  const double gamma = 0.9, lambda = 0.8;
  RolloutBuffer<ActorStep> rollout({.steps = steps,
                                    .environments = environments,
                                    .batch_size = 7,
                                    .passes = 1,
                                    .gamma = gamma,
                                    .gae_lambda = lambda,
                                    .normalize_advantages = false});
  std::vector<ActorStep> all;
  for (int64_t t = 0; t < steps; ++t) {
    all.push_back(random_steps(t, 0, environments));
    rollout.add(all.back());
  }
  const torch::Tensor last = torch::randn({environments});
  rollout.finish(last);
  while (rollout.is_ready()) {
    const auto drawn = rollout.next();
    for (int64_t i = 0; i < drawn.size(); ++i) {
      const int64_t number = drawn.steps.number[i].item<int64_t>(), environment = number % 100;
      const auto value = [&](const torch::Tensor& of) { return of[environment].item<double>(); };
      double sum = 0, weight = 1;
      for (int64_t t = number / 100; t < steps; ++t) {
        const ActorStep& step = all[static_cast<size_t>(t)];
        const bool ends = value(step.terminated) != 0, is_cut = !ends && value(step.truncated) != 0;
        double next = t + 1 < steps ? value(all[static_cast<size_t>(t) + 1].value) : value(last);
        if (is_cut) next = value(step.final_value);
        if (ends) next = 0;
        sum += weight * (value(step.reward) + gamma * next - value(step.value));
        weight *= gamma * lambda;
        if (ends || is_cut) break;
      }
      REQUIRE(drawn.advantages[i].item<double>() == Approx(sum).margin(1e-5));
      REQUIRE(drawn.returns[i].item<double>() ==
              Approx(sum + value(drawn.steps.value.narrow(0, i, 1).expand({3}))).margin(1e-5));
    }
  }
}

TEST_CASE("each pass has every step once, in an order of its own; advantages are normalized") {
  RolloutBuffer<ActorStep> rollout({.steps = 10, .environments = 4, .batch_size = 16, .passes = 3, .seed = 1});
  std::vector<std::vector<int64_t>> orders;
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t t = 0; t < 10; ++t) rollout.add(random_steps(t, 0, 4));
    rollout.finish(torch::zeros({4}));
    std::vector<int64_t> sizes;
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<int64_t> order;
      std::vector<torch::Tensor> advantages;
      for (int i = 0; i < 3; ++i) {
        const auto drawn = rollout.next();
        sizes.push_back(drawn.size());
        advantages.push_back(drawn.advantages);
        for (int64_t k = 0; k < drawn.size(); ++k) order.push_back(drawn.steps.number[k].item<int64_t>());
      }
      orders.push_back(order);
      const torch::Tensor pass_advantages = torch::cat(advantages);
      CHECK(pass_advantages.mean().item<double>() == Approx(0).margin(1e-5));
      CHECK(pass_advantages.std(false).item<double>() == Approx(1).margin(1e-4));
    }
    CHECK((sizes == std::vector<int64_t>{16, 16, 8, 16, 16, 8, 16, 16, 8}));
  }
  for (size_t i = 0; i < orders.size(); ++i) {
    CHECK(std::set<int64_t>(orders[i].begin(), orders[i].end()).size() == 40);
    for (size_t k = 0; k < i; ++k) CHECK(orders[i] != orders[k]);
  }
}

TEST_CASE("actors in threads add the steps of their environments") {
  const int64_t environments = 6, steps = 50;
  RolloutBuffer<ActorStep> rollout({.steps = steps, .environments = environments, .batch_size = 300, .passes = 1});
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> actors;
    for (int64_t first = 0; first < environments; first += 2)
      actors.emplace_back([&, first] {
        for (int64_t t = 0; t < steps; ++t) rollout.add(random_steps(t, first, 2), first);
      });
    for (std::thread& actor : actors) actor.join();
    CHECK(rollout.is_full());
    rollout.finish(torch::zeros({environments}));
    const auto drawn = rollout.next();
    CHECK(std::get<0>(torch::_unique(drawn.steps.number)).numel() == environments * steps);
  }
}

TEST_CASE("a saved rollout goes on to the bit, while it is filled and between its minibatches") {
  const RolloutOptions options{.steps = 5, .environments = 2, .batch_size = 4, .passes = 2, .seed = 8};
  for (const int64_t stop : {0, 3, 5, 6, 9, 11, 14}) {
    torch::manual_seed(4);
    RolloutBuffer<ActorStep> rollout(options), resumed({.steps = 5, .environments = 2, .batch_size = 4, .passes = 2});
    int64_t turn = 0;
    // A turn is a step or a minibatch: 5 of the former, 6 of the latter, and so on.
    const auto go_on = [&](RolloutBuffer<ActorStep>& buffer, int64_t until) {
      std::vector<RolloutSample<ActorStep>> drawn;
      for (; turn < until; ++turn) {
        if (buffer.is_ready()) {
          drawn.push_back(buffer.next());
        } else {
          buffer.add(random_steps(turn, 0, 2));
          if (buffer.is_full()) buffer.finish(torch::randn({2}));
        }
      }
      return drawn;
    };
    go_on(rollout, stop);
    const levin::State state = rollout.state_dict();
    torch::manual_seed(6);
    const auto expected = go_on(rollout, 40);
    turn = stop;
    torch::manual_seed(6);
    resumed.load_state_dict(state);
    const auto got = go_on(resumed, 40);
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) REQUIRE(same(got[i], expected[i]));
  }
}

namespace {

/// Collects rollouts by its own network and learns from them.
struct Actor : ToyModule {
  Actor() : rollout({.steps = 6, .environments = 3, .batch_size = 5, .passes = 2, .gamma = 0.9, .seed = 3}) {}

  void collect() {
    const torch::NoGradGuard no_grad;
    while (!rollout.is_full()) {
      const torch::Tensor input = torch::randn({3, 4});
      rollout.add({{"input", input},
                   {"reward", input.sum(1)},
                   {"value", net->forward(input).squeeze(1)},
                   {"terminated", torch::rand({3}) < 0.2}});
    }
    rollout.finish(net->forward(torch::randn({3, 4})).squeeze(1));
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto& drawn = batch.as<RolloutSample<levin::Batch>>();
    const torch::Tensor output = net->forward(drawn.steps.input()).squeeze(1);
    return torch::mse_loss(output, drawn.returns) - 0.1 * (output * drawn.advantages).mean();
  }
  void on_save_checkpoint(levin::Run&, levin::State& checkpoint) override {
    checkpoint["rollout"] = rollout.state_dict();
  }
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    rollout.load_state_dict(checkpoint.at("rollout"));
  }
  RolloutBuffer<> rollout;
};

}  // namespace

TEST_CASE("fit trains on rollouts, one an epoch, and is resumed to the bit; a session ends with the same bits") {
  const auto options_of = [](const std::filesystem::path& root, int64_t max_steps) {
    levin::TrainerOptions options;
    options.default_root_dir = root.string();
    options.enable_progress_bar = options.enable_model_summary = false;
    options.seed = 5;
    options.num_threads = 1;
    options.max_steps = max_steps;
    return options;
  };
  const auto train = [&](const std::filesystem::path& root, int64_t max_steps, const std::string& ckpt_path) {
    torch::manual_seed(ckpt_path.empty() ? 1 : 2);
    auto module = std::make_shared<Actor>();
    const levin::RunResult result =
        levin::Trainer(options_of(root, max_steps))
            .fit(*module, module->rollout.loader([&] { module->collect(); }), {}, ckpt_path);
    if (max_steps % 8 == 0) CHECK(result.epochs == max_steps / 8);
    return std::pair(module, result.folder);
  };
  TemporaryFolder folder;
  const auto expected = train(folder.path() / "a", 40, "").first;
  for (const int64_t stop : {3, 8, 21}) {
    const auto broken = train(folder.path() / std::to_string(stop), stop, "").second;
    const auto resumed = train(folder.path() / "c", 40, broken.string()).first;
    CHECK(bit_equal(expected->parameters(), resumed->parameters()));
  }

  const auto drive = [&](const std::filesystem::path& root, const std::string& ckpt_path, int64_t stop_after) {
    torch::manual_seed(ckpt_path.empty() ? 1 : 2);
    auto module = std::make_shared<Actor>();
    levin::Session session = levin::Trainer(options_of(root, 40)).start(module, {.ckpt_path = ckpt_path});
    for (int64_t i = 0; session.next() && i != stop_after; ++i) {
      if (!module->rollout.is_ready()) module->collect();
      session.step(module->rollout.next());
    }
    if (session.next()) session.save("middle.ckpt");
    session.finish();
    return module;
  };
  CHECK(bit_equal(expected->parameters(), drive(folder.path() / "d", "", -1)->parameters()));
  drive(folder.path() / "e", "", 13);
  const auto file = folder.path() / "e" / "levin_logs" / "version_0" / "checkpoints" / "middle.ckpt";
  CHECK(bit_equal(expected->parameters(), drive(folder.path() / "f", file.string(), -1)->parameters()));
}

TEST_CASE("mistakes with a rollout buffer are named") {
  const auto text = [](const std::function<void()>& call) { return error_text<levin::UsageError>(call); };
  RolloutBuffer<ActorStep> rollout({.steps = 2, .environments = 3, .batch_size = 6, .passes = 1});
  CHECK(text([&] { rollout.next(); }) ==
        "RolloutBuffer::next: no minibatch is left; add a rollout's steps and call finish()");
  CHECK(text([&] { rollout.add(random_steps(0, 0, 2), 2); }) ==
        "RolloutBuffer::add: steps of the environments 2 to 3, the buffer has 3");
  CHECK(text([&] { rollout.add({}); }) == "RolloutBuffer::add: \"number\" is not set");
  rollout.add(random_steps(0, 0, 2));
  CHECK(text([&] { rollout.add(random_steps(0, 0, 3)); }) ==
        "RolloutBuffer::add: the environments of one batch stand at different steps; add them one by one");
  CHECK(text([&] { rollout.finish(torch::zeros({3})); }) ==
        "RolloutBuffer::finish: environment 0 has 1 of 2 steps; add the others first");
  rollout.add(random_steps(1, 0, 2));
  CHECK(text([&] { rollout.add(random_steps(2, 0, 2)); }) ==
        "RolloutBuffer::add: environment 0 has all of its 2 steps; call finish() once the others have theirs");
  rollout.add(random_steps(0, 2, 1), 2);
  rollout.add(random_steps(1, 2, 1), 2);
  CHECK(text([&] { rollout.finish(torch::zeros({2})); }) ==
        "RolloutBuffer::finish: last_values has 2 values; give one for each of the 3 environments");
  rollout.finish(torch::zeros({3}));
  CHECK(text([&] { rollout.finish(torch::zeros({3})); }) == "RolloutBuffer::finish: the rollout is finished already");
  CHECK(contains(text([&] { rollout.add(random_steps(0, 0, 3)); }), "minibatches of the last rollout are left"));
  RolloutBuffer<ActorStep> other({.steps = 3, .environments = 3});
  CHECK(text([&] { other.load_state_dict(rollout.state_dict()); }) ==
        "RolloutBuffer: the saved buffer has 2 steps of 3 environments, this one 3 of 3; give both the same");

  RolloutBuffer<> named({.steps = 1});
  named.add({{"reward", torch::zeros({1})}, {"terminated", torch::zeros({1})}});
  CHECK(text([&] { named.finish(torch::zeros({1})); }) ==
        "RolloutBuffer: finish needs a tensor \"value\"; the batches hold reward, terminated");
  RolloutBuffer<> wide({.steps = 1});
  wide.add({{"reward", torch::zeros({1, 2})}, {"value", torch::zeros({1})}, {"terminated", torch::zeros({1})}});
  CHECK(
      contains(text([&] { wide.finish(torch::zeros({1})); }), "\"reward\" has the row shape [2]; advantages need one"));
  RolloutBuffer<> cut({.steps = 1});
  cut.add({{"reward", torch::zeros({1})},
           {"value", torch::zeros({1})},
           {"terminated", torch::zeros({1})},
           {"truncated", torch::zeros({1})}});
  CHECK(contains(text([&] { cut.finish(torch::zeros({1})); }), "finish needs a tensor \"final_value\""));
  CHECK(text([] { RolloutBuffer<> buffer({.passes = 0}); }) == "RolloutOptions::passes: 0; it must be at least 1");
  CHECK(text([] { RolloutBuffer<> buffer({.gae_lambda = 2}); }) ==
        "RolloutOptions::gae_lambda: 2; it must be in [0, 1]");
}
