#pragma once
#include <levin/levin.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "tests/trainer/resumes/random_case.h"

namespace random_case {

constexpr int64_t kFeatures = 6, kClasses = 3;

/// Points and their classes.
struct Points {
  explicit Points(int64_t samples, torch::Dtype dtype) {
    const auto generator = at::detail::createCPUGenerator(3);
    input = torch::randn({samples, kFeatures}, generator, torch::TensorOptions(torch::kDouble)).to(dtype);
    target = input.narrow(1, 0, kClasses).argmax(1);
  }
  torch::Tensor input, target;
};

/// The points one by one. With "divided", rank r takes every world-th point; with "uneven", ranks have unequal parts.
class PointStream final : public levin::data::SampleStream {
 public:
  PointStream(Points points, std::vector<int64_t> order, bool knows_its_place)
      : points_(std::move(points)), order_(std::move(order)), knows_its_place_(knows_its_place) {}
  std::optional<levin::Batch> next() override {
    if (next_ == static_cast<int64_t>(order_.size())) return {};
    const int64_t index = order_[static_cast<size_t>(next_++)];
    return levin::Batch(points_.input[index], points_.target[index]);
  }
  std::optional<levin::State> state_dict() const override {
    return knows_its_place_ ? std::optional<levin::State>(next_) : std::nullopt;
  }
  void load_state_dict(const levin::State& state) override { next_ = state.to_int(); }

 private:
  Points points_;
  std::vector<int64_t> order_;
  bool knows_its_place_;
  int64_t next_ = 0;
};

class PointsInOrder final : public levin::data::IterableDataset {
 public:
  PointsInOrder(Points points, const RandomCase& c) : points_(std::move(points)), case_(c) {}
  std::unique_ptr<levin::data::SampleStream> open(const levin::data::StreamOptions& options) const override {
    std::vector<int64_t> order;
    const int64_t count = points_.input.size(0);
    const int64_t first = options.shuffle ? options.epoch % count : 0;
    for (int64_t i = 0; i < count; ++i)
      if (is_of(options.rank, options.world, i)) order.push_back((first + i) % count);
    return std::make_unique<PointStream>(points_, std::move(order), case_.number % 2 == 0);
  }
  bool divides_among_ranks() const override { return case_.data != "stream"; }

 private:
  /// With "uneven", the last rank has everything after a few samples of each other rank.
  bool is_of(int64_t rank, int64_t world, int64_t index) const {
    if (case_.data != "uneven") return index % world == rank;
    return rank == std::min(index / (2 * case_.batch_size), world - 1);
  }
  Points points_;
  RandomCase case_;
};

struct Data : levin::data::DataModule {
  Data(const RandomCase& c, int64_t batch_size)
      : case_(c), batch_size_(batch_size), points_(c.samples + kValidationSamples, torch::kFloat) {}
  levin::data::Loaders train_dataloader() override {
    Points train = points_;
    train.input = train.input.narrow(0, 0, case_.samples);
    train.target = train.target.narrow(0, 0, case_.samples);
    levin::data::DataLoaderOptions options{.batch_size = batch_size_,
                                           .shuffle = case_.shuffle,
                                           .num_workers = case_.workers,
                                           .drop_last = case_.drop_last,
                                           .partial_round = case_.partial_round,
                                           .seed = 11};
    if (case_.data == "mapped")
      return levin::data::DataLoader(levin::data::TensorDataset(train.input, train.target), options);
    return levin::data::DataLoader(
        std::shared_ptr<const levin::data::IterableDataset>(std::make_shared<PointsInOrder>(train, case_)), options);
  }
  levin::data::Loaders val_dataloader() override {
    return levin::data::DataLoader(
        levin::data::TensorDataset(points_.input.narrow(0, case_.samples, kValidationSamples),
                                   points_.target.narrow(0, case_.samples, kValidationSamples)),
        {.batch_size = batch_size_});
  }

 private:
  RandomCase case_;
  int64_t batch_size_;
  Points points_;
};

/// A network whose training follows the case.
struct Learner : levin::LightningModule {
  explicit Learner(const RandomCase& c)
      : case_(c),
        body(kFeatures, 12),
        norm(c.batch_norm ? register_module("norm", torch::nn::BatchNorm1d(12)) : nullptr),
        dropout(register_module("dropout", torch::nn::Dropout(c.dropout ? 0.2 : 0.0))),
        head(12, kClasses),
        late(register_parameter("late", torch::zeros({kClasses}))),
        rows(register_parameter("rows", torch::linspace(-0.5, 0.5, 3 * kFeatures).reshape({3, kFeatures}))),
        train_accuracy({.task = "multiclass", .num_classes = kClasses}),
        val_accuracy({.task = "multiclass", .num_classes = kClasses}) {
    layers->push_back(body);
    layers->push_back(head);
    automatic_optimization = !c.two_optimizers;
    if (c.ema) average.emplace(*this, levin::optim::EMAOptions{.decay = 0.9});
    if (c.metric_is_registered) register_metric("train_acc", train_accuracy);
    register_metric("val_acc", val_accuracy);
  }

  torch::Tensor forward(const torch::Tensor& input) {
    auto hidden = body->forward(input);
    if (norm) hidden = norm->forward(hidden);
    return head->forward(dropout->forward(torch::tanh(hidden))) + late +
           input.matmul(rows.t()).tanh().mean(1, true) * late.new_ones({kClasses}).cumsum(0);
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const auto logits = forward(batch.input());
    const auto losses = torch::nn::functional::cross_entropy(
        logits, batch.target(), torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kNone));
    train_accuracy.update(logits.detach(), batch.target());
    log("train_acc", train_accuracy);
    if (case_.skips_batches && batch_idx % 4 == 2) return {};
    const auto counted = (batch.input().select(1, 5) > 0).to(losses.scalar_type());
    const auto loss = case_.weights_are_counts ? weighed(losses, counted) : losses.mean();
    // Without samples the mean is NaN, which would make the epoch's mean NaN.
    if (!case_.weights_are_counts)
      log("train_loss", loss, {.on_step = true, .on_epoch = true});
    else  // the mean over samples weighs as many as they are, not what the step's loss weighs
      log("train_loss", losses.mean(), {.on_step = true, .on_epoch = true, .batch_size = losses.size(0)});
    if (case_.two_optimizers) return step_both(loss);
    if (case_.weights_are_counts) return {loss, counted.sum().item<double>()};
    return loss;
  }

  void validation_step(const levin::Batch& batch, int64_t) override {
    const auto logits = forward(batch.input());
    log("val_loss", torch::nn::functional::cross_entropy(logits, batch.target()));
    val_accuracy.update(logits, batch.target());
    log("val_acc", val_accuracy);
  }

  void on_train_batch_end(levin::Run& run) override {
    if (average) average->update();
    if (case_.rows_change && run.batch_idx() % 3 == 1) change_rows();
  }
  /// Also in the middle of an accumulation window.
  void change_rows() {
    if (rows.size(0) > 6)
      levin::optim::keep_rows(rows, torch::tensor({4, 1, 0, 5}));
    else
      levin::optim::append_rows(rows, rows.detach().narrow(0, 0, 2) * 0.5);
  }
  void on_train_epoch_end(levin::Run&) override {
    if (case_.two_optimizers)
      for (const auto& scheduler : lr_schedulers()) scheduler->step();
  }
  void on_save_checkpoint(levin::Run&, levin::State& checkpoint) override {
    if (average) checkpoint["average"] = average->state_dict();
  }
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    levin::optim::take_row_counts(*this, checkpoint.at("state_dict"));
    if (average) average->load_state_dict(checkpoint.at("average"));
  }

  levin::OptimizerConfig configure_optimizers() override {
    if (!case_.two_optimizers) return with_scheduler(make(parameters()));
    std::vector<torch::Tensor> first = body->parameters(), second = head->parameters();
    if (norm)
      for (const auto& parameter : norm->parameters()) first.push_back(parameter);
    second.push_back(late);
    second.push_back(rows);
    levin::OptimizerConfig both = with_scheduler(make(first));
    both.entries.emplace_back(make(second));
    return both;
  }

  RandomCase case_;
  torch::nn::ModuleList layers = register_module("layers", torch::nn::ModuleList());  ///< units of fsdp
  torch::nn::Linear body;
  torch::nn::BatchNorm1d norm;
  torch::nn::Dropout dropout;
  torch::nn::Linear head;
  torch::Tensor late, rows;
  levin::metrics::Accuracy train_accuracy, val_accuracy;
  std::optional<levin::optim::EMA> average = {};

 private:
  torch::Tensor weighed(const torch::Tensor& losses, const torch::Tensor& counted) const {
    const auto sum = (losses * counted).sum(), count = counted.sum();
    return case_.empty_batches_are_nan ? sum / count : sum / count.clamp_min(1);
  }
  levin::StepOutput step_both(const torch::Tensor& loss) {
    for (auto& optimizer : optimizers()) optimizer.zero_grad();
    manual_backward(loss);
    for (auto& optimizer : optimizers()) optimizer.step();
    return {};
  }
  std::shared_ptr<torch::optim::Optimizer> make(std::vector<torch::Tensor> parameters) const {
    if (case_.optimizer == "Adam")
      return std::make_shared<levin::optim::Adam>(std::move(parameters),
                                                  levin::optim::AdamOptions{.lr = 0.01, .fused = case_.fused});
    if (case_.optimizer == "AdamW")
      return std::make_shared<levin::optim::AdamW>(std::move(parameters),
                                                   levin::optim::AdamWOptions{.lr = 0.01, .fused = case_.fused});
    return std::make_shared<levin::optim::SGD>(
        std::move(parameters), levin::optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .fused = case_.fused});
  }
  levin::OptimizerConfig with_scheduler(const std::shared_ptr<torch::optim::Optimizer>& optimizer) const {
    const levin::LRSchedulerConfig by_step{.interval = "step", .frequency = case_.frequency};
    const levin::LRSchedulerConfig by_epoch{.frequency = case_.frequency, .monitor = case_.monitor, .strict = false};
    // Under manual optimization the module steps its schedulers once per epoch.
    const bool steps = !case_.two_optimizers;
    if (case_.scheduler == "one_cycle" && case_.has_known_length() && steps)
      return {optimizer, levin::OneCycleLR({.max_lr = 0.1}, by_step)};
    if (case_.scheduler == "cosine")
      return {optimizer, levin::CosineAnnealingLR({.T_max = 7}, steps ? by_step : by_epoch)};
    if (case_.scheduler == "step") return {optimizer, levin::StepLR({.step_size = 1, .gamma = 0.5}, by_epoch)};
    if (case_.scheduler == "plateau" && steps)
      return {optimizer, levin::ReduceLROnPlateau({.factor = 0.5, .patience = 0}, by_epoch)};
    return optimizer;
  }
};

/// A user's callback, with state.
struct Counter : levin::Callback {
  void on_train_batch_end(levin::Run& run) override { sum = sum * 3 % 1000003 + run.batch_idx() + run.batch().size(); }
  void on_validation_end(levin::Run&) override { ++validations; }
  std::string state_key() const override { return "Counter"; }
  levin::State state_dict() const override { return levin::State::dict({{"sum", sum}, {"validations", validations}}); }
  void load_state_dict(const levin::State& state) override {
    sum = state.at("sum").to_int();
    validations = state.at("validations").to_int();
  }
  int64_t sum = 1, validations = 0;
};

inline levin::TrainerOptions options_of(const RandomCase& c, const std::filesystem::path& root) {
  levin::TrainerOptions options;
  options.accelerator = RandomCase::accelerator();
  if (c.ranks > 1 || options.accelerator != levin::Accelerator::Cpu) {
    options.devices = c.ranks;
    options.strategy = c.strategy;
  }
  if (options.strategy.class_name() == "fsdp") {
    options.strategy = {"fsdp", levin::FSDPOptions{.shard = c.keeps_parameters ? "gradients" : "all",
                                                   .reduce_each_batch = c.reduces_each,
                                                   .state_dict_type = c.sharded_checkpoints ? "sharded" : "full"}};
    options.mesh.shard = c.hybrid_shard;
  }
  options.sync_batchnorm = c.sync_batch_norm && c.ranks > 1;
  options.precision = levin::Precision(c.precision.c_str());
  options.max_epochs = c.epochs;
  options.max_steps = c.max_steps;
  options.limit_train_batches = c.limit_train;
  options.limit_val_batches = c.limit_val;
  options.val_check_interval = c.val_check_interval;
  options.check_val_every_n_epoch = c.check_val_every_n_epoch;
  options.num_sanity_val_steps = c.sanity_steps;
  options.log_every_n_steps = c.log_every;
  if (!c.accumulation_table) options.accumulate_grad_batches = c.accumulate;
  if (c.clip > 0) options.gradient_clip_val = c.clip;
  options.gradient_clip_algorithm = c.clip_algorithm;
  options.reload_dataloaders_every_n_epochs = c.reload_every;
  options.default_root_dir = root.string();
  options.name = "run";
  options.seed = 5;
  options.num_threads = 1;
  options.timeout_seconds = 60;
  options.enable_progress_bar = options.enable_model_summary = false;
  options.callbacks = {
      Counter(), levin::ModelCheckpoint({.save_last = true, .every_n_train_steps = c.every_n_train_steps}),
      levin::ModelCheckpoint({.filename = "best-{epoch}-{step}", .monitor = c.monitor, .save_top_k = c.top_k})};
  if (c.accumulation_table)
    options.callbacks.push_back(levin::GradientAccumulationScheduler({.scheduling = {{0, 1}, {1, c.accumulate}}}));
  if (c.stops_early) options.callbacks.push_back(levin::EarlyStopping({.monitor = c.monitor, .patience = 1}));
  return options;
}

}  // namespace random_case
