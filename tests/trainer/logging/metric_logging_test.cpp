// Metrics that are logged: the epoch's value in the files, reset, several loaders, several ranks, state.
#include <levin/trainer/logging/metric_sink.h>

#include <fstream>
#include <sstream>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/small_modules.h"
#include "tests/thread_comm.h"

namespace {

namespace m = levin::metrics;

/// Returns the column `name` of a run's metrics.csv, without empty cells.
std::vector<double> column_of(const std::filesystem::path& run_folder, const std::string& name) {
  std::ifstream file(run_folder / "metrics.csv");
  std::string line;
  const auto cells_of = [](const std::string& row) {
    std::vector<std::string> cells;
    std::istringstream stream(row);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
  };
  std::getline(file, line);
  const auto header = cells_of(line);
  const auto index = static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  if (index == header.size()) throw std::runtime_error("no column " + name + " in " + line);
  std::vector<double> values;
  while (std::getline(file, line)) {
    const auto cells = cells_of(line);
    if (index < cells.size() && !cells[index].empty()) values.push_back(std::stod(cells[index]));
  }
  return values;
}

/// Classifies the sign of the toy data's target.
struct Measured : ToyModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor scores = net->forward(batch.input());
    train_error(scores.detach(), batch.target());
    log("train_mse", train_error, {.on_step = log_steps, .on_epoch = true});
    return torch::mse_loss(scores, batch.target());
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor scores = net->forward(batch.input()).flatten().sigmoid(),
                        target = (batch.target() > 0).flatten().to(torch::kLong);
    auroc->update(scores, target);
    log("val_auroc", auroc, {.prog_bar = true});
    counted += batch.size();
    both.update(scores, target);
    log_dict(both);
  }
  void on_validation_epoch_end(levin::Run& run) override { seen_at_epoch_end = run.metric("val_auroc"); }

  m::MeanSquaredError train_error;
  std::shared_ptr<m::AUROC> auroc = std::make_shared<m::AUROC>(m::AUROCOptions{.task = "binary"});
  m::MetricCollection both{{{"acc", m::Accuracy({.task = "binary"})}, {"f1", m::F1Score({.task = "binary"})}},
                           {.prefix = "val_"}};
  bool log_steps = false;
  int64_t counted = 0;
  std::optional<double> seen_at_epoch_end;
};

struct Expected {
  double auroc, accuracy, f1;
};

Expected whole_epoch(Measured& module, const ToyData& data) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor scores = module.net->forward(data.input).flatten().sigmoid(),
                      target = (data.target > 0).flatten().to(torch::kLong);
  m::AUROC auroc({.task = "binary"});
  m::Accuracy accuracy({.task = "binary"});
  m::F1Score f1({.task = "binary"});
  for (m::Metric* metric : std::initializer_list<m::Metric*>{&auroc, &accuracy, &f1}) metric->update(scores, target);
  return {auroc.compute().item<double>(), accuracy.compute().item<double>(), f1.compute().item<double>()};
}

}  // namespace

TEST_CASE("a logged metric has the value of the whole epoch, and is reset") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 2;
  options.num_sanity_val_steps = 1;  // its counts must not stay
  Measured module;
  const ToyData data(10), val(23);
  const auto result = levin::Trainer(options).fit(module, data.loader(4), val.loader(5));
  const Expected expected = whole_epoch(module, val);
  CHECK(result.metrics.at("val_auroc") == Approx(expected.auroc).epsilon(1e-12));
  CHECK(result.metrics.at("val_acc") == Approx(expected.accuracy).epsilon(1e-12));
  CHECK(result.metrics.at("val_f1") == Approx(expected.f1).epsilon(1e-12));
  const auto rows = column_of(result.folder, "val_auroc");
  REQUIRE(rows.size() == 2);
  CHECK(rows[1] == Approx(expected.auroc).epsilon(1e-12));
  CHECK(column_of(result.folder, "val_acc").at(1) == Approx(expected.accuracy).epsilon(1e-12));
  CHECK(module.seen_at_epoch_end == Approx(expected.auroc).epsilon(1e-12));
  CHECK(column_of(result.folder, "train_mse").size() == 2);
  CHECK(module.auroc->state_dict().at("preds").size() == 0);

  module.both.update(torch::ones({3}), torch::zeros({3}, torch::kLong));  // left by the user: these count
  module.both.reset();
  const auto alone = levin::Trainer(options).validate(module, val.loader(7));
  CHECK(alone.at(0).at("val_auroc") == Approx(expected.auroc).epsilon(1e-12));
  CHECK(alone.at(0).at("val_acc") == Approx(expected.accuracy).epsilon(1e-12));
}

TEST_CASE("with on_step a metric's batch values are logged too") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = quiet(folder);
  options.max_epochs = 1;
  options.log_every_n_steps = 1;
  options.limit_val_batches = 0.0;
  Measured module;
  module.log_steps = true;
  module.optimizers_of = [](ToyModule& toy) {
    return levin::OptimizerConfig(torch::optim::SGD(toy.parameters(), torch::optim::SGDOptions(0.0)));
  };
  const ToyData data(10);
  const auto result = levin::Trainer(options).fit(module, data.loader(4), data.loader(4));
  const auto steps = column_of(result.folder, "train_mse_step");
  REQUIRE(steps.size() == 3);
  const torch::NoGradGuard no_grad;
  const torch::Tensor squares = (module.net->forward(data.input) - data.target).square().flatten();
  CHECK(steps[0] == Approx(squares.narrow(0, 0, 4).mean().item<double>()).epsilon(1e-6));
  CHECK(steps[2] == Approx(squares.narrow(0, 8, 2).mean().item<double>()).epsilon(1e-6));
  CHECK(column_of(result.folder, "train_mse_epoch").at(0) == Approx(squares.mean().item<double>()).epsilon(1e-6));
}

TEST_CASE("log refuses metrics that it cannot log") {
  levin::MetricSink sink;
  sink.use_train_table();
  const auto metric = std::make_shared<m::MeanSquaredError>();
  const auto matrix = std::make_shared<m::ConfusionMatrix>(m::ConfusionMatrixOptions{.task = "binary"});
  metric->update(torch::ones({2}), torch::zeros({2}));
  const auto text = [&](const auto& body) { return error_text<levin::UsageError>(body); };
  CHECK(contains(text([&] { sink.log("x", metric, {.on_step = true}); }), "the metric has no value of this batch"));
  CHECK(contains(text([&] { sink.log("y", metric, {.reduce_fx = levin::ReduceFx::Sum}); }), "a metric reduces itself"));
  CHECK(contains(text([&] { sink.log("z", std::shared_ptr<levin::LoggedMetric>(), {}); }), "the metric is null"));
  levin::MetricSink other;
  other.use_train_table();
  other.log("matrix", matrix, {});
  CHECK(contains(text([&] { other.read_train_epoch(); }), "log('matrix'): expected one element, got shape [2, 2]"));

  levin::MetricSink evaluation;
  evaluation.use_evaluation_table(0, true);
  evaluation.log("acc", metric, {});
  evaluation.use_evaluation_table(1, true);
  CHECK(contains(text([&] { evaluation.log("acc", metric, {}); }), "use one metric for each loader"));
  evaluation.log("acc", std::make_shared<m::MeanSquaredError>(), {});
}

TEST_CASE("a metric under two names is read under both, then reset") {
  levin::MetricSink sink;
  sink.use_train_table();
  m::MeanSquaredError metric;
  metric.update(torch::full({2}, 3.0), torch::zeros({2}));
  const std::shared_ptr<levin::LoggedMetric> shared(std::shared_ptr<void>(), &metric);
  sink.log("a", shared, {});
  sink.log("b", shared, {});
  CHECK(sink.newest("a") == 9.0);
  const auto values = sink.read_train_epoch();
  CHECK(values.at("a") == 9.0);
  CHECK(values.at("b") == 9.0);
  CHECK(metric.state_dict().at("count").to_tensor().item<int64_t>() == 0);
  CHECK(sink.read_train_epoch().empty());
}

TEST_CASE("logged metrics speak for all ranks at the epoch's end") {
  torch::manual_seed(3);
  const torch::Tensor preds = torch::rand({30}), target = torch::randint(2, {30});
  m::AUROC whole({.task = "binary"});
  whole.update(preds, target);
  std::vector<double> auroc(3), accuracy(3);
  levin::run_ranks(3, [&](levin::Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const std::vector<int64_t> ends = {0, 14, 15, 30};
    m::AUROC mine({.task = "binary"});
    m::MetricCollection more({{"acc", m::Accuracy({.task = "binary"})}});
    levin::MetricSink sink;
    sink.set_comm(comm, c10::kCPU);
    sink.use_evaluation_table(0, false);
    const auto log = [&](const std::string& name, m::Metric& metric) {
      sink.log(name, std::shared_ptr<levin::LoggedMetric>(std::shared_ptr<void>(), &metric), {});
    };
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto part = [&](const torch::Tensor& t) { return t.slice(0, ends[rank], ends[rank + 1]); };
      mine.update(part(preds), part(target));
      more.update(part(preds), part(target));
      // Each rank logs in another order.
      if (rank == 1) log("acc", more["acc"]);
      log("auroc", mine);
      if (rank != 1) log("acc", more["acc"]);
      const auto values = sink.read_evaluation_epoch();
      auroc[rank] = values.at("auroc");
      accuracy[rank] = values.at("acc");
    }
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK(auroc[rank] == whole.compute().item<double>());
    CHECK(accuracy[rank] == Approx(((preds > 0.5) == (target == 1)).to(torch::kDouble).mean().item<double>()));
  }
}

TEST_CASE("over ranks, a step's value weighs what training_step returned with its loss") {
  // The tokens of each rank. The second rank has none; all ranks have the same number of samples.
  const std::vector<double> weights = {6, 0, 2}, values = {1, 7, 5};
  std::vector<levin::Metrics> read(3);
  levin::run_ranks(3, [&](levin::Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const levin::Batch batch(torch::zeros({4, 1}));
    levin::MetricSink sink;
    sink.set_comm(comm, c10::kCPU);
    sink.use_train_table();
    sink.enter_batch(batch, /*number=*/0, /*on_step_by_default=*/true);
    sink.log("of_step", values[rank], {});
    sink.log("of_both", torch::tensor(values[rank]), {.on_epoch = true});
    sink.log("of_samples", values[rank], {.batch_size = 4});
    sink.set_batch_weight(weights[rank]);
    sink.log("of_hook", values[rank], {});
    read[rank] = sink.read_step();
  });
  for (const levin::Metrics& metrics : read) {
    CHECK(metrics.at("of_step") == Approx(2));
    CHECK(metrics.at("of_both_step") == Approx(2));
    CHECK(metrics.at("of_samples") == Approx(13.0 / 3));
    CHECK(metrics.at("of_hook") == Approx(2));
  }
}

TEST_CASE("a logged metric's state resumes from a saved one") {
  const auto log = [](levin::MetricSink& sink, m::Metric& metric) {
    sink.log("mse", std::shared_ptr<levin::LoggedMetric>(std::shared_ptr<void>(), &metric), {});
  };
  const TemporaryFolder folder;
  levin::MetricSink sink;
  sink.use_train_table();
  m::MeanSquaredError first;
  first.update(torch::full({3}, 1.0), torch::zeros({3}));
  log(sink, first);
  levin::save_state(sink.state_dict(), folder / "sink.pt");

  levin::MetricSink restored;
  restored.load_state_dict(levin::load_state(folder / "sink.pt"));
  m::MeanSquaredError second;
  second.update(torch::full({1}, 5.0), torch::zeros({1}));
  log(restored, second);
  CHECK(restored.read_train_epoch().at("mse") == Approx((3 * 1.0 + 25.0) / 4));
  second.update(torch::full({1}, 2.0), torch::zeros({1}));
  log(restored, second);
  CHECK(restored.read_train_epoch().at("mse") == 4.0);
}

TEST_CASE("a resumed run that ends before a metric is logged again reads its value over all ranks") {
  torch::manual_seed(3);
  const torch::Tensor preds = torch::rand({30}), target = torch::randint(2, {30});
  m::AUROC whole({.task = "binary"});
  whole.update(preds, target);
  std::vector<double> auroc(2);
  levin::run_ranks(2, [&](levin::Comm& comm) {
    const int64_t begin = comm.rank() == 0 ? 0 : 11, end = comm.rank() == 0 ? 11 : 30;
    m::AUROC mine({.task = "binary"});
    mine.update(preds.slice(0, begin, end), target.slice(0, begin, end));
    levin::MetricSink saved, resumed;
    for (levin::MetricSink* sink : {&saved, &resumed}) {
      sink->set_comm(comm, c10::kCPU);
      sink->use_train_table();
    }
    saved.log("auroc", std::shared_ptr<levin::LoggedMetric>(std::shared_ptr<void>(), &mine), {});
    resumed.load_state_dict(saved.state_dict());
    auroc[static_cast<size_t>(comm.rank())] = resumed.read_train_epoch().at("auroc");
  });
  for (const double value : auroc) CHECK(value == whole.compute().item<double>());
}

TEST_CASE("sync_dist is implied with several ranks, and asking for the opposite warns once") {
  levin::ThreadGroup group(2);
  levin::ThreadComm comm(group, 0);
  levin::MetricSink sink;
  sink.set_comm(comm, c10::kCPU);
  const CapturedStderr captured;
  sink.log("plain", 1.0, {});
  sink.log("implied", 1.0, {.sync_dist = true});
  CHECK(captured.text().empty());
  sink.log("own", 1.0, {.sync_dist = false});
  sink.forget_evaluation();
  sink.log("own", 2.0, {.sync_dist = false});
  CHECK(occurrences(captured.text(), "log('own'): sync_dist = false has no effect") == 1);
}
