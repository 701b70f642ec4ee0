// Trains a small network on some ranks: `ranked_learner FOLDER name=value ...`, with the options below.
#include <cstdlib>
#include <iostream>
#include <map>

#include "tests/small_modules.h"

namespace {

namespace data = levin::data;

/// The options of the command line.
struct Options {
  Options(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
  }
  int64_t number(const std::string& name, int64_t otherwise) const {
    return values.count(name) == 1 ? std::stoll(values.at(name)) : otherwise;
  }
  std::string text(const std::string& name, const std::string& otherwise = "") const {
    return values.count(name) == 1 ? values.at(name) : otherwise;
  }
  std::map<std::string, std::string> values = {};
};

/// Rows 0, 1, ... of a data set that is the same on all ranks.
levin::Batch rows(int64_t first, int64_t count) {
  const auto at = torch::arange(first, first + count, torch::kDouble);
  const auto input = torch::stack({torch::sin(at), torch::cos(at * 0.7), torch::sin(at * 0.3)}, 1);
  return {input, input.sum(1, true) + 0.1 * torch::sin(at * 5).unsqueeze(1)};
}

/// Returns the batches of `rank`, of which later ranks have more; for rank -1, the batches of all `ranks` ranks, joined
/// for each step.
std::vector<levin::Batch> list_of(int64_t rank, int64_t ranks, int64_t first_row, int64_t rows_of_first = 3) {
  const auto batches_of = [](int64_t one) { return 2 + 2 * one; };
  const auto batch_of = [&](int64_t one, int64_t i) {
    return rows(first_row + 100 * one + 4 * i, one == 0 ? rows_of_first : 4);
  };
  std::vector<levin::Batch> list;
  if (rank >= 0) {
    for (int64_t i = 0; i < batches_of(rank); ++i) list.push_back(batch_of(rank, i));
    return list;
  }
  for (int64_t i = 0; i < batches_of(ranks - 1); ++i) {
    std::vector<levin::Batch> together;
    for (int64_t one = 0; one < ranks; ++one)
      if (i < batches_of(one)) together.push_back(batch_of(one, i));
    list.push_back(levin::Batch::gather(together, torch::kCPU));
  }
  return list;
}

struct Data : data::DataModule {
  explicit Data(const Options& options_) : options(options_) {}
  int64_t rank() const {
    const char* const text = std::getenv("RANK");
    return options.number("ranks", 1) == 1 ? -1 : text == nullptr ? 0 : std::stoll(text);
  }
  data::DataLoader mapped(int64_t samples, bool shuffle) const {
    const levin::Batch all = rows(0, samples);
    return data::DataLoader(data::TensorDataset(all.input(), all.target()),
                            {.batch_size = options.number("batch", 4), .shuffle = shuffle, .seed = 3});
  }
  data::Loaders train_dataloader() override {
    if (options.text("data") == "lists")
      return list_of(rank(), options.number("of", options.number("ranks", 1)), 0, options.number("rows_of_first", 3));
    const int64_t samples = options.number("samples", 24);
    if (options.text("data") == "two") return {mapped(samples, false), mapped(samples + 3, false)};
    return mapped(samples, true);
  }
  data::Loaders val_dataloader() override {
    if (options.text("data") == "lists") return list_of(rank(), options.number("of", options.number("ranks", 1)), 5000);
    return mapped(options.number("val_samples", 7), false);
  }
  Options options;
};

struct Net : ToyModule {
  explicit Net(const Options& options_)
      : ToyModule(torch::nn::Sequential(torch::nn::Linear(3, 5), torch::nn::Tanh(), torch::nn::Linear(5, 1))),
        options(options_) {
    if (options.number("registered", 1) == 1) register_metric("train_error", train_error);
    register_metric("val_error", val_error);
    to(torch::kDouble);
    automatic_optimization = options.number("manual", 0) == 0;
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    if (batch.is_own()) {
      const auto& both = batch.as<data::CombinedBatch>();
      return loss_of(both[0]) + loss_of(both[1]);
    }
    const auto output = net->forward(batch.input());
    const auto of_samples = torch::square(output - batch.target());
    train_error(output, batch.target());
    log("train_error", train_error);
    log("train_loss", of_samples.mean(), {.on_step = true, .on_epoch = true, .batch_size = of_samples.size(0)});
    log("least", of_samples.min(), {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Min});
    log("samples", static_cast<double>(batch.size()),
        {.on_step = false, .on_epoch = true, .reduce_fx = levin::ReduceFx::Sum});
    drawn = torch::rand({}, torch::kDouble).item<double>();
    if (!automatic_optimization) return step_by_hand(of_samples.mean());
    if (options.text("weighs") == "later") return {of_samples.mean(), global_rank() == 1 && steps++ == 0 ? 0.0 : 1.0};
    if (options.number("weighs", 0) == 0) return of_samples.mean();
    const auto weights = batch.input().select(1, 0).abs().unsqueeze(1);
    const auto loss = (of_samples * weights).sum() / weights.sum();
    log("weighed_loss", loss, {.on_step = false, .on_epoch = true});  // weighs as what is returned
    return {loss, weights.sum().item<double>()};
  }
  levin::StepOutput step_by_hand(const torch::Tensor& loss) {
    optimizer(0).zero_grad();
    manual_backward(loss);
    optimizer(0).step();
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    val_error(net->forward(batch.input()), batch.target());
    log("val_error", val_error);
    log("val_loss", loss_of(batch));
  }
  void on_train_batch_end(levin::Run& run) override {
    if (options.number("asks", 0) == 1)
      log("error_so_far", *run.metric("train_error"), {.on_step = true, .on_epoch = false});
    if (run.state().batches_seen == options.number("save_at", -1)) run.save_checkpoint(options.text("as"));
  }
  void on_validation_batch_end(levin::Run& run) override {
    if (run.state().evaluation_batch == options.number("save_in_validation", -1) && run.state().epoch == 0)
      run.save_checkpoint(options.text("as"));
  }
  void on_fit_end(levin::Run& run) override {
    std::cout << "rank " << run.comm().rank() << ": estimated " << *run.estimated_stepping_batches() << ", made "
              << run.state().global_step << ", drawn " << drawn << std::endl;
  }
  levin::OptimizerConfig configure_optimizers() override {
    levin::optim::SGD optimizer(parameters(), {.lr = 0.1, .momentum = 0.9});
    if (options.number("one_cycle", 0) == 0) return optimizer;
    return {std::move(optimizer), levin::OneCycleLR({.max_lr = {0.5}}, {.interval = "step"})};
  }

  Options options;
  double drawn = 0;
  int64_t steps = 0;
  levin::metrics::MeanSquaredError train_error, val_error;
};

levin::TrainerOptions trainer_options(const Options& given, const std::string& folder) {
  levin::TrainerOptions options;
  const int64_t ranks = given.number("ranks", 1);
  if (ranks > 1) options.strategy = given.text("strategy", "ddp");
  if (options.strategy.class_name() == "fsdp")
    options.strategy = {"fsdp", levin::FSDPOptions{.reduce_each_batch = given.number("reduce_each", 0) == 1,
                                                   .state_dict_type = given.text("state_dict_type", "full")}};
  options.accelerator = "cpu";
  options.devices = ranks;
  options.seed = 5;
  options.precision = given.text("precision", "64-true");
  options.max_epochs = given.number("epochs", 2);
  options.accumulate_grad_batches = given.number("k", 1);
  if (given.number("table", 0) == 1)
    options.callbacks.emplace_back(levin::GradientAccumulationScheduler({.scheduling = {{0, 2}, {1, 4}}}));
  if (given.values.count("limit") == 1) options.limit_train_batches = given.number("limit", 1);
  if (given.number("lr", 0) == 1) options.callbacks.emplace_back(levin::LearningRateMonitor());
  options.keep_global_batch = given.number("keep", 0) == 1;
  options.use_distributed_sampler = given.text("data") != "lists";
  options.log_every_n_steps = 1;
  options.timeout_seconds = 30;
  options.default_root_dir = folder;
  options.name = "run";
  options.enable_progress_bar = options.enable_model_summary = false;
  options.num_sanity_val_steps = 0;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options(argc, argv);
    const levin::TrainerOptions of_trainer = trainer_options(options, argv[1]);
    if (const auto code = levin::launch(of_trainer)) return *code;
    levin::Trainer trainer(of_trainer);
    torch::manual_seed(1);
    Net net(options);
    Data from(options);
    trainer.fit(net, from, options.text("ckpt_path"));
  } catch (const levin::UsageError& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}
