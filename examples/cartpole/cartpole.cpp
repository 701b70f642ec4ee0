// PPO on a cart-pole, without a data set: actors in threads play with the newest weights, a session learns from what
// they saw.
//
//   example_cartpole --seed 1                solves it: a mean return of 475 over 20 episodes
//   example_cartpole --seed 1 --root runs    also saves checkpoints, and continues the newest to the bit
#include <levin/levin.h>

#include <thread>

#include "cart_pole.h"
#include "program.h"

constexpr int64_t kActors = 2, kCarts = 64, kSteps = 16;  // threads, carts of each, steps of each cart in a rollout
constexpr double kGamma = 0.98, kClip = 0.2;

struct Step {
  torch::Tensor observation, direction, log_probability, reward, value, terminated, truncated, final_value;
  LEVIN_BATCH_FIELDS(Step, observation, direction, log_probability, reward, value, terminated, truncated, final_value)
};

struct Learner : levin::LightningModule {
  Learner()
      : net(register_module(
            "net", torch::nn::Sequential(torch::nn::Linear(4, 32), torch::nn::Tanh(), torch::nn::Linear(32, 32),
                                         torch::nn::Tanh(), torch::nn::Linear(32, 2)))) {
    const torch::NoGradGuard no_grad;
    net[4]->as<torch::nn::Linear>()->weight.mul_(0.1);  // begins with pushes at random
  }

  /// Returns the logit of a push to the right, and the value, [carts] each.
  std::pair<torch::Tensor, torch::Tensor> look_at(const torch::Tensor& observation) {
    const torch::Tensor out = net->forward(observation);
    return {out.select(1, 0), out.select(1, 1)};
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto& [steps, advantages, returns] = batch.as<levin::data::RolloutSample<Step>>();
    const auto [logit, value] = look_at(steps.observation);
    const torch::Tensor ratio = (torch::log_sigmoid(logit * steps.direction) - steps.log_probability).exp();
    const torch::Tensor gain = torch::min(ratio * advantages, ratio.clamp(1 - kClip, 1 + kClip) * advantages);
    return 0.5 * torch::mse_loss(value, returns) - gain.mean();
  }
  levin::OptimizerConfig configure_optimizers() override { return levin::optim::Adam(parameters(), {.lr = 0.003}); }

  torch::nn::Sequential net;
};

/// The carts of one thread.
struct Actor {
  void play(Learner& learner, levin::data::RolloutBuffer<Step>& rollout, levin::data::Rng rng, int64_t first_cart) {
    const torch::NoGradGuard no_grad;
    for (int64_t step = 0; step < kSteps; ++step) {
      const torch::Tensor observation = carts.observations(), random = torch::empty({kCarts});
      for (int64_t i = 0; i < kCarts; ++i) random.mutable_data_ptr<float>()[i] = static_cast<float>(rng.uniform());
      const auto [logit, value] = learner.look_at(observation);
      const torch::Tensor right = random < logit.sigmoid(), direction = right.to(torch::kFloat) * 2 - 1;
      const CartPoles::Outcome outcome = carts.step(right);
      rollout.add({.observation = observation,
                   .direction = direction,
                   .log_probability = torch::log_sigmoid(logit * direction),
                   .reward = torch::full({kCarts}, 1 - kGamma),  // values are then between 0 and 1
                   .value = value,
                   .terminated = outcome.terminated,
                   .truncated = outcome.truncated,
                   .final_value = learner.look_at(outcome.observation).second},
                  first_cart);
    }
    last_value = learner.look_at(carts.observations()).second;
  }

  CartPoles carts;
  torch::Tensor last_value = {};
};

/// The state of the program that is not the session's: the carts, the rollouts that were played, the newest mean
/// return.
struct Player {
  explicit Player(int64_t seed_) : seed(seed_) {
    for (int64_t i = 0; i < kActors; ++i) actors.push_back({CartPoles(kCarts, seed * kActors + i)});
  }

  int64_t steps() const { return rollouts * kSteps * kActors * kCarts; }
  void play(Learner& learner, levin::data::RolloutBuffer<Step>& rollout) {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < kActors; ++i)
      threads.emplace_back([&, i] {
        const levin::data::Rng rng(static_cast<uint64_t>(seed), /*epoch=*/rollouts, /*index=*/i, /*stream=*/1);
        actors[static_cast<size_t>(i)].play(learner, rollout, rng, i * kCarts);
      });
    for (std::thread& thread : threads) thread.join();
    std::vector<torch::Tensor> last_values;
    for (const Actor& actor : actors) last_values.push_back(actor.last_value);
    rollout.finish(torch::cat(last_values));
    ++rollouts;
  }
  levin::State state_dict() const {
    levin::State state = levin::State::dict({{"rollouts", rollouts}, {"result", result}});
    for (const Actor& actor : actors) state["carts"].push_back(actor.carts.state_dict());
    return state;
  }
  void load_state_dict(const levin::State& state) {
    rollouts = state.at("rollouts").to_int();
    result = state.at("result").to_double();
    for (size_t i = 0; i < actors.size(); ++i) actors[i].carts.load_state_dict(state.at("carts").items()[i]);
  }

  int64_t seed, rollouts = 0;
  double result = 0;
  std::vector<Actor> actors = {};
};

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  torch::set_num_threads(1);
  levin::seed_everything(arguments.seed);
  Learner learner;
  Player player(arguments.seed);
  levin::data::RolloutBuffer<Step> rollout({.steps = kSteps,
                                            .environments = kActors * kCarts,
                                            .batch_size = 1024,
                                            .passes = 5,
                                            .gamma = kGamma,
                                            .seed = arguments.seed});

  levin::Trainer trainer(arguments.trainer_options("cartpole"));
  levin::Session session = trainer.start(learner, arguments.session_options());
  session.register_state("player", player);
  session.register_state("rollout", rollout);
  Stopwatch watch;
  while (player.result < arguments.target && player.steps() < arguments.steps) {
    player.play(learner, rollout);
    while (rollout.is_ready()) session.step(rollout.next());
    watch.stop();  // the time of evaluations does not count
    player.result =
        mean_return([&](const torch::Tensor& seen) { return learner.look_at(seen).first > 0; }, player.steps());
    watch.go_on();
    if (session.due_to_save()) session.save();
  }
  print_result("ppo", arguments.seed, watch.seconds(), player.steps(), player.result);
  session.finish();
}
