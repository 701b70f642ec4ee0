// A program that trains by a session in FOLDER, or continues what a killed process has left there: `session_program
// FOLDER`. A second thread reads the published weights meanwhile.
#include <levin/levin.h>

#include <atomic>
#include <functional>
#include <iostream>
#include <system_error>
#include <thread>

namespace {

struct Net : levin::LightningModule {
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    const torch::Tensor loss = torch::mse_loss(net->forward(batch.input()), batch.target());
    log("train_loss", loss);
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::Adam(parameters(), {.lr = 1e-2}); }
  torch::nn::Sequential net = register_module(
      "net", torch::nn::Sequential(torch::nn::Linear(4, 8), torch::nn::Dropout(0.1), torch::nn::Linear(8, 1)));
};

/// What the host measures; a session saves it as the host's state.
struct Measured {
  levin::Batch next() {
    const torch::Tensor input = torch::randn({8, 4}, random);
    return {input, input.sum(1, true)};
  }
  levin::State state_dict() const { return levin::State::dict({{"random", random.get_state()}}); }
  void load_state_dict(const levin::State& saved) { random.set_state(saved.at("random").to_tensor()); }
  torch::Generator random = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{5});
};

std::jthread start_reader(std::function<void()> function) try {
  return std::jthread(std::move(function));
} catch (const std::system_error& error) {
  throw std::runtime_error(std::string("no thread that reads weights can be started: ") + error.what());
}

void train(const std::string& folder) {
  levin::TrainerOptions options = levin::TrainerOptions::embedded();
  options.default_root_dir = folder;
  options.name = "run";
  options.seed = 3;
  options.max_steps = 60;
  options.log_every_n_steps = 2;
  options.enable_checkpointing = true;
  options.logger = options.print_warnings = true;
  options.callbacks = {levin::ModelCheckpoint({.save_last = true, .every_n_train_steps = 7})};
  levin::seed_everything(3);
  Measured measured;
  levin::Session session =
      levin::Trainer(options).start(std::make_shared<Net>(), {.ckpt_path = "last", .host_saves = true});
  session.register_state("measured", measured);
  std::atomic<bool> ends = false;
  const std::jthread reader = start_reader([&] {
    Net shown;
    while (!ends) {
      if (const levin::PublishedWeights weights = session.published(); !weights.empty()) weights.copy_to(shown);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const struct AtEnd {
    std::atomic<bool>& ends;
    ~AtEnd() { ends = true; }
  } at_end{ends};
  while (session.next()) {
    session.step(measured.next());
    session.publish();
    if (session.due_to_save()) session.save();
  }
  session.finish();
}

}  // namespace

int main(int, char** argv) try { train(argv[1]); } catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << std::endl;
  return 1;
}
