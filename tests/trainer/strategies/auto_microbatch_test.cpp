// A step that runs out of memory is run in parts, and the training ends as if there had been room.
#include <levin/trainer/strategies/auto_microbatch.h>
#include <levin/trainer/strategies/one_process.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

/// Fails in backward for more rows than fit.
struct FailsInBackward : torch::autograd::Function<FailsInBackward> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x, int64_t fit) {
    context->saved_data["rows"] = x.size(0);
    context->saved_data["fit"] = fit;
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    TORCH_CHECK_WITH(OutOfMemoryError, context->saved_data["rows"].toInt() <= context->saved_data["fit"].toInt(),
                     "out of memory, as planted");
    return {gradients[0], torch::Tensor()};
  }
};

/// Has memory for a limited number of rows in forward and in backward.
struct Cramped : ToyModule {
  Cramped(int64_t forward_rows, int64_t backward_rows) : fit_forward(forward_rows), fit_backward(backward_rows) {
    register_metric("accuracy", accuracy);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    accuracy.update(batch.input().select(1, 0).sigmoid(), batch.target().select(1, 0) > 0);
    log("accuracy", accuracy);
    TORCH_CHECK_WITH(OutOfMemoryError, batch.size() <= fit_forward, "out of memory, as planted");
    const auto output = FailsInBackward::apply(net->forward(batch.input()), fit_backward);
    const auto loss = torch::mse_loss(output, batch.target());
    log("train_loss", loss, {.on_step = false, .on_epoch = true});
    largest = std::max(largest, batch.size());
    return loss;
  }
  int64_t fit_forward, fit_backward, largest = 0;
  levin::metrics::Accuracy accuracy{{.task = "binary"}};
};

struct Ended {
  std::vector<torch::Tensor> weights;
  levin::Metrics metrics;
  std::string said;
};

Ended train(int64_t forward_rows, int64_t backward_rows,
            const std::function<void(levin::TrainerOptions&)>& change = {}) {
  const ToyData data(27, torch::kDouble);
  torch::manual_seed(1);
  const auto module = levin::make_module<Cramped>(forward_rows, backward_rows);
  module->to(torch::kDouble);
  module->optimizers_of = [](ToyModule& m) { return levin::optim::AdamW(m.parameters(), {.lr = 0.02}); };
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 3;
  options.auto_microbatch = true;
  options.gradient_clip_val = 0.5;
  if (change) change(options);
  Ended ended;
  CapturedStderr captured;
  ended.metrics = levin::Trainer(options).fit(*module, data.loader(8)).metrics;
  ended.said = captured.text();
  ended.weights = copies(module->parameters());
  return ended;
}

}  // namespace

TEST_CASE("a batch split after out of memory gives the same weights and values, with one message for each split") {
  const auto plain = [](levin::TrainerOptions& options) { options.auto_microbatch = false; };
  for (const int64_t k : {1, 3}) {
    const auto accumulate = [&](levin::TrainerOptions& options) { options.accumulate_grad_batches = k; };
    const Ended expected = train(100, 100, [&](levin::TrainerOptions& options) {
      plain(options);
      accumulate(options);
    });
    for (const auto& [forward_rows, backward_rows, splits] :
         {std::tuple(100, 100, 0), std::tuple(4, 100, 1), std::tuple(100, 4, 1), std::tuple(5, 2, 2),
          std::tuple(100, 1, 3)}) {
      INFO("room for " << forward_rows << " and " << backward_rows << " rows, windows of " << k);
      const Ended found = train(forward_rows, backward_rows, accumulate);
      CHECK(largest_difference(found.weights, expected.weights) < 1e-10);
      CHECK(occurrences(found.said, "ran out of memory") == splits);
      for (const auto& [name, value] : expected.metrics) {
        INFO(name);
        CHECK(std::abs(found.metrics.at(name) - value) < 1e-10);
      }
    }
  }
}

TEST_CASE("a warning says that dropout sees the parts of a split batch") {
  struct Dropping : Cramped {
    Dropping() : Cramped(4, 100) { register_module("dropout", torch::nn::Dropout(0.1)); }
  };
  const ToyData data(8);
  const TemporaryFolder folder;
  Dropping module;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.auto_microbatch = true;
  CapturedStderr captured;
  levin::Trainer(options).fit(module, data.loader(8));
  CHECK(contains(captured.text(), "BatchNorm and dropout then see the parts"));
}

TEST_CASE("running out of memory with one sample is an error") {
  const std::string error = error_text<levin::Error>([] { train(0, 100); });
  CHECK(contains(error, "out of memory with one sample at a time (a batch of 8)"));
  CHECK(contains(error, "as planted"));
  CHECK(contains(error_text<levin::Error>([] { train(100, 0); }), "out of memory with one sample at a time"));
}

TEST_CASE("under dp each replica's part is split") {
  const Ended expected = train(100, 100, [](levin::TrainerOptions& options) { options.auto_microbatch = false; });
  const Ended found = train(2, 2, [](levin::TrainerOptions& options) {
    options.accelerator = "cpu";
    options.devices = 2;
    options.strategy = "dp";
  });
  CHECK(largest_difference(found.weights, expected.weights) < 1e-10);
}

TEST_CASE("auto_microbatch refuses what it cannot split") {
  struct Manual : Cramped {
    Manual() : Cramped(9, 9) { automatic_optimization = false; }
  };
  const ToyData data(8);
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.auto_microbatch = true;
  Manual manual;
  CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer(options).fit(manual, data.loader(4)); }),
                 "manual optimization splits its batches itself"));
  Cramped with_lbfgs(9, 9);
  with_lbfgs.optimizers_of = [](ToyModule& m) { return levin::optim::LBFGS(m.parameters()); };
  CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer(options).fit(with_lbfgs, data.loader(4)); }),
                 "LBFGS evaluates a batch many times"));
}

TEST_CASE("auto_microbatch forwards to the strategy what it does not do itself") {
  struct Recording : levin::OneProcessStrategy {
    explicit Recording(std::vector<std::string>& calls_) : calls(&calls_) {}
    std::string where() const override { return "here"; }
    c10::Device device() const override { return c10::kCPU; }
    void set_context(levin::StepContext&) override { calls->push_back("set_context"); }
    void place(levin::LightningModule&) override { calls->push_back("place"); }
    void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>&) override { calls->push_back("attach"); }
    levin::Batch to_device(levin::Batch batch) override { return batch; }
    levin::StepOutput run_step(levin::StepFunction&, const levin::Batch&, int64_t) override { return {}; }
    void run_evaluation_step(levin::EvaluationStep, const levin::Batch&, int64_t) override {}
    levin::Batch run_predict_step(const levin::Batch& batch, int64_t) override { return batch; }
    void zero_grad(torch::optim::Optimizer&) override { calls->push_back("zero_grad"); }
    void step(torch::optim::Optimizer&, const levin::Closure&) override { calls->push_back("step"); }
    levin::State state_dict() override { return "a state"; }
    void load_state_dict(const levin::State& state) override { calls->push_back("load " + state.to_string()); }
    std::vector<std::string>* calls;
  };
  std::vector<std::string> calls;
  levin::AutoMicrobatch strategy(std::make_unique<Recording>(calls));
  ToyModule module;
  levin::StepContext context;
  levin::optim::SGD optimizer(module.parameters(), {.lr = 0.1});
  strategy.set_context(context);
  strategy.place(module);
  strategy.attach({});
  strategy.zero_grad(optimizer);
  strategy.step(optimizer, [] { return torch::Tensor(); });
  CHECK(strategy.state().state_dict().to_string() == "a state");
  strategy.state().load_state_dict("another");
  CHECK(calls == std::vector<std::string>{"set_context", "place", "attach", "zero_grad", "step", "load another"});
}
