// DQN on a cart-pole: a network learns the values of pushes from a replay buffer, with a target network.
//
//   example_dqn_replay --seed 1                solves it: a mean return of 475 over 20 episodes
//   example_dqn_replay --seed 1 --root runs    also saves checkpoints, and continues the newest to the bit
#include <levin/levin.h>

#include "examples/cartpole/cart_pole.h"
#include "examples/cartpole/program.h"

// In a round each cart makes 8 steps, then the network is updated 16 times.
constexpr int64_t kCarts = 32, kSteps = 8, kUpdates = 16;
constexpr int64_t kFirstSteps = 1000, kExploringSteps = 4000, kUnits = 32;

struct Transition {
  torch::Tensor observation, right, reward, next_observation, terminated, truncated;
  LEVIN_BATCH_FIELDS(Transition, observation, right, reward, next_observation, terminated, truncated)
};

torch::nn::Sequential new_net() {
  return torch::nn::Sequential(torch::nn::Linear(4, kUnits), torch::nn::ReLU(), torch::nn::Linear(kUnits, kUnits),
                               torch::nn::ReLU(), torch::nn::Linear(kUnits, 2));
}

struct Learner : levin::LightningModule {
  Learner() : net(register_module("net", new_net())), target(register_module("target", new_net())) { update_target(); }

  void update_target() {
    const torch::NoGradGuard no_grad;
    const std::vector<torch::Tensor> from = net->parameters(), to = target->parameters();
    for (size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i]);
  }
  torch::Tensor pushes_right(const torch::Tensor& observation) {
    const torch::Tensor values = net->forward(observation);
    return values.select(1, 1) > values.select(1, 0);
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto& drawn = batch.as<levin::data::ReplaySample<Transition>>();
    const Transition& transitions = drawn.transitions;
    torch::Tensor goal;
    {
      const torch::NoGradGuard no_grad;
      const torch::Tensor next_value = target->forward(transitions.next_observation).amax(1);
      goal = transitions.reward + drawn.discounts * torch::where(transitions.terminated, 0.0, next_value);
    }
    const torch::Tensor values = net->forward(transitions.observation).gather(1, transitions.right.unsqueeze(1));
    return torch::mse_loss(values.squeeze(1), goal);
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(net->parameters(), {.lr = 0.004});
  }

  torch::nn::Sequential net, target;
};

/// The state of the program that is not the session's: the carts, the rounds that were played, the newest mean return.
struct Player {
  explicit Player(int64_t seed_) : carts(kCarts, seed_), seed(seed_) {}

  int64_t steps() const { return rounds * kSteps * kCarts; }
  void play(Learner& learner, levin::data::ReplayBuffer<Transition>& replay) {
    const torch::NoGradGuard no_grad;
    levin::data::Rng rng(static_cast<uint64_t>(seed), /*epoch=*/rounds, /*index=*/0, /*stream=*/1);
    const double exploring = std::max(0.02, 1 - static_cast<double>(steps()) / kExploringSteps);
    for (int64_t step = 0; step < kSteps; ++step) {
      const torch::Tensor observation = carts.observations(), right = learner.pushes_right(observation);
      bool* pushes = right.mutable_data_ptr<bool>();
      for (int64_t i = 0; i < kCarts; ++i)
        if (rng.uniform() < exploring) pushes[i] = rng.uniform() < 0.5;
      const CartPoles::Outcome outcome = carts.step(right);
      replay.add({.observation = observation,
                  .right = right.to(torch::kLong),
                  .reward = torch::full({kCarts}, 0.1),  // small values are learned faster
                  .next_observation = outcome.observation,
                  .terminated = outcome.terminated,
                  .truncated = outcome.truncated});
    }
    ++rounds;
  }
  levin::State state_dict() const {
    return levin::State::dict({{"carts", carts.state_dict()}, {"rounds", rounds}, {"result", result}});
  }
  void load_state_dict(const levin::State& state) {
    carts.load_state_dict(state.at("carts"));
    rounds = state.at("rounds").to_int();
    result = state.at("result").to_double();
  }

  CartPoles carts;
  int64_t seed, rounds = 0;
  double result = 0;
};

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  torch::set_num_threads(1);
  levin::seed_everything(arguments.seed);
  Learner learner;
  Player player(arguments.seed);
  levin::data::ReplayBuffer<Transition> replay(
      {.capacity = 50'000, .n_step = 3, .gamma = 0.98, .seed = arguments.seed});

  levin::Trainer trainer(arguments.trainer_options("dqn_replay"));
  levin::Session session = trainer.start(learner, arguments.session_options());
  session.register_state("player", player);
  session.register_state("replay", replay);
  Stopwatch watch;
  while (player.result < arguments.target && player.steps() < arguments.steps) {
    player.play(learner, replay);
    if (player.steps() < kFirstSteps) continue;
    for (int64_t i = 0; i < kUpdates; ++i) session.step(replay.sample(64));
    if (player.rounds % 4 == 0) learner.update_target();
    if (player.steps() % 2048 == 0) {
      watch.stop();  // the time of evaluations does not count
      player.result =
          mean_return([&](const torch::Tensor& seen) { return learner.pushes_right(seen); }, player.steps());
      watch.go_on();
    }
    if (session.due_to_save()) session.save();
  }
  print_result("dqn", arguments.seed, watch.seconds(), player.steps(), player.result);
  session.finish();
}
