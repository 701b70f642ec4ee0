// The effects of the trainer's options on a fit.
#include <ATen/Context.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <levin/core/device/memory_format.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using Change = std::function<void(levin::TrainerOptions&)>;

/// Counts what the loops do.
struct Watcher : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    firsts.push_back(batch.input()[0][0].item<float>());
    return ToyModule::training_step(batch, batch_idx);
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    log("val_loss", loss_of(batch));
    if (dataloader_idx() == 0) ++validation_batches;
  }
  void on_validation_start(levin::Run& run) override { validated_at.push_back(run.state().batches_seen); }
  levin::data::Loaders train_dataloader() override {
    ++train_loaders_made;
    return data.loader(4);
  }
  levin::data::Loaders val_dataloader() override {
    ++val_loaders_made;
    return data.loader(8);
  }

  ToyData data{24};
  std::vector<float> firsts;
  std::vector<int64_t> validated_at;
  int64_t validation_batches = 0, train_loaders_made = 0, val_loaders_made = 0;
};

levin::RunResult run_fit(levin::LightningModule& module, const Change& change, const levin::data::Loaders& train = {},
                         const levin::data::Loaders& validation = {}) {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  change(options);
  return levin::Trainer(options).fit(module, train, validation);
}

}  // namespace

TEST_CASE("overfit_batches trains on the same few batches, unshuffled") {
  Watcher module;
  const levin::data::DataLoader shuffled(levin::data::TensorDataset(module.data.input, module.data.target),
                                         {.batch_size = 4, .shuffle = true, .seed = 1});
  run_fit(module, [](auto& o) { o.overfit_batches = 2; }, shuffled);
  const float first = module.data.input[0][0].item<float>(), second = module.data.input[4][0].item<float>();
  CHECK(module.firsts == std::vector<float>{first, second, first, second, first, second});
  CHECK(module.validation_batches == 3 * 2);
}

TEST_CASE("a fraction of overfit_batches that leaves no batch is an error by its name") {
  Watcher module;
  const levin::data::DataLoader ten(levin::data::TensorDataset(torch::rand({10, 4}), torch::rand({10, 1})), {});
  const levin::data::DataLoader two(levin::data::TensorDataset(torch::rand({2, 4}), torch::rand({2, 1})), {});
  const Change overfit = [](auto& o) { o.overfit_batches = 0.25, o.num_sanity_val_steps = 0; };
  CHECK(error_text<levin::UsageError>([&] { run_fit(module, overfit, ten, two); }) ==
        "trainer.overfit_batches: 0.25 of 2 batches is less than one; raise it");
  CHECK(error_text<levin::UsageError>([&] { run_fit(module, overfit, two, ten); }) ==
        "trainer.overfit_batches: 0.25 of 2 batches is less than one; raise it");
}

TEST_CASE("overfit_batches contradicts other limits") {
  Watcher module;
  CHECK(
      error_text<levin::UsageError>(
          [&] { run_fit(module, [](auto& o) { o.overfit_batches = 2, o.limit_train_batches = 3; }); }) ==
      "trainer.overfit_batches and trainer.limit_train_batches contradict each other: both say how many batches there "
      "are");
  // A resolved configuration can be run again.
  run_fit(module, [](auto& o) { o.overfit_batches = 2, o.limit_train_batches = 2, o.limit_val_batches = 2; });
}

TEST_CASE("val_check_interval and check_val_every_n_epoch set how often validation runs") {
  Watcher module;
  const auto at = [&](const Change& change) {
    module.validated_at.clear();
    run_fit(module, change);
    return module.validated_at;
  };
  using Batches = std::vector<int64_t>;
  CHECK(at([](auto&) {}) == Batches{6, 12, 18});
  CHECK(at([](auto& o) { o.val_check_interval = 0.5; }) == Batches{3, 6, 9, 12, 15, 18});
  CHECK(at([](auto& o) { o.val_check_interval = 4; }) == Batches{4, 10, 16});
  CHECK(at([](auto& o) { o.val_check_interval = 4, o.check_val_every_n_epoch = std::nullopt; }) ==
        Batches{4, 8, 12, 16});
  CHECK(at([](auto& o) { o.check_val_every_n_epoch = 2; }) == Batches{12});
  CHECK(at([](auto& o) { o.val_check_interval = "00:00:00:00"; }).size() == 18);
  CHECK(at([](auto& o) { o.val_check_interval = "00:01:00:00"; }).empty());
  CHECK(contains(error_text<levin::UsageError>([&] { at([](auto& o) { o.check_val_every_n_epoch = std::nullopt; }); }),
                 "trainer.check_val_every_n_epoch and trainer.val_check_interval contradict each other"));
}

TEST_CASE("loaders are made again every reload_dataloaders_every_n_epochs epochs") {
  Watcher module;
  run_fit(module, [](auto& o) { o.max_epochs = 5, o.reload_dataloaders_every_n_epochs = 2; });
  CHECK(module.train_loaders_made == 3);
  CHECK(module.val_loaders_made == 3);
  Watcher once;
  run_fit(once, [](auto& o) { o.max_epochs = 5; });
  CHECK(once.train_loaders_made == 1);
  CHECK(once.val_loaders_made == 1);
}

TEST_CASE("several training loaders are read in step, and the shorter starts again") {
  struct TwoSources : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      const auto& both = batch.as<levin::data::CombinedBatch>();
      sizes.push_back({both[0].size(), both[1].size()});
      return loss_of(both[0]) + loss_of(both[1]);
    }
    std::vector<std::pair<int64_t, int64_t>> sizes;
  } module;
  const auto result = run_fit(module, [](auto& o) { o.max_epochs = 1; }, {ToyData(8).loader(4), ToyData(9).loader(3)});
  CHECK(result.global_step == 3);
  CHECK(module.sizes == std::vector<std::pair<int64_t, int64_t>>{{4, 3}, {4, 3}, {4, 3}});
}

TEST_CASE("deterministic, benchmark and detect_anomaly hold for the run and are put back") {
  struct Looks : ToyModule {
    void on_train_start(levin::Run&) override {
      const at::Context& context = at::globalContext();
      seen = {context.deterministicAlgorithms(), context.deterministicAlgorithmsWarnOnly(), context.benchmarkCuDNN(),
              torch::autograd::AnomalyMode::is_enabled()};
    }
    std::vector<bool> seen;
  };
  const auto seen_with = [](const Change& change) {
    Looks module;
    run_fit(module, change, ToyData(4).loader(4));
    CHECK_FALSE(at::globalContext().deterministicAlgorithms());
    CHECK_FALSE(at::globalContext().benchmarkCuDNN());
    CHECK_FALSE(torch::autograd::AnomalyMode::is_enabled());
    return module.seen;
  };
  CHECK(seen_with([](auto&) {}) == std::vector<bool>{false, false, false, false});
  CHECK(seen_with([](auto& o) { o.deterministic = true; }) == std::vector<bool>{true, false, false, false});
  CHECK(seen_with([](auto& o) { o.deterministic = "warn"; }) == std::vector<bool>{true, true, false, false});
  CHECK(seen_with([](auto& o) { o.benchmark = true, o.detect_anomaly = true; }) ==
        std::vector<bool>{false, false, true, true});
}

TEST_CASE("detect_anomaly ends a run whose gradient is NaN") {
  struct NaNGradient : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      return (net->forward(batch.input()) * 0).abs().sqrt().sum();
    }
  } module;
  std::string message;
  try {
    run_fit(module, [](auto& o) { o.detect_anomaly = true; }, ToyData(4).loader(4));
  } catch (const std::exception& error) {
    message = error.what();
  }
  CHECK(contains(message, "returned nan values"));
}

TEST_CASE("LBFGS evaluates its closure, and one step of the trainer is one of its steps") {
  const ToyData data(16, torch::kDouble);
  const auto make = [] {
    torch::manual_seed(3);
    auto module = std::make_unique<ToyModule>();
    module->to(torch::kDouble);
    module->optimizers_of = [](ToyModule& m) {
      return levin::OptimizerConfig(
          levin::optim::LBFGS(m.parameters(), {.max_iter = 5, .line_search_fn = "strong_wolfe"}));
    };
    return module;
  };
  const auto by_fit = make(), by_hand = make();
  const auto result = run_fit(*by_fit, [](auto&) {}, data.loader(16));
  CHECK(result.global_step == 3);
  levin::optim::LBFGS optimizer(by_hand->parameters(), {.max_iter = 5, .line_search_fn = "strong_wolfe"});
  for (int step = 0; step < 3; ++step)
    optimizer.step([&] {
      optimizer.zero_grad();
      auto loss = by_hand->loss_of(levin::Batch(data.input, data.target));
      loss.backward();
      return loss;
    });
  CHECK(bit_equal(by_fit->parameters(), by_hand->parameters()));
  CHECK(contains(error_text<levin::UsageError>(
                     [&] { run_fit(*by_fit, [](auto& o) { o.accumulate_grad_batches = 2; }, data.loader(8)); }),
                 "trainer.accumulate_grad_batches: LBFGS evaluates a batch many times in one step"));
}

TEST_CASE("the number of steps is known before training") {
  struct Asks : Watcher {
    levin::OptimizerConfig configure_optimizers() override {
      steps = estimated_stepping_batches();
      return Watcher::configure_optimizers();
    }
    std::optional<int64_t> steps;
  };
  const auto steps = [](const Change& change) {
    Asks module;
    run_fit(module, change);
    CHECK(module.train_loaders_made == 1);
    return module.steps;
  };
  CHECK(steps([](auto&) {}) == 18);
  CHECK(steps([](auto& o) { o.accumulate_grad_batches = 4; }) == 6);
  CHECK(steps([](auto& o) { o.max_steps = 5; }) == 5);
  // A test of one batch has the schedule of the fit that it tries out.
  CHECK(steps([](auto& o) { o.fast_dev_run = true; }) == 18);
  CHECK(steps([](auto& o) { o.fast_dev_run = true, o.limit_train_batches = 2, o.max_epochs = 5; }) == 10);
  CHECK(steps([](auto& o) { o.max_epochs = -1, o.max_time = 0.0; }) == std::nullopt);
}

TEST_CASE("toggling leaves the other optimizers' parameters without gradients, and is undone") {
  struct TwoNets : ToyModule {
    TwoNets() : other(register_module("other", torch::nn::Linear(4, 1))) {
      automatic_optimization = false;
      other->bias.requires_grad_(false);
      optimizers_of = [this](ToyModule& m) {
        return levin::OptimizerConfig{torch::optim::SGD(m.net->parameters(), 0.1),
                                      torch::optim::SGD(other->parameters(), 0.1)};
      };
    }
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      toggle_optimizer(optimizer(1));
      CHECK_FALSE(net->parameters()[0].requires_grad());
      CHECK(other->weight.requires_grad());
      CHECK_FALSE(other->bias.requires_grad());
      CHECK(contains(error_text<levin::UsageError>([&] { toggle_optimizer(optimizer(0)); }), "untoggle_optimizer()"));
      manual_backward((other->forward(batch.input()) + net->forward(batch.input())).sum());
      CHECK_FALSE(net->parameters()[0].grad().defined());
      CHECK(other->weight.grad().defined());
      if (leave_toggled) return {};
      untoggle_optimizer();
      CHECK(net->parameters()[0].requires_grad());
      CHECK(lr_schedulers().empty());
      return {};
    }
    torch::nn::Linear other;
    bool leave_toggled = false;
  } module;
  run_fit(module, [](auto& o) { o.max_epochs = 1; }, ToyData(4).loader(4));
  module.leave_toggled = true;
  run_fit(module, [](auto& o) { o.max_epochs = 1; }, ToyData(4).loader(4));
  CHECK(module.net->parameters()[0].requires_grad());
  CHECK_FALSE(module.other->bias.requires_grad());
}

TEST_CASE("a module is frozen and unfrozen, and keeps its hyperparameters") {
  struct Hyper {
    double lr = LEVIN_OPTION(lr, 0.5, "Learning rate");
  };
  ToyModule module;
  module.freeze();
  CHECK_FALSE(module.is_training());
  for (const auto& parameter : module.parameters()) CHECK_FALSE(parameter.requires_grad());
  module.unfreeze();
  CHECK(module.is_training());
  for (const auto& parameter : module.parameters()) CHECK(parameter.requires_grad());
  CHECK(module.hyperparameters() == "{}");
  module.save_hyperparameters(Hyper{.lr = 0.25});
  CHECK(module.hyperparameters() == R"({"lr":0.25})");
  const CapturedStderr captured;
  module.print("hello");
  CHECK(contains(captured.text(), "hello"));
}

TEST_CASE("num_threads and flush_denormal hold for the run, in forward, backward and all threads, and are put back") {
  struct Module : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      threads = at::get_num_threads();
      // A product that is denormal, in each compute thread.
      const at::Tensor tiny = torch::full({1 << 20}, 1e-30F);
      flushed = (tiny * 1e-10F).count_nonzero().item<int64_t>() == 0;
      return ToyModule::training_step(batch, batch_idx);
    }
    int threads = 0;
    bool flushed = false;
  };
  const int before = at::get_num_threads();
  const ToyData data(8);
  Module module;
  run_fit(
      module,
      [](auto& o) {
        o.num_threads = 3;
        o.flush_denormal = true;
      },
      data.loader(4));
  CHECK(module.threads == 3);
  CHECK(module.flushed);
  CHECK(at::get_num_threads() == before);
  CHECK((torch::full({1 << 20}, 1e-30F) * 1e-10F).count_nonzero().item<int64_t>() == 1 << 20);
  run_fit(module, [](auto& /*o*/) {}, data.loader(4));
  CHECK(module.threads == before);
  CHECK_FALSE(module.flushed);
}

#ifdef __GLIBC__
TEST_CASE("keep_freed_memory takes a step's large tensors from the heap in place of new pages, while the run lasts") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("not glibc's heap: nothing to test");
  return;
#endif
  const auto maps_pages = [] {
    const size_t before = ::mallinfo2().hblkhd;
    const at::Tensor large = torch::empty({int64_t{64} << 20}, at::kByte);
    return ::mallinfo2().hblkhd > before;
  };
  struct Module : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      mapped = look();
      return ToyModule::training_step(batch, batch_idx);
    }
    std::function<bool()> look;
    bool mapped = false;
  } module;
  module.look = maps_pages;
  for (const bool keeps : {false, true}) {
    INFO(keeps);
    ::malloc_trim(0);  // what earlier tests have freed
    run_fit(module, [&](auto& o) { o.keep_freed_memory = keeps; }, ToyData(8).loader(4));
    CHECK(module.mapped == !keeps);
  }
}
#endif

TEST_CASE("min_steps above what max_epochs gives has no effect, and a warning says so") {
  for (const int64_t least : {4, 5}) {
    INFO(least);
    const CapturedStderr captured;
    ToyModule module;
    run_fit(module, [&](auto& o) { o.max_epochs = 2, o.min_steps = least; }, ToyData(8).loader(4));
    CHECK(contains(captured.text(),
                   "trainer.min_steps: 5 has no effect: trainer.max_epochs ends the fit after step 4") == (least == 5));
  }
}

TEST_CASE("memory_format channels_last changes the layout of convolutions and images, and trains the same network") {
  struct Module : levin::LightningModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      images_are_so = images_are_so && batch.input().suggest_memory_format() == at::MemoryFormat::ChannelsLast;
      return torch::cross_entropy_loss(net->forward(batch.input()), batch.target());
    }
    levin::OptimizerConfig configure_optimizers() override {
      return levin::OptimizerConfig(levin::optim::SGD(parameters(), levin::optim::SGDOptions{.lr = 0.01}));
    }
    torch::nn::Sequential net = register_module(
        "net", torch::nn::Sequential(torch::nn::Conv2d(3, 8, 3), torch::nn::BatchNorm2d(8), torch::nn::ReLU(),
                                     torch::nn::AdaptiveAvgPool2d(2), torch::nn::Flatten(), torch::nn::Linear(32, 5)));
    bool images_are_so = true;
  };
  torch::manual_seed(3);
  const levin::data::TensorDataset data(torch::randn({32, 3, 12, 12}), torch::randint(5, {32}));
  std::vector<std::vector<at::Tensor>> trained;
  for (const char* format : {"preserve", "channels_last"}) {
    torch::manual_seed(4);
    Module module;
    run_fit(module, [&](auto& o) { o.memory_format = format; }, levin::data::DataLoader(data, {.batch_size = 8}));
    const bool last = std::string(format) == "channels_last";
    const at::Tensor weight = module.parameters()[0];
    CHECK(module.images_are_so == last);
    CHECK(weight.is_contiguous(at::MemoryFormat::ChannelsLast) == last);
    CHECK(weight.grad().is_contiguous(at::MemoryFormat::ChannelsLast) == last);
    trained.push_back(module.parameters());
  }
  CHECK(largest_difference(trained[0], trained[1]) < 1e-4);
}

TEST_CASE("images of one channel get the strides of channels_last, which convolutions check") {
  const at::Tensor image = torch::ones({2, 1, 3, 4}), kernel = torch::ones({5, 6, 1, 1});
  CHECK(image.suggest_memory_format() == at::MemoryFormat::Contiguous);
  for (const at::Tensor& tensor : {image, kernel}) {
    const at::Tensor laid_out = levin::channels_last(tensor);
    CHECK(laid_out.strides() == tensor.to(at::kFloat, false, true, at::MemoryFormat::ChannelsLast).strides());
    CHECK(laid_out.data_ptr() == tensor.data_ptr());
  }
}

namespace {

/// A part that may be computed again, and counts how often it is.
struct RepeatableImpl : torch::nn::Module, levin::Checkpointable {
  torch::Tensor forward(const torch::Tensor& x) {
    return checkpointed(
        [this](const torch::Tensor& input) {
          ++runs;
          return torch::dropout(linear(input), 0.2, is_training());
        },
        x);
  }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(4, 4));
  int64_t runs = 0;
};
TORCH_MODULE(Repeatable);

struct WithRepeatable : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return torch::mse_loss(net->forward(part(batch.input())), batch.target());
  }
  Repeatable part = register_module("part", Repeatable());
};

}  // namespace

TEST_CASE("activation_checkpointing computes marked parts again and changes no bit") {
  const ToyData data(24);
  std::vector<std::vector<torch::Tensor>> weights;
  for (const bool on : {false, true}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = quiet(folder);
    options.max_epochs = 2;
    options.seed = 4;
    options.activation_checkpointing = on;
    torch::manual_seed(1);
    WithRepeatable module;
    levin::Trainer(options).fit(module, data.loader(8));
    CHECK(module.part->runs == (on ? 12 : 6));
    weights.push_back(copies(module.parameters()));
  }
  CHECK(bit_equal(weights[0], weights[1]));
}

TEST_CASE("activation_checkpointing without a marked part says what to mark") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.activation_checkpointing = true;
  ToyModule module;
  CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer(options).fit(module, ToyData(8).loader(4)); }),
                 "derive the parts that are repeated from levin::Checkpointable"));
}
