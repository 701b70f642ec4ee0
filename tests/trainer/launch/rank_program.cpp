// A user's program that trains on two ranks: `rank_program FOLDER BEHAVIOUR`. Rank 1 has the behaviour, or for
// dies_in_checkpoint the rank that writes. A rank dies once: in the second epoch, or for dies_before_saving in the
// first.
#include <levin/core/state/atomic_file.h>
#include <levin/levin.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

namespace {

std::filesystem::path death_certificate;
bool dies_while_writing = false;

bool has_died() { return std::filesystem::exists(death_certificate); }

void die_once() {
  if (has_died()) return;
  std::ofstream(death_certificate) << "dead";
  ::raise(SIGKILL);
}

int die_while_writing(const char* stage) {
  if (dies_while_writing && stage == std::string("write")) die_once();
  return 0;
}

struct Net : levin::LightningModule {
  explicit Net(std::string behaviour_) : behaviour(std::move(behaviour_)) {
    if (behaviour == "other_shapes" && std::getenv("RANK") == std::string("1"))
      head = replace_module("head", torch::nn::Linear(4, 2));
    register_metric("error", error);
  }

  levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
    const bool second = run().comm().rank() == 1;
    const bool dies = current_epoch() == 1 && batch_idx == 2 && second;
    if (dies && behaviour == "dies_in_forward") die_once();
    if (second && batch_idx == 2) {
      if (behaviour == "dies_before_saving") die_once();
      if (behaviour == "throws" || behaviour == "throws_with_hooks")
        throw std::runtime_error("the second rank has had enough");
      while (behaviour == "hangs") std::this_thread::sleep_for(std::chrono::seconds(1));
      if (behaviour == "leaves") std::exit(0);
      if (behaviour == "returns_nothing") return {};
    }
    if (behaviour == "ignores" && batch_idx == 2) ignore_signals();
    if (second && behaviour == "logs_another") log("only_here", 7.0);
    const auto output = head(batch.input());
    if (dies && behaviour == "dies_in_backward")
      output.register_hook([](const torch::Tensor& gradient) {
        die_once();
        return gradient;
      });
    log("rank_loss", torch::mse_loss(output, batch.target()), {.on_epoch = true});
    const auto loss = torch::mse_loss(output, batch.target());
    if (behaviour == "unused") return loss;
    return loss + 0 * (spare->weight.sum() + spare->bias.sum());
  }
  void validation_step(const levin::Batch& batch, int64_t) override {
    if (behaviour == "dies_in_validation" && current_epoch() == 1 && run().comm().rank() == 1) die_once();
    const auto output = head(batch.input());
    error(output, batch.target());
    log("val_error", error);
    seen += batch.size();
  }
  /// Calls collectives, although the other ranks do not know of the exception.
  void on_exception(levin::Run& run, const std::exception&) override {
    if (behaviour != "throws_with_hooks" || run.comm().rank() != 1) return;
    std::cerr << "rank_loss is known: " << run.metric("rank_loss").has_value() << std::endl;
    try {
      run.comm().barrier();
    } catch (const levin::Error& refused) {
      std::cerr << refused.what() << std::endl;
    }
  }
  /// Ignores signals: only SIGKILL ends the rank after this call.
  static void ignore_signals() {
    for (const int number : {SIGTERM, SIGINT, SIGQUIT}) ::signal(number, SIG_IGN);
    std::ofstream(death_certificate.parent_path() / ("ignores_" + std::string(std::getenv("RANK")))) << "so it is";
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  void on_train_batch_end(levin::Run& run) override {
    if (behaviour == "dies_in_collective" && current_epoch() == 1 && run.batch_idx() == 2 && !has_died())
      wait_together(run);
    if (behaviour == "dies_in_checkpoint" && current_epoch() == 1 && run.comm().rank() == 0) {
      while (!std::filesystem::exists(run.checkpoint_folder() / "last.ckpt")) std::this_thread::yield();
      dies_while_writing = true;  // the second checkpoint
    }
    if (behaviour == "stops" && run.comm().rank() == 1 && run.batch_idx() == 2) run.request_stop("rank 1 asked");
  }
  /// Rank 1 waits for the other in a barrier, and dies there; the other comes too late.
  static void wait_together(levin::Run& run) {
    std::thread killer;
    const auto& ranks = dynamic_cast<const levin::ProcessGroup&>(run.comm());
    if (ranks.rank() == 1)
      killer = std::thread([&] {
        while (ranks.newest_calls().find("barrier: did not end") == std::string::npos) std::this_thread::yield();
        die_once();
      });
    else
      while (!has_died()) std::this_thread::yield();
    run.comm().barrier();
    if (killer.joinable()) killer.join();
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }

  std::string behaviour;
  levin::metrics::MeanSquaredError error;
  int64_t seen = 0;
  torch::nn::Linear head = register_module("head", torch::nn::Linear(4, 1));
  torch::nn::Linear spare = register_module("spare", torch::nn::Linear(2, 2));
};

}  // namespace

int main(int, char** argv) {
  torch::manual_seed(1);
  const auto input = torch::randn({70, 4}), target = input.sum(1, true);
  try {
    levin::TrainerOptions options;
    options.strategy = "ddp";
    options.accelerator = "cpu";
    options.devices = 2;
    options.max_epochs = 2;
    options.log_every_n_steps = 1;
    options.timeout_seconds = argv[2] == std::string("hangs") ? 3 : 30;
    options.default_root_dir = argv[1];
    options.enable_progress_bar = options.enable_model_summary = false;
    options.num_sanity_val_steps = 0;
    options.max_restarts = std::string(argv[2]).rfind("dies", 0) == 0 ? 1 : 0;
    if (argv[2] == std::string("throws_with_hooks"))
      options.callbacks = {
          levin::ModelCheckpoint({.filename = "best", .monitor = "rank_loss", .save_on_exception = true})};
    death_certificate = std::filesystem::path(argv[1]) / "died";
    levin::set_file_stage_hook(die_while_writing);
    if (const auto code = levin::launch(options)) return *code;
    levin::Trainer trainer(options);
    Net net(argv[2]);
    const auto loader = [&](int64_t rows) {
      return levin::data::DataLoader(levin::data::TensorDataset(input.narrow(0, 0, rows), target.narrow(0, 0, rows)),
                                     {.batch_size = 8});
    };
    // 17 samples in rounds of 16: in the second round one rank has one, the other none.
    const levin::RunResult result = trainer.fit(net, loader(70), loader(17));
    std::cout << "rank " << std::getenv("RANK") << ": " << result.status << " " << result.stop_reason << " after "
              << result.global_step << " steps, val_error " << result.metrics.at("val_error") << ", saw " << net.seen
              << " for validation, ends at " << std::hexfloat << net.head->weight.sum().item<double>() << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 5;
  }
}
