// A module, data and callbacks for trainings drawn from the schema: everything that a network may have beside plain
// layers, in steps of every kind, on batches from every kind of loader.
#include <levin/levin.h>
#include <signal.h>

#include <algorithm>
#include <fstream>

#include "tests/trainer/pairs/odd_parts.h"

namespace pairs {
namespace {

constexpr int64_t kFeatures = 6, kHidden = 12, kClasses = 3;

/// Points and their classes.
struct Points {
  explicit Points(int64_t samples) {
    const auto generator = at::detail::createCPUGenerator(3);
    input = torch::randn({samples, kFeatures}, generator, torch::TensorOptions(torch::kDouble)).to(torch::kFloat);
    target = input.narrow(1, 0, kClasses).argmax(1);
  }
  Points part(int64_t from, int64_t count) const {
    Points result = *this;
    result.input = input.narrow(0, from, count);
    result.target = target.narrow(0, from, count);
    return result;
  }
  levin::data::TensorDataset dataset() const { return levin::data::TensorDataset(input, target); }
  torch::Tensor input, target;
};

/// The points one by one, in an order that depends on the epoch.
class PointStream final : public levin::data::SampleStream {
 public:
  PointStream(Points points, int64_t first) : points_(std::move(points)), first_(first) {}
  std::optional<levin::Batch> next() override {
    const int64_t count = points_.input.size(0);
    if (next_ == count) return {};
    const int64_t index = (first_ + next_++) % count;
    return levin::Batch(points_.input[index], points_.target[index]);
  }
  std::optional<levin::State> state_dict() const override { return levin::State(next_); }
  void load_state_dict(const levin::State& state) override { next_ = state.to_int(); }

 private:
  Points points_;
  int64_t first_, next_ = 0;
};

class PointsInTurn final : public levin::data::IterableDataset {
 public:
  explicit PointsInTurn(Points points) : points_(std::move(points)) {}
  std::unique_ptr<levin::data::SampleStream> open(const levin::data::StreamOptions& options) const override {
    const int64_t first = options.shuffle ? options.epoch % points_.input.size(0) : 0;
    return std::make_unique<PointStream>(points_, first);
  }
  bool divides_among_ranks() const override { return false; }

 private:
  Points points_;
};

struct OddDataOptions {
  std::string kind = LEVIN_OPTION(kind, "mapped", "Kind of the training loader",
                                  {.choices = {"mapped", "stream", "combined", "none_in_validation"}});
  int64_t samples = LEVIN_OPTION(samples, 24, "Training samples", {.min = 1});
  int64_t val_samples = LEVIN_OPTION(val_samples, 13, "Validation samples", {.min = 1});
  LEVIN_LOADER_OPTIONS(4, true);
};

struct OddData : levin::data::DataModule {
  using Options = OddDataOptions;
  explicit OddData(OddDataOptions options_)
      : options(std::move(options_)), points(options.samples + options.val_samples) {}

  levin::data::Loaders train_dataloader() override {
    const Points train = points.part(0, options.samples);
    const levin::data::DataLoaderOptions how = levin::data::loader_options(options);
    if (options.kind == "stream")
      return levin::data::DataLoader(
          std::shared_ptr<const levin::data::IterableDataset>(std::make_shared<PointsInTurn>(train)), how);
    const levin::data::DataLoader loader(train.dataset(), how);
    if (options.kind == "combined")
      return {loader, levin::data::DataLoader(points.part(options.samples / 2, options.samples / 2).dataset(), how)};
    return loader;
  }
  levin::data::Loaders val_dataloader() override {
    if (options.kind == "none_in_validation") return {};
    return levin::data::DataLoader(points.part(options.samples, options.val_samples).dataset(),
                                   {.batch_size = options.batch_size});
  }

  OddDataOptions options;
  Points points;
};

struct OddLearnerOptions {
  std::vector<std::string> parts = LEVIN_OPTION(
      parts, {}, "Parts beside the layers",
      {.choices = {"tied", "frozen", "empty", "scalar", "complex", "complex_as_pairs", "integer", "boolean", "strided",
                   "bf16_buffer", "in_turn", "unused", "sparse", "batch_norm", "dropout"}});
  std::string steps = LEVIN_OPTION(steps, "automatic", "Kind of the training step",
                                   {.choices = {"automatic", "manual", "adversarial"}});
  double rate_of_head = LEVIN_OPTION(rate_of_head, 0, "Rate of a second group, for the head; 0: one group", {.min = 0});
  levin::ClassChoice<levin::optim::OptimizerKind> optimizer = LEVIN_OPTION(optimizer, {"SGD"}, "Optimizer");
  levin::ClassChoice<levin::LRSchedulerKind> lr_scheduler =
      LEVIN_OPTION(lr_scheduler, {}, "Learning rate schedule; unset: none");
};

struct OddLearner : levin::LightningModule {
  using Options = OddLearnerOptions;
  explicit OddLearner(OddLearnerOptions options_)
      : options(std::move(options_)), backbone(kFeatures, kHidden), head(kHidden, kClasses) {
    namespace nn = torch::nn;
    automatic_optimization = options.steps == "automatic";
    register_module("backbone", backbone);
    if (has("tied")) tied = register_parameter("tied", backbone->weight);
    if (has("frozen")) {
      frozen = register_module("frozen", nn::Linear(kFeatures, kHidden));
      for (auto& parameter : frozen->parameters()) parameter.requires_grad_(false);
    }
    if (has("batch_norm")) norm = register_module("norm", nn::BatchNorm1d(kHidden));
    dropout = register_module("dropout", nn::Dropout(has("dropout") ? 0.2 : 0.0));
    register_module("head", head);
    if (has("empty")) register_parameter("empty", torch::zeros({0, 3}));
    if (has("scalar")) scale = register_parameter("scale", torch::zeros({}));
    const auto pairs = torch::linspace(-1, 1, 2 * kClasses).reshape({kClasses, 2});
    if (has("complex")) turn = register_parameter("turn", torch::view_as_complex(pairs.clone()));
    if (has("complex_as_pairs")) turn = register_parameter("turn", pairs.clone());
    if (has("integer")) count = register_buffer("count", torch::zeros({}, torch::kLong));
    if (has("boolean")) mask = register_buffer("mask", torch::ones({kHidden}, torch::kBool));
    if (has("strided")) strided = register_parameter("strided", (torch::randn({kClasses, kHidden}) * 0.1).t());
    if (has("bf16_buffer")) offset = register_buffer("offset", torch::full({kClasses}, 0.5, torch::kBFloat16));
    if (has("in_turn")) {
      even = register_module("even", nn::Linear(kHidden, kClasses));
      odd = register_module("odd", nn::Linear(kHidden, kClasses));
    }
    if (has("unused")) register_parameter("unused", torch::ones({2}));
    if (has("sparse"))
      table = register_module("table", nn::Embedding(nn::EmbeddingOptions(kFeatures, kClasses).sparse(true)));
  }

  torch::Tensor features(const torch::Tensor& input) {
    torch::Tensor hidden = backbone->forward(input);
    if (tied.defined()) hidden = hidden + torch::linear(input.flip(1), tied);
    if (frozen) hidden = hidden + frozen->forward(input);
    if (norm) hidden = norm->forward(hidden);
    hidden = dropout->forward(torch::tanh(hidden));
    return mask.defined() ? hidden * mask : hidden;
  }

  /// `number`: of the batch in its epoch, which decides between the branches.
  torch::Tensor forward(const torch::Tensor& input, int64_t number) {
    const torch::Tensor hidden = features(input);
    torch::Tensor logits = head->forward(hidden);
    if (scale.defined()) logits = logits * (1 + scale);
    if (turn.defined()) {
      const auto real = input.narrow(1, 0, kClasses), imaginary = input.narrow(1, kClasses, kClasses);
      logits = logits + (turn.is_complex() ? torch::real(turn * torch::complex(real, imaginary))
                                           : turn.select(1, 0) * real - turn.select(1, 1) * imaginary);
    }
    if (strided.defined()) logits = logits + hidden.matmul(strided);
    if (offset.defined()) logits = logits + offset.to(logits.scalar_type());
    if (even) logits = logits + (number % 2 == 0 ? even : odd)->forward(hidden);
    if (table) logits = logits + table->forward(input.argmax(1));
    return logits;
  }

  static levin::Batch first_of(const levin::Batch& batch) {
    const auto* const combined = batch.get_if<levin::data::CombinedBatch>();
    return combined ? (*combined)[0] : batch;
  }

  torch::Tensor loss_of(const levin::Batch& given, int64_t number) {
    const levin::Batch batch = first_of(given);
    torch::Tensor loss = torch::nn::functional::cross_entropy(forward(batch.input(), number), batch.target());
    if (const auto* const combined = given.get_if<levin::data::CombinedBatch>())
      loss = loss + 0.5 * forward((*combined)[1].input(), number).square().mean();
    return loss;
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    if (count.defined()) count.add_(1);
    if (options.steps == "adversarial") return adversarial_step(batch, batch_idx);
    const torch::Tensor loss = loss_of(batch, batch_idx);
    log("train_loss", loss, {.on_step = true, .on_epoch = true});
    if (automatic_optimization) return loss;
    levin::LightningOptimizer only = optimizer();
    only.zero_grad();
    manual_backward(loss);
    only.step();
    return {};
  }

  /// Two optimizers that step in turn, each on a backward of its own.
  levin::StepOutput adversarial_step(const levin::Batch& batch, int64_t batch_idx) {
    for (size_t i = 0; i < 2; ++i) {
      levin::LightningOptimizer one = optimizer(i);
      toggle_optimizer(one);
      const torch::Tensor loss = loss_of(batch, batch_idx);
      one.zero_grad();
      manual_backward(loss);
      one.step();
      untoggle_optimizer();
      log(i == 0 ? "first_loss" : "train_loss", loss, {.on_step = true, .on_epoch = true});
    }
    return {};
  }

  void validation_step(const levin::Batch& batch, int64_t batch_idx) override {
    const torch::Tensor logits = forward(batch.input(), batch_idx);
    log("val_loss", torch::nn::functional::cross_entropy(logits, batch.target()));
    log("val_acc", (logits.argmax(1) == batch.target()).to(torch::kFloat).mean());
    // Is worse in the second epoch, and better in each one after that.
    log("val_wave", current_epoch() == 1 ? 2.0 : 1.0 / static_cast<double>(1 + current_epoch()));
  }
  levin::Batch predict_step(const levin::Batch& batch, int64_t batch_idx) override {
    return {forward(batch.input(), batch_idx).softmax(1)};
  }
  void on_train_epoch_end(levin::Run&) override {
    if (!automatic_optimization)
      for (const auto& scheduler : lr_schedulers()) scheduler->step();
  }

  levin::OptimizerConfig configure_optimizers() override {
    if (options.steps == "adversarial") {
      levin::OptimizerConfig both = with_schedule(made(backbone->parameters()));
      both.entries.push_back(with_schedule(made(rest())).entries.front());
      return both;
    }
    if (options.rate_of_head == 0) return with_schedule(made(rest_of({})));
    std::shared_ptr<torch::optim::Optimizer> optimizer = made(rest_of(head->parameters()));
    torch::optim::OptimizerParamGroup second(head->parameters(), optimizer->param_groups()[0].options().clone());
    second.options().set_lr(options.rate_of_head);
    levin::optim::add_param_group(*optimizer, second);
    return with_schedule(optimizer);
  }

  OddLearnerOptions options;
  torch::nn::Linear backbone, head;
  torch::nn::Linear frozen = nullptr, even = nullptr, odd = nullptr;
  torch::nn::BatchNorm1d norm = nullptr;
  torch::nn::Dropout dropout = nullptr;
  torch::nn::Embedding table = nullptr;
  torch::Tensor tied, scale, turn, count, mask, strided, offset;

 private:
  bool has(const std::string& part) const { return std::ranges::count(options.parts, part) != 0; }
  std::vector<torch::Tensor> rest() const { return rest_of(backbone->parameters()); }
  /// The parameters that are none of `others`, a tied one once.
  std::vector<torch::Tensor> rest_of(std::vector<torch::Tensor> others) const {
    std::vector<torch::Tensor> result;
    for (const torch::Tensor& parameter : parameters()) {
      if (std::ranges::any_of(others, [&](const torch::Tensor& other) { return other.is_same(parameter); })) continue;
      result.push_back(parameter);
      others.push_back(parameter);
    }
    return result;
  }
  std::shared_ptr<torch::optim::Optimizer> made(std::vector<torch::Tensor> parameters) const {
    return levin::optim::make_optimizer(options.optimizer, "model.optimizer", std::move(parameters));
  }
  levin::OptimizerConfig with_schedule(std::shared_ptr<torch::optim::Optimizer> optimizer) const {
    if (!options.lr_scheduler) return optimizer;
    return {std::move(optimizer), options.lr_scheduler.make("model.lr_scheduler")};
  }
};

struct DieAtOptions {
  int64_t event = LEVIN_OPTION(event, 0, "Number of the event at which the process kills itself; 0: never", {.min = 0});
  int64_t rank = LEVIN_OPTION(rank, 0, "Rank whose events count", {.min = 0});
  std::string count_file = LEVIN_OPTION(count_file, "", "File that gets the number of events of the whole fit");
};

/// Ends the process by SIGKILL at the end of a batch, validation or epoch.
struct DieAt : levin::Callback {
  using Options = DieAtOptions;
  explicit DieAt(DieAtOptions options_) : options(std::move(options_)) {}
  void on_train_batch_end(levin::Run& run) override { event(run); }
  void on_validation_batch_end(levin::Run& run) override { event(run); }
  void on_validation_end(levin::Run& run) override { event(run); }
  void on_train_epoch_end(levin::Run& run) override { event(run); }
  void on_fit_end(levin::Run& run) override {
    if (run.comm().rank() == options.rank && !options.count_file.empty()) std::ofstream(options.count_file) << events;
  }
  void event(levin::Run& run) {
    if (run.comm().rank() == options.rank && ++events == options.event) ::kill(::getpid(), SIGKILL);
  }
  DieAtOptions options;
  int64_t events = 0;
};

struct ThrowAtOptions {
  std::string hook = LEVIN_OPTION(
      hook, "on_train_batch_end", "Hook that throws",
      {.choices = {"on_fit_start", "on_train_start", "on_train_epoch_start", "on_train_batch_start",
                   "on_before_backward", "on_after_backward", "on_before_optimizer_step", "on_train_batch_end",
                   "on_validation_start", "on_validation_batch_start", "on_validation_batch_end", "on_validation_end",
                   "on_train_epoch_end", "on_save_checkpoint", "on_train_end"}});
  int64_t call = LEVIN_OPTION(call, 1, "Call of the hook that throws", {.min = 1});
};

/// Throws an exception in a call of one hook.
struct ThrowAt : levin::Callback {
  using Options = ThrowAtOptions;
  explicit ThrowAt(ThrowAtOptions options_) : options(std::move(options_)) {}
#define LEVIN_THROWS(hook) \
  void hook(levin::Run&) override { called(#hook); }
  LEVIN_THROWS(on_fit_start)
  LEVIN_THROWS(on_train_start)
  LEVIN_THROWS(on_train_epoch_start)
  LEVIN_THROWS(on_train_batch_start)
  LEVIN_THROWS(on_after_backward)
  LEVIN_THROWS(on_train_batch_end)
  LEVIN_THROWS(on_validation_start)
  LEVIN_THROWS(on_validation_batch_start)
  LEVIN_THROWS(on_validation_batch_end)
  LEVIN_THROWS(on_validation_end)
  LEVIN_THROWS(on_train_epoch_end)
  LEVIN_THROWS(on_train_end)
#undef LEVIN_THROWS
  void on_before_backward(levin::Run&, torch::Tensor&) override { called("on_before_backward"); }
  void on_before_optimizer_step(levin::Run&, torch::optim::Optimizer&) override { called("on_before_optimizer_step"); }
  void on_save_checkpoint(levin::Run&, levin::State&) override { called("on_save_checkpoint"); }
  void called(const std::string& hook) {
    if (hook == options.hook && ++calls == options.call) throw std::runtime_error("thrown by ThrowAt");
  }
  ThrowAtOptions options;
  int64_t calls = 0;
};

}  // namespace

levin::StepOutput host_loss(levin::LightningModule& module, const levin::Batch& batch, int64_t number) {
  auto& learner = dynamic_cast<OddLearner&>(module);
  const auto dtype = learner.head->weight.scalar_type();  // what the host computes with is its own business
  return learner.loss_of({batch.input().to(dtype), batch.target()}, number);
}

}  // namespace pairs

using pairs::DieAt;
using pairs::OddData;
using pairs::OddLearner;
using pairs::ThrowAt;
LEVIN_REGISTER_MODULE(OddLearner);
LEVIN_REGISTER_DATA_MODULE(OddData);
LEVIN_REGISTER_CALLBACK(DieAt);
LEVIN_REGISTER_CALLBACK(ThrowAt);
