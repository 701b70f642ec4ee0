// The replay buffer against a naive model, its frequencies, returns by hand, threads, resume, and bad input.
#include <levin/data/replay.h>
#include <levin/levin.h>

#include <atomic>
#include <deque>
#include <limits>
#include <random>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using levin::data::ReplayBuffer;
using levin::data::ReplayOptions;
using levin::data::ReplaySample;

struct Transition {
  torch::Tensor observation, action, reward, next_observation, terminated, truncated;
  LEVIN_BATCH_FIELDS(Transition, observation, action, reward, next_observation, terminated, truncated)
};

/// Transition `number` of a stream; all of its tensors tell both.
Transition transition(int64_t stream, int64_t number, double reward = 0, bool terminated = false,
                      bool truncated = false) {
  const auto at = static_cast<double>(number), of = static_cast<double>(stream);
  return {.observation = torch::tensor({{of, at}}, torch::kFloat),
          .action = torch::tensor({stream * 1000 + number}),
          .reward = torch::tensor({reward}, torch::kFloat),
          .next_observation = torch::tensor({{of, at + 1}}, torch::kFloat),
          .terminated = torch::tensor({terminated}),
          .truncated = torch::tensor({truncated})};
}

bool equal(const Transition& a, const Transition& b) {
  const auto left = a.field_tensors(), right = b.field_tensors();
  for (size_t i = 0; i < left.size(); ++i)
    if (!torch::equal(*left[i], *right[i])) return false;
  return true;
}

bool equal(const ReplaySample<Transition>& a, const ReplaySample<Transition>& b) {
  return equal(a.transitions, b.transitions) && torch::equal(a.indices, b.indices) &&
         torch::equal(a.weights, b.weights) && torch::equal(a.discounts, b.discounts);
}

/// What a buffer holds, kept as a list of single transitions.
struct NaiveReplay {
  struct Entry {
    Transition transition;
    int64_t stream, number;
    double reward;
    bool ends;
  };
  void add(const Transition& rows, int64_t first_stream) {
    for (int64_t i = 0; i < rows.size(); ++i) {
      const Transition row = rows.narrow(i, 1);
      const bool ends = row.terminated.item<bool>() || row.truncated.item<bool>();
      entries.push_back({row, first_stream + i, added++, row.reward.item<double>(), ends});
      if (entries.size() > capacity) entries.pop_front();
    }
  }
  /// Returns what sampling the transition `number` gives, and its discount.
  std::pair<Transition, double> at(int64_t number, int64_t n_step, double gamma) const {
    size_t i = static_cast<size_t>(number - entries.front().number);
    Transition result = entries[i].transition;
    double sum = entries[i].reward, discount = gamma;
    size_t last = i;
    for (int64_t step = 1; step < n_step && !entries[last].ends; ++step) {
      size_t next = last + 1;
      while (next < entries.size() && entries[next].stream != entries[last].stream) ++next;
      if (next == entries.size()) break;
      last = next;
      sum += discount * entries[last].reward;
      discount *= gamma;
    }
    result.reward = torch::tensor({sum}, torch::kDouble).to(torch::kFloat);
    result.next_observation = entries[last].transition.next_observation;
    result.terminated = entries[last].transition.terminated;
    result.truncated = entries[last].transition.truncated;
    return {result, discount};
  }
  size_t capacity;
  std::deque<Entry> entries = {};
  int64_t added = 0;
};

}  // namespace

TEST_CASE("a replay buffer gives what a list of its newest transitions gives") {
  for (const auto& [capacity, n_step] : {std::pair(1, 1), {7, 1}, {7, 7}, {40, 3}, {200, 5}}) {
    std::mt19937 random(static_cast<uint32_t>(capacity));
    const double gamma = 0.9;
    ReplayBuffer<Transition> replay({.capacity = capacity, .n_step = n_step, .gamma = gamma, .seed = 2});
    NaiveReplay naive{.capacity = static_cast<size_t>(capacity)};
    std::vector<int64_t> numbers(8, 0);
    for (int round = 0; round < 200; ++round) {
      const auto first = static_cast<int64_t>(random() % 4), rows = 1 + static_cast<int64_t>(random() % 4);
      if (rows > capacity) continue;
      std::vector<Transition> parts;
      for (int64_t stream = first; stream < first + rows; ++stream)
        parts.push_back(transition(stream, numbers[static_cast<size_t>(stream)]++, random() % 100, random() % 8 == 0,
                                   random() % 8 == 0));
      const Transition batch = Transition::gather(parts);
      replay.add(batch, first);
      naive.add(batch, first);
      REQUIRE(replay.size() == static_cast<int64_t>(naive.entries.size()));
      const ReplaySample<Transition> drawn = replay.sample(5);
      for (int64_t i = 0; i < drawn.size(); ++i) {
        const auto [expected, discount] = naive.at(drawn.indices[i].item<int64_t>(), n_step, gamma);
        REQUIRE(equal(drawn.transitions.narrow(i, 1), expected));
        REQUIRE(drawn.discounts[i].item<double>() == static_cast<double>(static_cast<float>(discount)));
        REQUIRE(drawn.weights[i].item<double>() == 1);
      }
    }
  }
}

TEST_CASE("n-step returns by hand: they end with the episode, and streams are kept apart") {
  ReplayBuffer<Transition> replay({.capacity = 100, .n_step = 3, .gamma = 0.5});
  // Stream 0 has the rewards 1, 2, 4 and terminates; stream 1 has 8, 16 and is cut, and goes on with 32.
  replay.add(Transition::gather({transition(0, 0, 1), transition(1, 0, 8)}));
  replay.add(Transition::gather({transition(0, 1, 2), transition(1, 1, 16, false, true)}));
  replay.add(Transition::gather({transition(0, 2, 4, true), transition(1, 2, 32)}));
  const ReplaySample<Transition> drawn = replay.sample(200);
  const std::map<int64_t, std::array<double, 4>> expected = {
      // action: return, discount, number of the last observation, terminated
      {0, {1 + 0.5 * 2 + 0.25 * 4, 0.125, 3, 1}}, {1, {2 + 0.5 * 4, 0.25, 3, 1}}, {2, {4, 0.5, 3, 1}},
      {1000, {8 + 0.5 * 16, 0.25, 2, 0}},         {1001, {16, 0.5, 2, 0}},        {1002, {32, 0.5, 3, 0}}};
  std::set<int64_t> seen;
  for (int64_t i = 0; i < drawn.size(); ++i) {
    const Transition row = drawn.transitions.narrow(i, 1);
    const auto& [value, discount, last, terminated] = expected.at(row.action.item<int64_t>());
    CHECK(row.reward.item<double>() == value);
    CHECK(drawn.discounts[i].item<double>() == discount);
    CHECK(row.next_observation[0][1].item<double>() == last);
    CHECK(row.terminated.item<bool>() == (terminated == 1));
    seen.insert(row.action.item<int64_t>());
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("transitions are drawn in proportion to their priorities, and weights make up for it") {
  ReplayBuffer<> replay({.capacity = 8, .prioritized = true, .alpha = 0.5, .beta = 1});
  replay.add({{"input", torch::arange(6)}});
  const std::vector<double> priorities = {1, 4, 9, 16, 25, 36};
  replay.update_priorities(torch::arange(6), torch::tensor(priorities));
  std::vector<int64_t> counts(6, 0);
  const int64_t draws = 2000, of = 21;
  for (int64_t i = 0; i < draws; ++i) {
    const ReplaySample<levin::Batch> drawn = replay.sample(of);
    for (int64_t k = 0; k < of; ++k) {
      const auto item = static_cast<size_t>(drawn.transitions.input()[k].item<int64_t>());
      ++counts[item];
      if (i == 0) CHECK(drawn.weights[k].item<double>() == Approx(1.0 / static_cast<double>(item + 1)).epsilon(1e-5));
    }
  }
  // Probability (item + 1) / 21. Parts of the sum are drawn, so that the counts vary less than binomial ones.
  for (size_t item = 0; item < 6; ++item)
    CHECK(static_cast<double>(counts[item]) ==
          Approx(static_cast<double>(draws * (static_cast<int64_t>(item) + 1))).epsilon(0.02));

  // beta 0 weighs all alike; a new transition gets the largest priority; a replaced one is left out.
  replay.set_beta(0);
  CHECK((replay.sample(10).weights == 1).all().item<bool>());
  replay.add({{"input", torch::arange(6, 10)}});
  replay.update_priorities(torch::tensor({0, 1}), torch::tensor({1e9, 1e9}));
  int64_t newest = 0;
  for (int i = 0; i < 500; ++i) newest += (replay.sample(1).indices >= 6).sum().item<int64_t>();
  CHECK(static_cast<double>(newest) / 500 == Approx(24.0 / 42).margin(0.08));
}

TEST_CASE("uniform draws hit all transitions alike") {
  ReplayBuffer<> replay({.capacity = 16});
  replay.add({{"input", torch::arange(12)}});
  replay.add({{"input", torch::arange(12)}});
  const torch::Tensor counts = torch::bincount(replay.sample(64000).indices - 8);
  CHECK(counts.numel() == 16);
  CHECK(((counts - 4000).abs() < 300).all().item<bool>());
}

TEST_CASE("many producers add while a learner draws, and no transition is torn") {
  const int64_t producers = 4, each = 2000;
  ReplayBuffer<Transition> replay({.capacity = 500, .n_step = 3, .prioritized = true});
  std::atomic<int64_t> left = producers;
  std::vector<std::thread> threads;
  for (int64_t stream = 0; stream < producers; ++stream)
    threads.emplace_back([&, stream] {
      for (int64_t i = 0; i < each; ++i) replay.add(transition(stream, i, static_cast<double>(stream)), stream);
      --left;
    });
  bool torn = false;
  for (int64_t draws = 0; left > 0 || draws == 0;) {
    if (replay.size() < 10) continue;
    ++draws;
    const ReplaySample<Transition> drawn = replay.sample(32);
    const torch::Tensor stream = drawn.transitions.observation.select(1, 0),
                        number = drawn.transitions.observation.select(1, 1);
    torn |= !torch::equal(stream * 1000 + number, drawn.transitions.action.to(torch::kFloat));
    // The rewards of a stream are its number, so that sums of k of them tell that streams are kept apart.
    const torch::Tensor steps = drawn.transitions.next_observation.select(1, 1) - number;
    torn |= !torch::equal(drawn.transitions.next_observation.select(1, 0), stream);
    torn |= !torch::allclose(drawn.discounts, torch::pow(0.99, steps));
    replay.update_priorities(drawn.indices, torch::rand({32}));
    if (draws % 10 == 0) replay.state_dict();
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(torn);
  CHECK(replay.added() == producers * each);
  CHECK(replay.size() == 500);
}

TEST_CASE("a saved buffer goes on to the bit, and its state does not change afterwards") {
  for (const bool prioritized : {false, true}) {
    for (const int64_t count : {3, 25}) {
      const ReplayOptions options{.capacity = 20, .n_step = 3, .prioritized = prioritized, .seed = 5};
      ReplayBuffer<Transition> replay(options);
      for (int64_t i = 0; i < count; ++i)
        replay.add(Transition::gather({transition(0, i, 1, i % 7 == 6), transition(1, i, 2)}));
      replay.sample(4);
      if (prioritized) replay.update_priorities(torch::tensor({count, count + 1}), torch::tensor({0.3, 7.0}));
      const levin::State state = replay.state_dict();
      const auto go_on = [&](ReplayBuffer<Transition>& buffer) {
        std::vector<ReplaySample<Transition>> drawn;
        for (int64_t i = 0; i < 30; ++i) {
          buffer.add(Transition::gather({transition(0, i, 5), transition(1, i, 6, i % 5 == 0)}));
          drawn.push_back(buffer.sample(8));
          if (prioritized) buffer.update_priorities(drawn.back().indices, drawn.back().transitions.reward);
        }
        return drawn;
      };
      const auto expected = go_on(replay);
      ReplayOptions other_seed = options;
      other_seed.seed = 99;
      ReplayBuffer<Transition> resumed(other_seed);
      resumed.load_state_dict(state);  // the first buffer has changed since
      const auto got = go_on(resumed);
      for (size_t i = 0; i < got.size(); ++i) REQUIRE(equal(expected[i], got[i]));
    }
  }
  ReplayBuffer<> empty({.capacity = 3}), other({.capacity = 3});
  other.add({{"input", torch::zeros({1})}});
  other.load_state_dict(empty.state_dict());
  CHECK(other.size() == 0);
}

TEST_CASE("a buffer in inference mode gives samples that can be trained on") {
  ReplayBuffer<> replay({.capacity = 4});
  {
    const c10::InferenceMode inference;
    replay.add({{"input", torch::ones({2, 3})}});
  }
  replay.add({{"input", torch::ones({1, 3}).requires_grad_()}});
  const torch::Tensor input = replay.sample(4).transitions.input();
  CHECK_FALSE(input.is_inference());
  CHECK_FALSE(input.requires_grad());
}

namespace {

/// Learns from what it collects itself: its weights decide what comes into the buffer.
struct Collector : ToyModule {
  explicit Collector(bool prioritized) : replay({.capacity = 60, .n_step = 2, .prioritized = prioritized, .seed = 3}) {}

  void collect() {
    const torch::NoGradGuard no_grad;
    const torch::Tensor input = torch::randn({2, 4});
    replay.add({{"input", input}, {"reward", net->forward(input).squeeze(1)}, {"terminated", torch::rand({2}) < 0.2}});
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto& drawn = batch.as<ReplaySample<levin::Batch>>();
    const torch::Tensor target = drawn.transitions["reward"].unsqueeze(1) + drawn.discounts.unsqueeze(1);
    const torch::Tensor errors = net->forward(drawn.transitions.input()) - target;
    if (replay.options().prioritized) replay.update_priorities(drawn.indices, errors.detach().abs());
    return (drawn.weights.unsqueeze(1) * errors.square()).mean();
  }
  void on_save_checkpoint(levin::Run&, levin::State& checkpoint) override {
    checkpoint["replay"] = replay.state_dict();
  }
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    replay.load_state_dict(checkpoint.at("replay"));
  }
  ReplayBuffer<> replay;
};

/// The same without the hooks, for sessions that register the buffer.
struct HostedCollector : Collector {
  using Collector::Collector;
  void on_save_checkpoint(levin::Run&, levin::State&) override {}
  void on_load_checkpoint(levin::Run&, const levin::State&) override {}
};

levin::TrainerOptions replay_run(const std::filesystem::path& root, int64_t max_steps) {
  levin::TrainerOptions options;
  options.default_root_dir = root.string();
  options.enable_progress_bar = options.enable_model_summary = false;
  options.seed = 5;
  options.num_threads = 1;
  options.max_steps = max_steps;
  return options;
}

}  // namespace

TEST_CASE("a session with a replay buffer continues to the bit") {
  for (const bool prioritized : {false, true}) {
    const auto train = [&](const std::filesystem::path& root, const std::string& ckpt_path, int64_t stop_after) {
      torch::manual_seed(ckpt_path.empty() ? 1 : 2);
      auto module = std::make_shared<HostedCollector>(prioritized);
      levin::Session session =
          levin::Trainer(replay_run(root, 90)).start(module, {.ckpt_path = ckpt_path, .host_saves = true});
      session.register_state("replay", module->replay);
      for (int64_t i = 0; session.next() && i != stop_after; ++i) {
        module->collect();
        session.step(module->replay.sample(8));
      }
      if (session.next()) session.save("middle.ckpt");
      session.finish();
      return module;
    };
    TemporaryFolder folder;
    const auto expected = train(folder.path() / "a", "", -1);
    const torch::Tensor drawn_next = expected->replay.sample(50).indices;
    for (const int64_t stop_after : {7, 50}) {
      const auto at = folder.path() / std::to_string(stop_after);
      train(at, "", stop_after);
      const auto file = at / "levin_logs" / "version_0" / "checkpoints" / "middle.ckpt";
      const auto resumed = train(folder.path() / "c", file.string(), -1);
      CHECK(bit_equal(expected->parameters(), resumed->parameters()));
      CHECK(torch::equal(drawn_next, resumed->replay.sample(50).indices));
    }
  }
}

TEST_CASE("fit trains on a replay buffer and is resumed to the bit, within an epoch and between two") {
  for (const bool prioritized : {false, true}) {
    const auto train = [&](const std::filesystem::path& root, int64_t max_steps, const std::string& ckpt_path) {
      torch::manual_seed(ckpt_path.empty() ? 1 : 2);
      auto module = std::make_shared<Collector>(prioritized);
      const auto loader =
          module->replay.loader({.batch_size = 8, .batches_per_epoch = 10, .collect = [&] { module->collect(); }});
      const levin::RunResult result = levin::Trainer(replay_run(root, max_steps)).fit(*module, loader, {}, ckpt_path);
      CHECK(result.global_step == max_steps);
      return std::pair(module, result.folder);
    };
    TemporaryFolder folder;
    const auto expected = train(folder.path() / "a", 45, "").first;
    for (const int64_t stop : {7, 20, 33}) {
      const auto broken = train(folder.path() / std::to_string(stop), stop, "").second;
      const auto resumed = train(folder.path() / "c", 45, broken.string()).first;
      CHECK(bit_equal(expected->parameters(), resumed->parameters()));
    }
  }
}

TEST_CASE("mistakes with a replay buffer are named") {
  ReplayBuffer<> replay({.capacity = 4, .prioritized = true});
  const auto add = [&](const levin::Batch& batch) { return error_text<levin::UsageError>([&] { replay.add(batch); }); };
  CHECK(error_text<levin::UsageError>([&] { replay.sample(2); }) ==
        "ReplayBuffer::sample: the buffer is empty; add transitions first");
  CHECK(add({}) == "ReplayBuffer::add: the batch holds no tensors");
  CHECK(
      add(Transition{}) ==
      "a buffer of Batch takes named tensors, the batch holds a struct; describe the struct by LEVIN_BATCH_FIELDS and "
      "use a buffer of that type");
  CHECK(add({{"boxes", levin::Batch::List{{torch::zeros({1})}}}}) ==
        "a buffer keeps tensors, but \"boxes\" of the batch is a list");
  CHECK(
      add({torch::zeros({})}) ==
      "ReplayBuffer::add: \"input\" is a scalar; dimension 0 counts the transitions, so use unsqueeze(0) for a single "
      "one");
  CHECK(add({torch::zeros({2, 3}), torch::zeros({3})}) ==
        "ReplayBuffer::add: \"target\" has 3 rows, \"input\" has 2; all tensors of a batch need as many");
  replay.add({torch::zeros({2, 3}), torch::zeros({2})});
  CHECK(add({torch::zeros({2, 3})}) ==
        "ReplayBuffer::add: the batch holds input; the buffer holds input, target, as its first batch did");
  CHECK(add({torch::zeros({2, 4}), torch::zeros({2})}) ==
        "ReplayBuffer::add: rows of \"input\" are Float [4]; the buffer has Float [3], as its first batch did; convert "
        "them");
  CHECK(contains(add({torch::zeros({2, 3}), torch::zeros({2}, torch::kDouble)}),
                 "rows of \"target\" are Double []; the"));
  CHECK(add({torch::zeros({5, 3}), torch::zeros({5})}) ==
        "ReplayBuffer::add: 5 transitions at once, the capacity is 4");
  CHECK(error_text<levin::UsageError>([&] { replay.add({torch::zeros({1, 3}), torch::zeros({1})}, -1); }) ==
        "ReplayBuffer::add: stream -1; streams count from 0");
  CHECK(error_text<levin::UsageError>([&] { replay.sample(0); }) ==
        "ReplayBuffer::sample: 0 transitions; ask for at least 1");

  const auto update = [&](const torch::Tensor& indices, const torch::Tensor& priorities) {
    return error_text<levin::UsageError>([&] { replay.update_priorities(indices, priorities); });
  };
  CHECK(update(torch::arange(2), torch::ones({3})) ==
        "ReplayBuffer::update_priorities: 2 indices and 3 priorities; give one priority for each index");
  CHECK(contains(update(torch::arange(2), torch::tensor({1.0, std::nan("")})),
                 "update_priorities: priority 1 is nan; pr"));
  CHECK(contains(update(torch::arange(2), torch::tensor({-1.0, 1.0})), "priority 0 is -1; priorities are finite and"));
  CHECK(contains(update(torch::arange(2), torch::tensor({1.0, HUGE_VAL})), "priority 1 is inf"));
  CHECK(update(torch::tensor({0, 2}), torch::ones({2})) ==
        "ReplayBuffer::update_priorities: there is no transition 2; 2 were added");
  CHECK(contains(error_text<levin::UsageError>([&] { replay.set_beta(2); }), "must be in [0, 1]"));
  ReplayBuffer<> uniform({.capacity = 4});
  CHECK(contains(error_text<levin::UsageError>([&] { uniform.update_priorities({}, {}); }), "set ReplayOptions::pri"));
  ReplayBuffer<> returns({.capacity = 4, .n_step = 2});
  CHECK(error_text<levin::UsageError>([&] { returns.add({torch::zeros({1}), torch::zeros({1})}); }) ==
        "ReplayBuffer: n_step needs a tensor \"reward\"; the batches hold input, target");

  const auto options = [](const ReplayOptions& given) {
    return error_text<levin::UsageError>([&] { ReplayBuffer<> buffer(given); });
  };
  CHECK(options({.capacity = 0}) == "ReplayOptions::capacity: 0; it must be at least 1");
  CHECK(options({.capacity = 2, .n_step = 3}) == "ReplayOptions::n_step: 3; it must be in [1, capacity]");
  CHECK(options({.gamma = std::nan("")}) == "ReplayOptions::gamma: nan; it must be in [0, 1]");
  CHECK(contains(options({.alpha = -1}), "alpha"));
  CHECK(contains(options({.beta = 1.5}), "beta"));
}

TEST_CASE("a replay buffer refuses the state of another buffer") {
  const auto load = [](const ReplayOptions& from, const levin::Batch& batch, const ReplayOptions& to,
                       const levin::Batch& other) {
    ReplayBuffer<> saved(from), buffer(to);
    saved.add(batch);
    if (!other.empty()) buffer.add(other);
    return error_text<levin::UsageError>([&] { buffer.load_state_dict(saved.state_dict()); });
  };
  const levin::Batch batch(
      {{"input", torch::zeros({2, 3})}, {"reward", torch::zeros({2})}, {"terminated", torch::zeros({2})}});
  CHECK(load({.capacity = 4}, batch, {.capacity = 5}, {}) ==
        "ReplayBuffer: the saved buffer has the capacity 4, this one 5; give both the same capacity");
  CHECK(load({.capacity = 4, .n_step = 2}, batch, {.capacity = 4}, {}) ==
        "ReplayBuffer: the saved buffer has n_step 2, this one 1; give both the same n_step");
  CHECK(load({.capacity = 4, .prioritized = true}, batch, {.capacity = 4}, {}) ==
        "ReplayBuffer: only one of the saved buffer and this one is prioritized; give both the same");
  CHECK(load({.capacity = 4}, batch, {.capacity = 4}, {torch::zeros({2, 3})}) ==
        "ReplayBuffer: the saved buffer holds input, reward, terminated; this one takes input; give both the same "
        "batches");
  CHECK(load({.capacity = 4}, {torch::zeros({2, 3})}, {.capacity = 4}, {torch::zeros({2, 5})}) ==
        "ReplayBuffer: rows of \"input\" are Float [3] in the saved buffer and Float [5] in this one");
  CHECK(load({.capacity = 4}, batch, {.capacity = 4}, {}) == "no error");

  ReplayBuffer<> named({.capacity = 4});
  named.add(batch);
  ReplayBuffer<Transition> typed({.capacity = 4});
  CHECK(error_text<levin::UsageError>([&] { typed.load_state_dict(named.state_dict()); }) ==
        "ReplayBuffer: the saved buffer holds input, reward, terminated; this one takes observation, action, reward, "
        "next_observation, terminated, truncated; give both the same batches");
}
