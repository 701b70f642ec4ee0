// Runs with a compiled step. Five packages are made by LEVIN_TEST_PYTHON, once; each takes 10 to 60 s.
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

/// The same, with an optimizer for a package that makes its steps too, and a schedule of its learning rate.
struct InStep : Learner {
  explicit InStep(std::string optimizer_, double weight_decay_ = 0.1)
      : Learner(0), optimizer(std::move(optimizer_)), weight_decay(weight_decay_) {}
  levin::OptimizerConfig configure_optimizers() override {
    std::shared_ptr<torch::optim::Optimizer> made;
    if (optimizer == "SGD") {
      made = std::make_shared<levin::optim::SGD>(
          parameters(),
          levin::optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .weight_decay = weight_decay, .nesterov = true});
    } else {
      // Three groups: L2 and amsgrad, decoupled, and maximized. With a small eps, rounding would decide how the bias
      // before BatchNorm moves, whose gradient is zero.
      std::vector<torch::Tensor> rest = parameters();
      const std::vector<torch::Tensor> first = {rest[2], rest[0]}, second = {rest[3]};
      std::vector<torch::Tensor> third;
      for (size_t i = 0; i < rest.size(); ++i)
        if (i != 0 && i != 2 && i != 3) third.push_back(rest[i]);
      levin::optim::AdamOptions l2 = {.lr = 0.02, .eps = 1e-3, .weight_decay = weight_decay, .amsgrad = true};
      levin::optim::AdamOptions decoupled = {
          .lr = 0.01, .eps = 1e-3, .weight_decay = 0.2, .decoupled_weight_decay = true};
      levin::optim::AdamOptions up = {.lr = 0.001, .betas = {0.8, 0.9}, .eps = 1e-3, .maximize = true};
      made = std::make_shared<levin::optim::Adam>(std::vector{levin::optim::param_group(first, l2),
                                                              levin::optim::param_group(second, decoupled),
                                                              levin::optim::param_group(third, up)});
    }
    held = made;
    return {made, levin::ExponentialLR({.gamma = 0.9}, {.interval = "step"})};
  }
  std::string optimizer;
  double weight_decay;
  std::shared_ptr<torch::optim::Optimizer> held;
};

/// Saves a checkpoint after this batch, and ends the run.
struct SaveAndStop : levin::Callback {
  SaveAndStop(std::filesystem::path file_, int64_t at_) : file(std::move(file_)), at(at_) {}
  void on_train_batch_end(levin::Run& run) override {
    if (run.state().batches_seen != at) return;
    run.save_checkpoint(file);
    run.request_stop("part");
  }
  std::filesystem::path file;
  int64_t at;
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

/// Returns the package that makes the optimizer's steps too.
std::string package_in_step(const std::string& optimizer) {
  static const TemporaryFolder folder;
  static std::map<std::string, std::string> made;
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') return {};
  std::string& path = made[optimizer];
  if (!path.empty()) return path;
  path = (folder / (optimizer + ".pt2")).string();
  torch::manual_seed(1);
  InStep module(optimizer);
  const auto before = copies(module.parameters()), buffers = copies(module.buffers());
  const levin::Trainer trainer(options_in(folder));
  const levin::CompileStepResult result =
      levin::compile_step(trainer, module, data().loader(8), {.out = path, .python = python, .optimizer = "in_step"});
  CHECK(bit_equal(copies(module.parameters()), before));
  CHECK(bit_equal(copies(module.buffers()), buffers));
  CHECK(result.loss_difference < 1e-6);
  CHECK(result.gradient_difference < 1e-4);
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

/// Compiles the step of a Module, which draws random numbers, compares it with the eager one, and trains with it. Does
/// nothing without Python.
template <class Module>
void check_drawing_step() {
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  torch::manual_seed(1);
  Module module;
  options.compiled_step = (folder / "step.pt2").string();
  const levin::CompileStepResult result = levin::compile_step(
      levin::Trainer(options_in(folder)), module, data().loader(8), {.out = options.compiled_step, .python = python});
  CHECK(result.draws_random_numbers);
  CHECK(result.loss_difference < 1e-6);
  CHECK(result.gradient_difference < 1e-5);
  CHECK(contains(train(module, options).output, "compiled step: 15 batches of this run used"));
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

TEST_CASE("averaged weights get the statistics of eager batches, and of as many") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  const auto averaged = [&] {
    options.callbacks = {levin::StochasticWeightAveraging({.swa_lrs = 0.01, .swa_epoch_start = 2})};
    return train_anew<Learner>(options);
  };
  const Trained eager = averaged();
  options.compiled_step = path;
  const Trained compiled = averaged();
  INFO(compiled.output);
  CHECK(largest_difference(compiled.state, eager.state) < 1e-5);
  CHECK(contains(compiled.output, "compiled step: 15 batches of this run used"));
  CHECK(contains(compiled.output, "5 ran eagerly (the first: batches only ran forward)"));
}

TEST_CASE("convolutions and gelu are compiled, in whichever layout is the faster") {
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (python == nullptr || *python == '\0') return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  const auto made = [] {
    torch::manual_seed(1);
    return ToyModule(nn::Sequential(nn::Unflatten(nn::UnflattenOptions(1, {1, 2, 2})),
                                    nn::Conv2d(nn::Conv2dOptions(1, 4, 3).padding(1)),
                                    nn::GELU(nn::GELUOptions().approximate("tanh")), nn::Conv2d(4, 4, 2), nn::GELU(),
                                    nn::Flatten(), nn::Linear(4, 1)));
  };
  ToyModule plain = made(), module = made();
  const std::string path = (folder / "pictures.pt2").string();
  const levin::CompileStepResult result =
      levin::compile_step(levin::Trainer(options), module, data().loader(8), {.out = path, .python = python});
  CHECK(result.any_batch_size);
  CHECK(result.gradient_difference < 1e-5);
  CHECK_FALSE(std::filesystem::exists("candidate0.pt2"));
  const Trained eager = train(plain, options);
  options.compiled_step = path;
  const Trained compiled = train(module, options);
  CHECK(largest_difference(compiled.state, eager.state) < 1e-5);
  CHECK(contains(compiled.output, "compiled step: 15 batches of this run used"));
}

TEST_CASE("recurrent layers are compiled, with the dropout between them") {
  struct Recurrent : Learner {
    Recurrent() : Learner(0) {
      register_module("lstm", lstm);
      register_module("gru", gru);
      register_module("rnn", rnn);
    }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const torch::Tensor steps = batch.input().view({-1, 2, 2});
      const torch::Tensor output = std::get<0>(lstm->forward(steps)).mean(1) +
                                   std::get<0>(gru->forward(steps)).mean(1) + std::get<0>(rnn->forward(steps)).mean(1);
      return torch::mse_loss(output.sum(1, /*keepdim=*/true), batch.target());
    }
    nn::LSTM lstm{nn::LSTMOptions(2, 3).num_layers(2).batch_first(true).dropout(0.5)};
    nn::GRU gru{nn::GRUOptions(2, 3).batch_first(true)};
    nn::RNN rnn{nn::RNNOptions(2, 3).batch_first(true)};
  };
  check_drawing_step<Recurrent>();
}

TEST_CASE("what a step computes without gradients gets none in a compiled step, also beside dropout") {
  // The same layer on both sides of the loss: with gradients of both, the sum would be another one.
  struct TeachesItself : Learner {
    TeachesItself() : Learner(0) { register_module("layer", layer); }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      torch::Tensor goal;
      {
        const torch::NoGradGuard no_grad;
        goal = layer->forward(batch.input()).tanh();
      }
      return torch::mse_loss(layer->forward(torch::dropout(batch.input(), 0.5, /*train=*/true)), goal + 1);
    }
    nn::Linear layer{4, 3};
  };
  check_drawing_step<TeachesItself>();
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
    levin::TrainerOptions first = options;
    first.callbacks = {SaveAndStop(folder / "half.ckpt", 8)};
    train_anew<Learner>(first, 0.4);
    torch::manual_seed(99);
    Learner module(0.4);
    const Trained resumed = train(module, options, (folder / "half.ckpt").string());
    CHECK(bit_equal(resumed.state, unbroken.state));
  }
}

TEST_CASE("with the optimizer in the package a run ends as the eager one, and resumes to the bit") {
  for (const char* optimizer : {"SGD", "Adam"}) {
    INFO(optimizer);
    const std::string path = package_in_step(optimizer);
    if (path.empty()) return;
    const TemporaryFolder folder;
    levin::TrainerOptions options = options_in(folder);
    torch::manual_seed(1);
    InStep plain(optimizer);
    const Trained eager = train(plain, options);
    options.compiled_step = path;
    torch::manual_seed(1);
    InStep module(optimizer);
    const Trained compiled = train(module, options);
    CHECK(largest_difference(compiled.state, eager.state) < 1e-5);
    CHECK(compiled.result.metrics.at("train_loss") == Approx(eager.result.metrics.at("train_loss")).epsilon(1e-5));
    CHECK(contains(compiled.output, "compiled step: 14 batches of this run used"));
    CHECK(contains(compiled.output, "1 ran eagerly (the first: the optimizer's first step makes its state)"));
    const auto states = [](const InStep& of) {
      std::vector<torch::Tensor> tensors;
      for (const auto& group : of.held->param_groups())
        for (const torch::Tensor& parameter : group.params()) {
          const auto found = of.held->state().find(parameter.unsafeGetTensorImpl());
          if (found == of.held->state().end()) continue;
          const auto& state = static_cast<const levin::optim::ParamState&>(*found->second);
          if (of.optimizer != "SGD") tensors.push_back(torch::tensor(state.step));  // SGD's is not saved
          for (const torch::Tensor& tensor : state.tensors)
            if (tensor.defined()) tensors.push_back(tensor);
        }
      return tensors;
    };
    REQUIRE(states(module).size() == states(plain).size());
    CHECK(largest_difference(states(module), states(plain)) < 1e-5);
    for (const int64_t at : {1, 8}) {
      levin::TrainerOptions first = options;
      first.callbacks = {SaveAndStop(folder / "part.ckpt", at)};
      torch::manual_seed(1);
      InStep begun(optimizer);
      train(begun, first);
      torch::manual_seed(99);
      InStep other(optimizer);
      const Trained resumed = train(other, options, (folder / "part.ckpt").string());
      CHECK(bit_equal(resumed.state, compiled.state));
      CHECK(bit_equal(states(other), states(module)));
    }
  }
}

TEST_CASE("a package that makes the optimizer's steps is refused where something else happens in a step") {
  const std::string path = package_in_step("SGD");
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.compiled_step = path;
  const auto refusal = [&](const levin::TrainerOptions& with, const std::string& optimizer = "SGD",
                           double weight_decay = 0.1) {
    InStep module(optimizer, weight_decay);
    return error_text<levin::UsageError>([&] { levin::Trainer(with).fit(module, data().loader(8)); });
  };
  CHECK(contains(refusal(options, "SGD", 0.2), "\"weight_decay\":0.2"));
  CHECK(contains(refusal(options, "SGD", 0.2), "SGD.pt2 --optimizer in_step"));
  CHECK(contains(refusal(options, "Adam"), "makes the steps of {\"class\":\"SGD\""));
  levin::TrainerOptions clipped = options;
  clipped.gradient_clip_val = 1;
  CHECK(contains(refusal(clipped), "gradient_clip_val is set; compile the step without --optimizer in_step"));
  levin::TrainerOptions accumulated = options;
  accumulated.accumulate_grad_batches = 2;
  CHECK(contains(refusal(accumulated), "accumulate_grad_batches is not 1"));
  struct Looks : levin::Callback {
    void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override {}
  };
  levin::TrainerOptions watched = options;
  watched.callbacks = {std::make_shared<Looks>()};
  CHECK(contains(refusal(watched), "on_before_optimizer_step is overridden"));
  Learner other(0);
  other.optimizers_of = [](ToyModule& module) {
    return levin::OptimizerConfig(levin::optim::RMSprop(module.parameters()));
  };
  const levin::Trainer trainer(options_in(folder));
  CHECK(contains(error_text<levin::UsageError>([&] {
                   levin::compile_step(trainer, other, data().loader(8),
                                       {.out = folder / "no.pt2", .optimizer = "in_step"});
                 }),
                 "levin::optim::SGD, Adam and AdamW"));
}

TEST_CASE("packages that are not for the run are refused, with the command that makes them anew") {
  const std::string path = package(0);
  if (path.empty()) return;
  const TemporaryFolder folder;
  levin::TrainerOptions options = options_in(folder);
  options.compiled_step = path;
  CHECK(contains(error_of(options, 0.3), "compiled from another training_step"));
  CHECK(contains(error_of(options, 0, 2), "make it again: levin compile --config"));
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
