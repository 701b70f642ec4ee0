// Runs with a compiled step. Two packages are made by LEVIN_TEST_PYTHON, once; each takes 10 to 60 s.
#include <cstdlib>
#include <map>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/small_modules.h"

namespace {

namespace nn = torch::nn;

/// A network with running statistics, a buffer that stays, a frozen and an unused parameter, and sizes read in C++.
struct Learner : ToyModule {
  explicit Learner(double dropout, double factor_ = 1)
      : ToyModule(
            nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::Tanh(), nn::Dropout(dropout), nn::Linear(8, 1))),
        factor(factor_) {
    mask = register_buffer("mask", torch::ones({4}));
    frozen = register_parameter("frozen", torch::full({1}, 0.5), /*requires_grad=*/false);
    register_parameter("unused", torch::ones({2}));
    optimizers_of = [](ToyModule& module) {
      return levin::OptimizerConfig(levin::optim::SGD(module.parameters(), {.lr = 0.05, .momentum = 0.9}));
    };
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor output = net->forward(batch.input() * mask).view({batch.input().size(0), -1});
    const torch::Tensor loss = torch::mse_loss(output, batch.target()) * factor + frozen.square().sum();
    log("train_loss", loss, {.prog_bar = true});
    log("spread", output.std(), {.on_step = false, .on_epoch = true});
    return loss;
  }
  double factor;
  torch::Tensor mask, frozen;
};

/// The same, which looks at the loss in backward.
struct Watching : Learner {
  using Learner::Learner;
  void backward(const torch::Tensor& loss) override {
    ++backwards;
    loss.backward();
  }
  int backwards = 0;
};

const ToyData& data() {
  static const ToyData toy(38);  // batches of 8: the last has 6
  return toy;
}

levin::TrainerOptions options_in(const TemporaryFolder& folder) {
  levin::TrainerOptions options = quiet(folder);
  options.seed = 4;
  options.max_epochs = 3;
  options.log_every_n_steps = 1;
  options.enable_checkpointing = false;
  return options;
}

/// Returns the package of a Learner with this dropout, made at the first call; empty without Python.
std::string package(double dropout) {
  static const TemporaryFolder folder;
  static std::map<double, std::string> made;
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') {
    WARN("SKIPPED: configure with -DLEVIN_TEST_PYTHON=<a Python with torch>");
    return {};
  }
  std::string& path = made[dropout];
  if (!path.empty()) return path;
  path = (folder / (dropout == 0 ? "plain.pt2" : "dropout.pt2")).string();
  torch::manual_seed(1);
  Learner module(dropout);
  const auto before = copies(module.parameters());
  const levin::Trainer trainer(options_in(folder));
  const levin::CompileStepResult result =
      levin::compile_step(trainer, module, data().loader(8), {.out = path, .python = python});
  CHECK(bit_equal(copies(module.parameters()), before));
  CHECK(result.any_batch_size);
  CHECK(result.draws_random_numbers == (dropout > 0));
  CHECK(result.loss_difference < 1e-6);
  CHECK(result.gradient_difference < 1e-5);
  return path;
}

struct Trained {
  std::vector<torch::Tensor> state;
  levin::RunResult result;
  std::string output;
};

template <class Module>
Trained train(Module& module, const levin::TrainerOptions& options, const std::string& ckpt_path = "") {
  Trained trained;
  const CapturedStderr captured;
  trained.result = levin::Trainer(options).fit(module, data().loader(8), {}, ckpt_path);
  trained.state = copies(module.parameters());
  for (const torch::Tensor& buffer : copies(module.buffers())) trained.state.push_back(buffer);
  trained.output = captured.text();
  return trained;
}

template <class Module>
Trained train_anew(const levin::TrainerOptions& options, double dropout = 0) {
  torch::manual_seed(1);
  Module module(dropout);
  return train(module, options);
}

std::string error_of(const levin::TrainerOptions& options, double dropout = 0, double factor = 1) {
  Learner module(dropout, factor);
  return error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, data().loader(8)); });
}

}  // namespace

TEST_CASE("a compiled run ends as the eager one: statistics, accumulation, clipping and the short last batch") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  for (const int64_t accumulate : {1, 3}) {
    INFO(accumulate);
    levin::TrainerOptions options = options_in(folder);
    options.accumulate_grad_batches = accumulate;
    options.gradient_clip_val = 0.4;
    const Trained eager = train_anew<Learner>(options);
    options.compiled_step = path;
    const Trained compiled = train_anew<Learner>(options);
    CHECK(largest_difference(compiled.state, eager.state) < 1e-5);
    CHECK(compiled.result.global_step == eager.result.global_step);
    for (const char* name : {"train_loss", "spread"})
      CHECK(compiled.result.metrics.at(name) == Approx(eager.result.metrics.at(name)).epsilon(1e-5));
    CHECK(contains(compiled.output, "compiled step: 15 batches of this run used"));
  }
}

TEST_CASE("gradients reach hooks and an overridden backward, and are the same") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.accumulate_grad_batches = 2;
  options.compiled_step = path;
  const Trained direct = train_anew<Learner>(options);
  torch::manual_seed(1);
  Watching watching(0);
  const Trained watched = train(watching, options);
  CHECK(watching.backwards == 15);
  CHECK(largest_difference(watched.state, direct.state) < 1e-6);
  torch::manual_seed(1);
  Learner hooked(0);
  int calls = 0;
  hooked.net->parameters()[0].register_hook([&](const torch::Tensor& gradient) {
    ++calls;
    return gradient * 1;
  });
  const Trained with_hook = train(hooked, options);
  CHECK(calls == 15);
  CHECK(largest_difference(with_hook.state, direct.state) < 1e-6);
}

TEST_CASE("what the package does not take runs eagerly and is counted") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.compiled_step = path;
  options.max_epochs = 1;
  Learner module(0);
  std::vector<levin::Batch> batches;
  for (const int64_t samples : {8, 1, 8}) batches.push_back({torch::ones({samples, 4}), torch::ones({samples, 1})});
  module.net[1]->as<nn::BatchNorm1d>()->eval();  // one sample has no spread
  CHECK(contains(error_text([&] { levin::Trainer(options).fit(module, batches); }), "another training_step"));
  module.train();
  batches[1] = {torch::ones({8, 4}, torch::kDouble), torch::ones({8, 1})};
  const CapturedStderr captured;
  CHECK_THROWS(levin::Trainer(options).fit(module, batches));  // as the eager step throws for another dtype
  batches[1] = {torch::ones({1, 4}), torch::ones({1, 1})};
  struct EvalOfOne : levin::Callback {
    void on_train_batch_start(levin::Run& run) override {
      if (run.batch().size() == 1) run.module().eval();
    }
    void on_train_batch_end(levin::Run& run) override { run.module().train(); }
  };
  options.callbacks = {EvalOfOne()};
  levin::Trainer(options).fit(module, batches);
  CHECK(contains(captured.text(), "compiled step: 2 batches of this run used"));
  CHECK(contains(captured.text(), "1 ran eagerly (the first: the module was in another mode"));
}

TEST_CASE("a run with dropout resumes in mid-epoch to the bit, from either generator") {
  const std::string path = package(0.4);
  if (path.empty()) return;
  for (const char* generator : {"default", "own"}) {
    INFO(generator);
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    options.random_generator = generator;
    options.compiled_step = path;
    options.accumulate_grad_batches = 2;
    const Trained unbroken = train_anew<Learner>(options, 0.4);
    struct Stop : levin::Callback {
      explicit Stop(std::filesystem::path file_) : file(std::move(file_)) {}
      void on_train_batch_end(levin::Run& run) override {
        if (run.state().batches_seen != 8) return;
        run.save_checkpoint(file);
        run.request_stop("half");
      }
      std::filesystem::path file;
    };
    levin::TrainerOptions first = options;
    first.callbacks = {Stop(folder / "half.ckpt")};
    train_anew<Learner>(first, 0.4);
    torch::manual_seed(99);
    Learner module(0.4);
    const Trained resumed = train(module, options, (folder / "half.ckpt").string());
    CHECK(bit_equal(resumed.state, unbroken.state));
  }
}

TEST_CASE("packages that are not for the run are refused, with the command that makes them anew") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.compiled_step = path;
  CHECK(contains(error_of(options, 0.3), "compiled from another training_step"));
  CHECK(contains(error_of(options, 0, 2), "make it anew: levin compile --config"));
  ToyModule other;
  CHECK(contains(error_text([&] { levin::Trainer(options).fit(other, data().loader(8)); }), "another module"));
  std::string bytes = read_bytes(path);
  options.compiled_step = (folder / "damaged.pt2").string();
  write_bytes(options.compiled_step, bytes.substr(0, bytes.size() / 2));
  CHECK(contains(error_of(options), "it is cut off"));
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(options.compiled_step, bytes);
  CHECK(contains(error_of(options), "damaged"));
  options.compiled_step = (folder / "missing.pt2").string();
  CHECK(contains(error_of(options), "there is no such file"));
  levin::save_weights(other, folder / "weights.pt");
  options.compiled_step = (folder / "weights.pt").string();
  CHECK(contains(error_of(options), "holds no compiled step"));
}
