// A user's program that trains on ranks: `rank_learner FOLDER STRATEGY RANKS WHAT [CHECKPOINT]`. Prints the
// final weights of rank 0.
#include <levin/levin.h>

#include <cstdlib>
#include <iomanip>
#include <iostream>

namespace {

constexpr int64_t kSamples = 64, kGlobalBatch = 16;

struct Net : levin::LightningModule {
  explicit Net(std::string what_) : what(std::move(what_)) {
    if (unfreezes())
      for (auto& parameter : body->parameters()) parameter.requires_grad_(false);
  }
  /// A wide layer and a large buffer, which are divided among ranks under fsdp as soon as they are made.
  void configure_model() override {
    if (what.rfind("sparse", 0) == 0)
      words = register_module("words", torch::nn::Embedding(torch::nn::EmbeddingOptions(6, 4).sparse(true)));
    if (what.rfind("norms", 0) == 0)
      for (const auto& [name, width] : {std::pair<const char*, int64_t>{"first_norm", 4}, {"second_norm", 5}})
        norms.push_back(register_module(name, torch::nn::BatchNorm1d(width)));
    if (what != "built_late") return;
    wide = register_module("wide", torch::nn::Linear(4, 5000));
    scale = register_buffer("scale", torch::rand({5000, 4}) + 1);
  }
  bool unfreezes() const { return what.rfind("unfreezes", 0) == 0; }

  /// The parts in turn: a step leaves the other one out.
  torch::Tensor loss_of_branch(const levin::Batch& batch, int64_t batch_idx) {
    const auto output =
        batch_idx % 2 == 0 ? head(body(batch.input()).tanh()) : batch.input().matmul(table.t()).sin().mean(1, true);
    return torch::mse_loss(output, batch.target());
  }
  /// A generator (body) and a critic (head), each with a backward of its own in each step.
  void play(const levin::Batch& batch) {
    optimizer(0).zero_grad();
    manual_backward(-head(body(batch.input()).tanh()).square().mean() + body->weight.square().sum());
    optimizer(0).step();
    optimizer(1).zero_grad();
    manual_backward(torch::mse_loss(head(body(batch.input()).tanh().detach()), batch.target()) +
                    batch.input().matmul(table.t()).square().mean());
    optimizer(1).step();
  }
  /// The mean over the few samples that count: some ranks' batches have none, and a loss that is NaN.
  levin::StepOutput loss_of_few(const levin::Batch& batch) {
    const auto hidden = norms[1](body(norms[0](batch.input()))).tanh();
    const auto output = batch.input().matmul(table.t()).sin().mean(1, true) + head(hidden);
    const auto counted = (batch.input().select(1, 0) > 1).to(torch::kDouble);
    const auto losses = (output - batch.target()).square().squeeze(1);
    return {(losses * counted).sum() / counted.sum(), counted.sum().item<double>()};
  }
  torch::Tensor loss_of(const levin::Batch& batch) {
    auto output = head(body(batch.input()).tanh()) + batch.input().matmul(table.t()).sin().mean(1, true);
    if (words)
      output = output +
               words((batch.input().slice(1, 0, 2) * 2).abs().clamp(0, 5).to(torch::kLong)).mean({1, 2}).unsqueeze(1);
    if (wide) output = output + (wide(batch.input()) * scale.sum(1)).mean(1, true);
    return torch::mse_loss(output, batch.target());
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    if (what == "gan") {
      play(batch);
      return {};
    }
    if (what == "branches_without_a_loss" && run().comm().rank() == 0 && batch_idx == 2) {
      loss_of_branch(batch, batch_idx);
      return {};
    }
    if (what.find("branches") != std::string::npos) return loss_of_branch(batch, batch_idx);
    if (!norms.empty()) return loss_of_few(batch);
    const auto loss = loss_of(batch);
    const int64_t rank = run().comm().rank();
    if (what == "first_weighs_nothing" && rank == 0 && batch_idx == 0) return {loss, 0};
    if (what == "unequal_weights") return {loss, static_cast<double>(1 + 3 * rank + batch_idx % 3)};
    if (what == "lbfgs_by_hand") {
      optimizer().step([&] {
        optimizer().zero_grad();
        const auto again = loss_of(batch);
        manual_backward(again);
        return again;
      });
      return {};
    }
    if (what == "two_backwards" || what == "static_two_backwards") {
      optimizer().zero_grad();
      manual_backward(loss / 2);
      manual_backward(loss_of({batch.input() / 2, batch.target()}) / 2);
      optimizer().step();
      return {};
    }
    if (!automatic_optimization) {
      optimizer().zero_grad();
      manual_backward(loss);
      optimizer().step();
      return {};
    }
    return loss;
  }
  void validation_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    validated += loss_of(batch).item<double>();
  }
  void on_train_epoch_start(levin::Run& run) override {
    if (!unfreezes() || what == "unfreezes_before_the_save" || current_epoch() != 1) return;
    join(*run.optimizers()[0]);
  }
  void join(torch::optim::Optimizer& optimizer) {
    for (auto& parameter : body->parameters()) parameter.requires_grad_(true);
    levin::optim::add_param_group(optimizer,
                                  levin::optim::param_group(body->parameters(), levin::optim::AdamOptions{.lr = 0.02}));
  }
  /// A group that was added before the save exists from the start of the resumed run.
  void on_load_checkpoint(levin::Run&, const levin::State& checkpoint) override {
    joined = checkpoint.at("optimizer_states").items()[0].at("param_groups").size() == 2;
    levin::optim::take_row_counts(*this, checkpoint.at("state_dict"));
  }
  void on_train_batch_end(levin::Run& run) override {
    const bool before_the_save = what.find("before_the_save") != std::string::npos;
    if (what.rfind("rows", 0) == 0 && run.batch_idx() == (before_the_save ? 2 : 1)) change_rows(run.comm().rank());
    // In the second epoch, in the middle of a window of two.
    if (current_epoch() != 1 || run.batch_idx() != 2) return;
    if (unfreezes() && before_the_save) join(*run.optimizers()[0]);
    run.save_checkpoint(middle);
  }
  void change_rows(int64_t rank) const {
    if (what == "rows_on_one_rank" && rank == 1) return;
    const int64_t more = what == "rows_differ" ? rank : 0;
    levin::optim::append_rows(table, table.detach().narrow(0, 0, 1 + more) / 2);
  }
  bool by_lbfgs() const { return what.rfind("lbfgs", 0) == 0; }
  /// The ranks have taken the same way if they have the same bits.
  void on_train_end(levin::Run& run) override {
    run.save_checkpoint(middle.parent_path() / "end.ckpt");
    if (!by_lbfgs()) return;
    const auto own = torch::nn::utils::parameters_to_vector(parameters()).detach();
    for (const auto& one : run.comm().all_gather(own))
      if (!torch::equal(one, own)) throw std::runtime_error("the ranks have different weights");
  }
  levin::OptimizerConfig configure_optimizers() override {
    if (wide) std::cerr << (wide->weight.storage().data() == nullptr ? "wide is divided\n" : "wide is whole\n");
    std::vector<torch::Tensor> first = head->parameters();
    first.push_back(table);
    if (by_lbfgs())
      return levin::OptimizerConfig(
          levin::optim::LBFGS(parameters(), {.max_iter = 6, .line_search_fn = "strong_wolfe"}));
    if (what == "schedule_free")
      return levin::OptimizerConfig(levin::optim::ScheduleFreeAdamW(parameters(), {.lr = 0.05, .warmup_steps = 3}));
    if (what == "muon") return levin::OptimizerConfig(levin::optim::Muon(parameters(), {.lr = 0.02}));
    if (what == "gan")
      return {levin::optim::SGD(body->parameters(), {.lr = 0.05}), levin::optim::SGD(first, {.lr = 0.05})};
    if (what.rfind("sparse", 0) == 0) return levin::optim::SGD(parameters(), {.lr = 0.5});
    levin::optim::Adam optimizer(unfreezes() ? first : parameters(), {.lr = 0.05});
    if (joined) join(optimizer);
    return optimizer;
  }

  std::string what;
  bool joined = false;
  double validated = 0;  ///< losses of validations
  std::filesystem::path middle;
  torch::nn::Linear body = register_module("body", torch::nn::Linear(4, 5));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(5, 1));
  torch::nn::Linear wide{nullptr};
  std::vector<torch::nn::BatchNorm1d> norms;
  torch::nn::Embedding words{nullptr};
  torch::Tensor scale;
  torch::Tensor table = register_parameter("table", torch::ones({2, 4}) / 4);
};

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(1);
  const auto input = torch::randn({kSamples, 4}, torch::kDouble), target = input.sum(1, true);
  try {
    const int64_t ranks = std::stoll(argv[3]);
    const std::string what = argv[4];
    const bool by_hand =
        what == "gan" || what == "sparse_by_hand" || what == "two_backwards" || what == "static_two_backwards";
    levin::TrainerOptions options;
    options.accelerator = "cpu";
    options.devices = static_cast<int>(ranks);
    options.precision = "64-true";
    options.max_epochs = 3;
    options.accumulate_grad_batches =
        what == "unequal_weights" || what == "static_windows_of_2" || what == "norms_in_windows" ? 2
        : what == "static_windows_of_3"                                                          ? 3
                                                                                                 : 1;
    options.sync_batchnorm = ranks > 1 && what.rfind("norms", 0) == 0;
    const std::string strategy = argv[2];
    const bool unused = what == "branches" || what == "branches_without_a_loss" || what == "gan",
               is_static = ranks > 1 && what.find("static") != std::string::npos;
    if (strategy == "fsdp")
      options.strategy = {strategy, levin::FSDPOptions{.find_unused_parameters = unused}};
    else if (strategy == "ddp" || strategy == "zero1")
      options.strategy = {strategy, levin::DDPOptions{.find_unused_parameters = unused, .static_graph = is_static}};
    else
      options.strategy = strategy;
    options.gradient_clip_val =
        what == "unfreezes_by_hand" || what.rfind("lbfgs", 0) == 0 || by_hand || what.rfind("sparse", 0) == 0
            ? std::nullopt
            : std::optional<double>(0.5);
    options.timeout_seconds = 30;
    options.default_root_dir = argv[1];
    options.enable_progress_bar = options.enable_model_summary = options.enable_checkpointing = false;
    if (what == "reads_gradients" || what == "asks_for_gradients")
      options.callbacks.push_back(
          levin::LambdaCallback({.on_before_optimizer_step = [&](levin::Run& run, torch::optim::Optimizer& optimizer) {
            if (what == "asks_for_gradients") levin::gradients_of(run.module(), optimizer);
          }}));
    if (const auto code = levin::launch(options)) return *code;
    levin::Trainer trainer(options);
    Net net(what);
    net.automatic_optimization = what != "unfreezes_by_hand" && what != "lbfgs_by_hand" && !by_hand;
    net.middle = std::filesystem::path(argv[1]) / "middle.ckpt";
    const levin::data::DataLoader loader(levin::data::TensorDataset(input, target),
                                         {.batch_size = kGlobalBatch / ranks});
    const bool validates = what == "schedule_free";
    trainer.fit(net, loader, validates ? levin::data::Loaders(loader) : levin::data::Loaders(),
                argc > 5 ? argv[5] : "");
    const char* const rank = std::getenv("RANK");
    if (rank != nullptr && rank != std::string("0")) return 0;
    std::cout << std::setprecision(17);
    if (validates && argc <= 5) std::cout << net.validated << '\n';
    for (const auto& parameter : net.parameters())
      for (const double value :
           std::vector<double>(parameter.data_ptr<double>(), parameter.data_ptr<double>() + parameter.numel()))
        std::cout << value << '\n';
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 5;
  }
}
