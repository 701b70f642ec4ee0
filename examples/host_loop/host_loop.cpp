// An application with a loop of events, and two models that train in threads of their own, each with its own seed. The
// loop shows progress, pauses and resumes a model, and reads published weights.
//
//     example_host_loop FOLDER    trains, or continues what a killed process has left in FOLDER
//     example_host_loop           starts itself: unbroken; killed twice and continued. Both end with the same bits
#include <levin/core/system/private_folder.h>
#include <levin/levin.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// What the application measures: a pendulum that is pushed at random. Sessions save it as the host's state.
class Pendulum {
 public:
  explicit Pendulum(int64_t seed)
      : random_(torch::make_generator<torch::CPUGeneratorImpl>(static_cast<uint64_t>(seed))) {}
  /// States of 16 moments, and what they became.
  levin::Batch measure() {
    const torch::Tensor before = torch::empty({16, 2}), after = torch::empty({16, 2});
    for (int i = 0; i < 16; ++i) {
      before[i] = state_;
      const auto angle = state_[0],
                 speed = state_[1] * 0.98 - 0.1 * torch::sin(angle) + 0.1 * torch::randn({}, random_);
      state_ = torch::stack({angle + 0.1 * speed, speed});
      after[i] = state_;
    }
    return {before, after};
  }
  levin::State state_dict() const { return levin::State::dict({{"state", state_}, {"random", random_.get_state()}}); }
  void load_state_dict(const levin::State& saved) {
    state_ = saved.at("state").to_tensor().clone();
    random_.set_state(saved.at("random").to_tensor());
  }

 private:
  torch::Tensor state_ = torch::zeros({2});
  torch::Generator random_;
};

struct Predictor : levin::LightningModule {
  torch::Tensor forward(const torch::Tensor& state) { return state + net->forward(state); }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t) override {
    return torch::mse_loss(forward(batch.input()), batch.target());
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::Adam(parameters(), {.lr = 1e-3}); }
  torch::nn::Sequential net =
      register_module("net", torch::nn::Sequential(torch::nn::Linear(2, 32), torch::nn::Tanh(), torch::nn::Dropout(0.1),
                                                   torch::nn::Linear(32, 2)));
};

/// One model and the thread that trains it.
class Worker {
 public:
  Worker(const fs::path& folder, const std::string& name, int64_t seed)
      : pendulum_(seed), session_(start(folder, name, seed)) {
    session_.register_state("pendulum", pendulum_);
    thread_ = std::jthread([this] { train(); });
  }
  levin::Session& session() { return session_; }

 private:
  static levin::Session start(const fs::path& folder, const std::string& name, int64_t seed) {
    levin::TrainerOptions options = levin::TrainerOptions::embedded();
    options.default_root_dir = folder.string();
    options.name = name;
    options.seed = seed;
    options.max_steps = 400;
    options.enable_checkpointing = true;
    options.callbacks = {levin::ModelCheckpoint({.save_last = true, .every_n_train_steps = 20})};
    levin::seed_everything(seed);  // the first weights
    return levin::Trainer(options).start(std::make_shared<Predictor>(), {.ckpt_path = "last", .host_saves = true});
  }
  void train() {
    at::set_num_threads(1);
    while (session_.next()) {
      session_.step(pendulum_.measure());
      if (session_.state().batches % 10 == 0) session_.publish();
      if (session_.due_to_save()) session_.save();  // here the pendulum fits the weights
    }
    session_.finish();
  }

  Pendulum pendulum_;
  levin::Session session_;
  std::jthread thread_;  // joins when the worker goes
};

int run_application(const fs::path& folder) {
  Worker first(folder, "first", 1), second(folder, "second", 2);
  Predictor shown;
  for (int64_t event = 0; !first.session().state().is_over || !second.session().state().is_over; ++event) {
    if (event == 3) first.session().pause();
    if (event == 6) first.session().resume();
    std::cout << "first: " << first.session().state().global_step << " steps";
    if (const levin::PublishedWeights weights = second.session().published(); !weights.empty()) {
      weights.copy_to(shown);
      shown.eval();
      std::cout << ", second after " << weights.global_step() << ": falls to "
                << shown.forward(torch::ones({1, 2}))[0][0].item<float>();
    }
    std::cout << std::endl;
    std::this_thread::sleep_for(20ms);
  }
  return 0;
}

/// Starts this program with a folder and kills it after a time, unless that is 0; returns what waitpid says.
int run_child(const fs::path& folder, std::chrono::milliseconds kill_after) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/proc/self/exe", "host_loop", folder.c_str(), nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(kill_after);
  if (kill_after > 0ms) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) return run_application(argv[1]);
  const levin::PrivateFolder folder("example_host_loop");
  const auto weights_of = [&](const char* run, const char* model) {
    for (const auto& version : fs::directory_iterator(folder / run / model))
      if (std::ifstream in(version.path() / "weights.pt", std::ios::binary); in)
        return std::string(std::istreambuf_iterator<char>(in), {});
    return std::string();
  };
  if (run_child(folder / "unbroken", 0ms) != 0) return 1;
  for (const auto moment : {900ms, 1300ms}) run_child(folder / "killed", moment);
  if (run_child(folder / "killed", 0ms) != 0) return 1;
  for (const char* model : {"first", "second"}) {
    const std::string expected = weights_of("unbroken", model);
    if (expected.empty() || weights_of("killed", model) != expected) return 1;
  }
  std::cout << "both models end with the same bits as without the kills" << std::endl;
}
