// Sessions in several threads of one process, and several on one thread: each with its own seed and random numbers.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <levin/core/device/own_generator.h>
#include <levin/core/device/rng_guard.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/session/sessions.h"

namespace {

/// Draws in each way that a module may: dropout, noise on the inputs, initial weights, a shuffled order.
struct Noisy : ToyModule {
  Noisy() : ToyModule(0.3) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const torch::Tensor rows = torch::randperm(batch.size());
    const torch::Tensor noise = torch::randn_like(batch.input()) + torch::rand({1}) + torch::randint(3, {1});
    return ToyModule::training_step({(batch.input() + 0.1 * noise).index_select(0, rows), batch.target()}, batch_idx);
  }
  void configure_model() override {
    for (auto& parameter : parameters()) torch::nn::init::normal_(parameter.detach(), 0, 0.5);
  }
};

std::shared_ptr<Noisy> new_noisy() {
  torch::manual_seed(1);
  return std::make_shared<Noisy>();
}

levin::TrainerOptions noisy_options(const TemporaryFolder& folder, int64_t seed, const char* generator) {
  levin::TrainerOptions options = quiet(folder);
  options.seed = seed;
  options.max_steps = 40;
  options.num_threads = 1;
  options.random_generator = generator;
  return options;
}

void step_through(levin::Session& session, const ToyData& data) {
  while (session.next()) session.step(levin::Batch(data.input, data.target));
  session.finish();
}

std::vector<torch::Tensor> trained_alone(const ToyData& data, int64_t seed, const char* generator) {
  const TemporaryFolder folder;
  const auto module = new_noisy();
  levin::Session session = levin::Trainer(noisy_options(folder, seed, generator)).start(module);
  step_through(session, data);
  return module->parameters();
}

/// Draws with every kind of operation that has random numbers of its own.
std::vector<torch::Tensor> draws() {
  std::vector<torch::Tensor> all;
  const auto input = torch::ones({300, 7}, torch::requires_grad());
  torch::dropout(input, 0.3, true).sum().backward();
  all.push_back(input.grad());
  for (const torch::Tensor& one : {torch::randn({100}),
                                   torch::rand({10}),
                                   torch::randperm(50),
                                   torch::randint(100, {20}),
                                   torch::empty({64}).normal_(1, 2),
                                   torch::empty({64}).uniform_(1, 2),
                                   torch::bernoulli(torch::full({40}, 0.4)),
                                   torch::multinomial(torch::rand({10}), 5, true),
                                   torch::rand_like(input),
                                   torch::randn_like(input),
                                   at::normal(torch::zeros({9}), torch::ones({9})),
                                   torch::empty({9}).exponential_(),
                                   torch::empty({9}).log_normal_(),
                                   torch::empty({9}).cauchy_(),
                                   torch::empty({9}).geometric_(0.3),
                                   torch::poisson(torch::full({9}, 3.0)),
                                   torch::rrelu(torch::randn({30}), 0.1, 0.3, true),
                                   torch::feature_dropout(torch::ones({4, 5, 6}), 0.5, true),
                                   torch::alpha_dropout(torch::ones({30}), 0.5, true),
                                   at::_standard_gamma(torch::full({9}, 2.0)),
                                   at::binomial(torch::full({9}, 20.0), torch::full({9}, 0.3)),
                                   torch::empty({5}).random_(),
                                   torch::empty({5}, torch::kLong).random_(3, 90)})
    all.push_back(one);
  const auto query = torch::randn({2, 3, 8, 16});
  all.push_back(at::scaled_dot_product_attention(query, query, query, {}, 0.3));
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(4, 5).num_layers(2).dropout(0.4));
  all.push_back(std::get<0>(lstm->forward(torch::randn({3, 2, 4}))).detach());
  torch::nn::TransformerEncoderLayer layer(torch::nn::TransformerEncoderLayerOptions(8, 2).dropout(0.2));
  all.push_back(layer->forward(torch::randn({3, 2, 8})).detach());
  const c10::InferenceMode no_gradients;
  all.push_back(torch::dropout(torch::randn({8, 8}), 0.5, true));
  return all;
}

}  // namespace

TEST_CASE("an own generator draws what LibTorch's would, and leaves that alone") {
  torch::manual_seed(5);
  const std::vector<torch::Tensor> expected = draws();
  const torch::Tensor before = at::detail::getDefaultCPUGenerator().get_state();
  const at::Generator own = levin::make_generator(5);
  {
    const levin::GeneratorScope scope(own);
    CHECK(levin::has_own_generator());
    CHECK(bit_equal(draws(), expected));
    // A given generator is the caller's; a thread that LibTorch starts for this one draws from the same.
    const at::Generator given = levin::make_generator(9), same = levin::make_generator(9);
    CHECK(torch::equal(torch::randn({4}, given), at::empty({4}).normal_(0, 1, same)));
    const at::ThreadLocalState here;
    bool is_same = false;
    std::thread([&] {
      const at::ThreadLocalStateGuard as_here(here);
      is_same = levin::default_generator() == own;
    }).join();
    CHECK(is_same);
    const levin::GeneratorScope inner{at::Generator()};
    CHECK_FALSE(levin::has_own_generator());
  }
  CHECK(torch::equal(before, at::detail::getDefaultCPUGenerator().get_state()));
  const torch::Tensor states = own.get_state();
  {
    const levin::GeneratorScope scope(own);
    const levin::RngGuard as_before;
    torch::randn({5});
  }
  CHECK(torch::equal(states, own.get_state()));
}

TEST_CASE("two sessions in two threads equal the same sessions alone, and fits") {
  const ToyData data(8);
  const std::vector<torch::Tensor> first = trained_alone(data, 3, "own"), second = trained_alone(data, 4, "own");
  CHECK_FALSE(bit_equal(first, second));
  CHECK(bit_equal(first, trained_alone(data, 3, "default")));
  CHECK(bit_equal(second, trained_alone(data, 4, "auto")));
  const CapturedStderr captured;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> started = 0;
    std::array<std::vector<torch::Tensor>, 2> trained;
    const auto train = [&](size_t index, int64_t seed) {
      const TemporaryFolder folder;
      const auto module = new_noisy();
      levin::Session session = levin::Trainer(noisy_options(folder, seed, "own")).start(module);
      ++started;
      while (started < 2) std::this_thread::yield();
      step_through(session, data);
      trained[index] = module->parameters();
    };
    std::thread one(train, 0, 3), other(train, 1, 4);
    one.join();
    other.join();
    CHECK(bit_equal(trained[0], first));
    CHECK(bit_equal(trained[1], second));
  }
  CHECK_FALSE(contains(captured.text(), "two threads run trainers"));
}

namespace {

/// Makes tensors without a dtype in its steps.
struct Defaulting : ToyModule {
  explicit Defaulting(torch::Dtype expected) : ToyModule(0.0), wanted(expected) {}
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const auto loss = loss_of(batch);
    others += torch::zeros({}).scalar_type() != wanted;
    return loss + torch::ones({});
  }
  torch::Dtype wanted;
  int64_t others = 0;
};

/// Trains a session of this precision until `others` sessions have begun, and then for 60 steps.
int64_t steps_with_another_default(const char* precision, torch::Dtype wanted, bool keeps_settings,
                                   std::atomic<int>& others) {
  const TemporaryFolder folder;
  const ToyData data(8, torch::kDouble);
  levin::TrainerOptions options = noisy_options(folder, 3, "own");
  options.precision = levin::Precision(precision);
  if (keeps_settings) options.num_threads.reset();
  options.keep_torch_settings = keeps_settings;
  options.max_steps = -1;
  const auto module = std::make_shared<Defaulting>(wanted);
  levin::Session session = levin::Trainer(options).start(module);
  --others;
  for (int after = 0; after < 60; after += others <= 0) session.step(levin::Batch(data.input, data.target));
  return module->others;
}

}  // namespace

TEST_CASE("sessions of one -true precision in two threads have its default dtype in all steps, the process its own") {
  const torch::Dtype before = c10::typeMetaToScalarType(torch::get_default_dtype());
  for (const bool keeps_settings : {false, true}) {
    std::atomic<int> others = 2;
    std::array<int64_t, 2> wrong = {-1, -1};
    const auto train = [&](size_t index) {
      wrong[index] =
          steps_with_another_default("64-true", keeps_settings ? before : torch::kDouble, keeps_settings, others);
    };
    std::thread one(train, 0), other(train, 1);
    one.join();
    other.join();
    CHECK(wrong[0] == 0);
    CHECK(wrong[1] == 0);
    CHECK(c10::typeMetaToScalarType(torch::get_default_dtype()) == before);
  }
}

TEST_CASE("sessions that end in any order leave LibTorch's switches as they were before the first") {
  const auto switches = [] {
    const at::Context& context = at::globalContext();
    return std::tuple(context.deterministicAlgorithms(), context.deterministicAlgorithmsWarnOnly(),
                      context.deterministicCuDNN(), context.benchmarkCuDNN(),
                      torch::autograd::AnomalyMode::is_enabled(), context.float32MatmulPrecision());
  };
  const TemporaryFolder folder;
  const ToyData data(8);
  const auto before = switches();
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<levin::Session>> sessions;
    for (int i = 0; i < 4; ++i) {
      levin::TrainerOptions options = options_in(folder);
      if (random() % 2 == 0)
        options.deterministic = true;
      else
        options.benchmark = random() % 2 == 0;
      options.detect_anomaly = random() % 2 == 0;
      if (random() % 2 == 0) options.float32_matmul_precision = random() % 2 == 0 ? "high" : "medium";
      sessions.push_back(std::make_unique<levin::Session>(levin::Trainer(options).start(new_module())));
      // The newest session's switches hold.
      if (options.detect_anomaly) CHECK(std::get<4>(switches()));
    }
    while (!sessions.empty()) {
      const auto one = sessions.begin() + static_cast<std::ptrdiff_t>(random() % sessions.size());
      (*one)->step(batch_of(data));
      sessions.erase(one);
    }
    REQUIRE((switches() == before));
  }
}

TEST_CASE("a step inside the step of another precision is warned of, and each gets its default dtype back") {
  const TemporaryFolder folder;
  const ToyData data(8);
  const torch::Dtype before = c10::typeMetaToScalarType(torch::get_default_dtype());
  const auto session_of = [&](const char* precision) {
    levin::TrainerOptions options = options_in(folder);
    options.precision = levin::Precision(precision);
    options.print_warnings = false;
    return levin::Trainer(options).start(new_module());
  };
  levin::Session outer = session_of("64-true"), inner = session_of("bf16-true");
  outer.step([&] {
    CHECK(torch::zeros({}).scalar_type() == torch::kDouble);
    inner.step(levin::Batch(data.input, data.target));
    CHECK(torch::zeros({}).scalar_type() == torch::kDouble);
    return outer.module().parameters()[0].sum();
  });
  CHECK(c10::typeMetaToScalarType(torch::get_default_dtype()) == before);
  CHECK(outer.warnings().empty());
  REQUIRE(inner.warnings().size() == 1);
  CHECK(contains(inner.warnings()[0], "LibTorch has one default dtype for the process"));
}

TEST_CASE("two sessions that take turns on one thread equal the same sessions alone") {
  const ToyData data(8);
  const TemporaryFolder folder;
  const auto first = new_noisy(), second = new_noisy();
  // The second one notices that another run is in progress.
  levin::Session one = levin::Trainer(noisy_options(folder, 3, "auto")).start(first);
  levin::Session other = levin::Trainer(noisy_options(folder, 4, "auto")).start(second);
  while (one.next() || other.next()) {
    if (one.next()) one.step(levin::Batch(data.input, data.target));
    for (int i = 0; i < 2 && other.next(); ++i) other.step(levin::Batch(data.input, data.target));
  }
  one.finish();
  other.finish();
  CHECK(bit_equal(first->parameters(), trained_alone(data, 3, "default")));
  CHECK(bit_equal(second->parameters(), trained_alone(data, 4, "default")));
}

TEST_CASE("a checkpoint holds the own generator, and either kind of session continues from it") {
  const ToyData data(8);
  const std::vector<torch::Tensor> expected = trained_alone(data, 3, "default");
  for (const char* before : {"own", "default"})
    for (const char* after : {"own", "default"}) {
      const TemporaryFolder folder;
      const auto file = std::filesystem::absolute(folder / "middle.ckpt");
      {
        levin::Session session = levin::Trainer(noisy_options(folder, 3, before)).start(new_noisy());
        for (int i = 0; i < 17; ++i) session.step(levin::Batch(data.input, data.target));
        session.save(file);
      }
      const auto resumed = new_noisy();
      levin::Session session =
          levin::Trainer(noisy_options(folder, 3, after)).start(resumed, {.ckpt_path = file.string()});
      torch::randn({3});  // the host draws; an own generator does not see it
      if (after == std::string("own")) {
        step_through(session, data);
        CHECK(bit_equal(resumed->parameters(), expected));
      }
    }
}

TEST_CASE("draws of the host from the session's generator continue in a resumed session") {
  const ToyData data(8);
  const TemporaryFolder folder;
  const auto file = std::filesystem::absolute(folder / "middle.ckpt");
  levin::Session session = levin::Trainer(noisy_options(folder, 3, "own")).start(new_noisy());
  session.step(levin::Batch(data.input, data.target));
  session.save(file);
  const torch::Tensor expected = torch::randn({4}, session.generator());
  session.finish();
  levin::Session resumed =
      levin::Trainer(noisy_options(folder, 8, "own")).start(new_noisy(), {.ckpt_path = file.string()});
  CHECK(torch::equal(torch::randn({4}, resumed.generator()), expected));
}

TEST_CASE("seed_everything in a hook seeds the run's own generator") {
  struct Seeding : Noisy {
    void on_train_batch_start(levin::Run& run) override {
      if (run.state().batches_seen == 3) levin::seed_everything(11);
    }
  };
  const ToyData data(8);
  std::vector<std::vector<torch::Tensor>> trained;
  for (const char* generator : {"own", "default"}) {
    const TemporaryFolder folder;
    torch::manual_seed(1);
    const auto module = std::make_shared<Seeding>();
    levin::Session session = levin::Trainer(noisy_options(folder, 3, generator)).start(module);
    step_through(session, data);
    trained.push_back(module->parameters());
  }
  CHECK(bit_equal(trained[0], trained[1]));
}
