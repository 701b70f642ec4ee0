// Captured steps with a stand-in for the graph, which replays the step on the CPU; tests/gpu uses real graphs.
#include <levin/trainer/loops/captured_step.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"

namespace {

using levin::CapturedStep;

struct Sink final : levin::LogSink {
  void log(const std::string& name, const at::Tensor& value, const levin::LogOptions&) override {
    rows.emplace_back(name, value.item<double>());
  }
  void log(const std::string& name, double value, const levin::LogOptions&) override { rows.emplace_back(name, value); }
  void log(const std::string&, const std::shared_ptr<levin::LoggedMetric>&, const levin::LogOptions&) override {}
  std::vector<std::pair<std::string, double>> rows;
};

/// A run around a module and an optimizer, which counts captures and replays.
struct Bench {
  explicit Bench(ToyModule& module_, levin::optim::Optimizer& optimizer_) : module(module_), optimizer(optimizer_) {
    context.sink = &sink;
    levin::ModuleAccess::set_context(module, &context);
  }
  ~Bench() { levin::ModuleAccess::set_context(module, nullptr); }

  /// One training step, as AutomaticStep makes it.
  levin::StepProgram::PartsOutput make_step(const levin::Batch& batch) {
    optimizer.zero_grad();
    const torch::Tensor loss = module.training_step(batch, 0).loss;
    loss.backward();
    if (check_finite) found_inf = (~torch::isfinite(loss.detach())).to(torch::kFloat).reshape({1});
    if (check_finite) optimizer.set_found_inf(found_inf);
    optimizer.step();
    return {{loss.detach()}, found_inf};
  }
  std::optional<levin::StepProgram::WholeStep> run(const levin::Batch& batch) {
    auto outcome = captured.run_whole({batch, 0, 1}, step);
    if (!outcome) make_step(batch);
    return outcome;
  }

  class Graph;
  ToyModule& module;
  levin::optim::Optimizer& optimizer;
  bool check_finite = false;
  torch::Tensor found_inf;
  Sink sink;
  levin::StepContext context;
  int captures = 0, replays = 0;
  levin::StepProgram::InParts step = [this](const levin::Batch& batch) { return make_step(batch); };
  std::unique_ptr<levin::DeviceGraph> make_graph();
  CapturedStep captured{{module, context, optimizer, torch::kCPU}, [this] { return make_graph(); }};
};

/// Recording leaves weights and the optimizer's tensors as they are; a replay runs what was recorded.
class Bench::Graph final : public levin::DeviceGraph {
 public:
  explicit Graph(Bench& bench) : bench_(bench) {}
  void capture(const std::function<void()>& work) override {
    ++bench_.captures;
    work_ = work;
    sink_ = bench_.context.sink;
    std::vector<torch::Tensor> tensors = bench_.module.parameters();
    for (auto& [key, state] : bench_.optimizer.state())
      for (const auto& tensor : static_cast<levin::optim::ParamState&>(*state).tensors)
        if (tensor.defined()) tensors.push_back(tensor);
    const std::vector<torch::Tensor> before = copies(tensors);
    work();
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < tensors.size(); ++i) tensors[i].copy_(before[i]);
  }
  void replay() override {
    ++bench_.replays;
    levin::LogSink* const sink = std::exchange(bench_.context.sink, sink_);
    bench_.optimizer.begin_capture();
    work_();
    bench_.optimizer.end_capture();
    bench_.context.sink = sink;
  }

 private:
  Bench& bench_;
  std::function<void()> work_;
  levin::LogSink* sink_ = nullptr;
};

std::unique_ptr<levin::DeviceGraph> Bench::make_graph() { return std::make_unique<Graph>(*this); }

levin::Batch batch_of(int64_t samples, int64_t seed) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  const auto input = torch::randn({samples, 4});
  return {input, input.sum(1, true).tanh()};
}

template <class O>
void ends_as_without_graphs(const std::function<O(ToyModule&)>& make) {
  torch::manual_seed(1);
  ToyModule plain, graphed;
  {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < plain.parameters().size(); ++i) graphed.parameters()[i].copy_(plain.parameters()[i]);
  }
  O expected = make(plain), optimizer = make(graphed);
  Bench bench(graphed, optimizer);
  for (int64_t i = 0; i < 24; ++i) {
    const double lr = 0.1 / static_cast<double>(1 + i);
    for (auto* one :
         {static_cast<torch::optim::Optimizer*>(&expected), static_cast<torch::optim::Optimizer*>(&optimizer)})
      one->param_groups()[0].options().set_lr(lr);
    const levin::Batch batch = batch_of(i % 4 == 3 ? 5 : 8, i);
    expected.zero_grad();
    const torch::Tensor loss = plain.loss_of(batch);
    loss.backward();
    expected.step();
    const auto outcome = bench.run(batch);
    if (outcome) CHECK(std::abs(outcome->output.loss.template item<double>() - loss.item<double>()) < 1e-5);
    REQUIRE(bench.sink.rows.size() == static_cast<size_t>(i + 1));
    CHECK(std::abs(bench.sink.rows.back().second - loss.item<double>()) < 1e-5);
  }
  CHECK(bench.captures == 2);
  CHECK(bench.replays == 24 - 3 - 2);  // the first three steps, and later the first of each shape, run eagerly
  CHECK(largest_difference(graphed.parameters(), plain.parameters()) < 1e-5);
  const levin::State counted = optimizer.state_dict(), as_expected = expected.state_dict();
  for (const char* key : {"step", "exp_avg", "exp_avg_sq", "momentum_buffer"}) {
    const levin::State* one = counted.at("state").at(0).find(key);
    if (one == nullptr) continue;
    CHECK(largest_difference({one->to_tensor()}, {as_expected.at("state").at(0).at(key).to_tensor()}) < 1e-5);
  }
}

}  // namespace

TEST_CASE("captured steps end as eager ones, also if rates and shapes change") {
  ends_as_without_graphs<levin::optim::Adam>([](ToyModule& m) { return levin::optim::Adam(m.parameters()); });
  ends_as_without_graphs<levin::optim::AdamW>(
      [](ToyModule& m) { return levin::optim::AdamW(m.parameters(), {.weight_decay = 0.1, .amsgrad = true}); });
  ends_as_without_graphs<levin::optim::SGD>([](ToyModule& m) { return levin::optim::SGD(m.parameters()); });
  ends_as_without_graphs<levin::optim::SGD>([](ToyModule& m) {
    return levin::optim::SGD(m.parameters(), {.momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
  });
}

TEST_CASE("a changed option other than the rate is captured again") {
  ToyModule module;
  levin::optim::SGD optimizer(module.parameters(), {.momentum = 0.9});
  Bench bench(module, optimizer);
  for (int64_t i = 0; i < 6; ++i) bench.run(batch_of(8, i));
  CHECK(bench.captures == 1);
  levin::optim::options_of<levin::optim::SGDOptions>(optimizer.param_groups()[0].options()).momentum = 0.5;
  for (int64_t i = 0; i < 3; ++i) bench.run(batch_of(8, i));
  CHECK(bench.captures == 2);
  CHECK(bench.replays == 5);
}

TEST_CASE("a captured step whose gradients are not finite changes nothing and is not counted") {
  ToyModule module;
  levin::optim::Adam optimizer(module.parameters());
  Bench bench(module, optimizer);
  for (int64_t i = 0; i < 4; ++i) bench.run(batch_of(8, i));
  bench.check_finite = true;
  for (int64_t i = 0; i < 2; ++i) CHECK_FALSE(bench.run(batch_of(8, i)).value().skipped);
  const auto before = copies(module.parameters());
  const auto steps = [&] { return optimizer.state_dict().at("state").at(0).at("step").to_tensor().item<double>(); };
  CHECK(steps() == 6);
  CHECK(bench.run(levin::Batch(torch::full({8, 4}, NAN), torch::zeros({8, 1}))).value().skipped);
  CHECK(bit_equal(before, module.parameters()));
  CHECK(steps() == 6);
  CHECK_FALSE(bench.run(batch_of(8, 1)).value().skipped);
  CHECK(steps() == 7);
}

TEST_CASE("shapes beyond the number of graphs run eagerly, with one warning") {
  ToyModule module;
  levin::optim::SGD optimizer(module.parameters());
  Bench bench(module, optimizer);
  const CapturedStderr stderr_now;
  for (int round = 0; round < 4; ++round)
    for (int64_t samples = 1; samples <= 12; ++samples) bench.run(batch_of(samples, samples));
  CHECK(bench.captures == static_cast<int>(CapturedStep::kMostShapes));
  const std::string text = stderr_now.text();
  CHECK(contains(text, "more than 8 shapes"));
  CHECK(text.find("more than 8 shapes") == text.rfind("more than 8 shapes"));
}

TEST_CASE("a step that a replay would not repeat is refused") {
  struct LogsNumber : ToyModule {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
      log("number", 1.0);
      return loss_of(batch);
    }
  };
  LogsNumber module;
  levin::optim::SGD optimizer(module.parameters());
  Bench bench(module, optimizer);
  for (int64_t i = 0; i < 4; ++i) bench.run(batch_of(8, i));
  CHECK(contains(error_text<levin::UsageError>([&] { bench.run(batch_of(8, 4)); }), "log('number') of a number"));
  CHECK(contains(error_text<levin::UsageError>(
                     [&] { bench.run(levin::Batch(torch::zeros({8, 4}, torch::kMeta), torch::zeros({8, 1}))); }),
                 "'input' of the batch is on meta, and a graph reads only cpu; set cuda_graphs to false"));
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.cuda_graphs = true;
  const ToyData data(16);
  LogsNumber in_fit;
  CHECK(contains(error_text<levin::UsageError>([&] { levin::Trainer(options).fit(in_fit, data.loader(8)); }),
                 "trainer.cuda_graphs: the run is on cpu"));
}
