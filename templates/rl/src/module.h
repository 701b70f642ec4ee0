#pragma once
#include <levin/data/batch_fields.h>
#include <levin/data/rollout.h>
#include <levin/lightning.h>

#include <utility>

#include "environment.h"

/// What the agent keeps of a step of each cart: [carts, ...].
struct Step {
  torch::Tensor observation, direction, log_probability, reward, value, terminated, truncated, final_value;
  LEVIN_BATCH_FIELDS(Step, observation, direction, log_probability, reward, value, terminated, truncated, final_value)
};

/// Learns by proximal policy optimization (Schulman et al., 2017) to keep the poles up. An epoch is one rollout. Logs
/// `mean_steps`, the steps of the last rollout for each episode that ended in it: the longer the poles stay up, the
/// more.
class Agent : public levin::LightningModule {
 public:
  struct Options {
    int64_t carts = LEVIN_OPTION(carts, 32, "Carts that play together", {.min = 1});
    int64_t steps = LEVIN_OPTION(steps, 64, "Steps of each cart in a rollout", {.min = 1});
    int64_t hidden = LEVIN_OPTION(hidden, 32, "Units of each of the two hidden layers", {.min = 1});
    int64_t play_seed = LEVIN_OPTION(play_seed, 1, "Seed of the carts and of the pushes");
    double gamma = LEVIN_OPTION(gamma, 0.98, "Discount of a step", {.min = 0, .max = 1});
    double clip = LEVIN_OPTION(clip, 0.2, "How far the policy may move from the one that played", {.min = 0});
    double lr = LEVIN_OPTION(lr, 3e-3, "Learning rate", {.min = 0});
  };
  explicit Agent(Options given)
      : options(given),
        carts(given.carts, given.play_seed),
        rollout({.steps = given.steps,
                 .environments = given.carts,
                 .batch_size = 512,
                 .passes = 5,
                 .gamma = given.gamma,
                 .seed = given.play_seed}) {
    namespace nn = torch::nn;
    net = register_module("net", nn::Sequential(nn::Linear(Carts::kObservation, options.hidden),
                                                nn::Functional(torch::tanh), nn::Linear(options.hidden, options.hidden),
                                                nn::Functional(torch::tanh), nn::Linear(options.hidden, 2)));
    save_hyperparameters(options);
  }

  /// Returns the logit of a push to the right, and the value: [carts] each, of observations [carts, 4].
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& observation) {
    const torch::Tensor out = net->forward(observation.to(net->parameters()[0].device()));
    return {out.select(1, 0), out.select(1, 1)};
  }

  levin::data::Loaders train_dataloader() override {
    return rollout.loader([this] { play(); });
  }
  levin::StepOutput training_step(const levin::Batch& batch, int64_t /*batch_idx*/) override {
    const auto& [steps, advantages, returns] = batch.as<levin::data::RolloutSample<Step>>();
    const auto [logit, value] = forward(steps.observation);
    const torch::Tensor ratio = (torch::log_sigmoid(logit * steps.direction) - steps.log_probability).exp();
    const torch::Tensor clipped = ratio.clamp(1 - options.clip, 1 + options.clip);
    const torch::Tensor gain = torch::min(ratio * advantages, clipped * advantages).mean();
    const torch::Tensor loss = 0.5 * torch::mse_loss(value, returns) - gain;
    log("train_loss", loss);
    log("mean_steps", torch::tensor(mean_steps), {.prog_bar = true});
    return loss;
  }
  levin::OptimizerConfig configure_optimizers() override {
    return levin::optim::Adam(parameters(), {.lr = options.lr});
  }

  void on_save_checkpoint(levin::Run& /*run*/, levin::State& checkpoint) override {
    checkpoint["carts"] = carts.state_dict();
    checkpoint["rollout"] = rollout.state_dict();
    checkpoint["played"] = levin::State::dict({{"rollouts", rollouts}, {"mean_steps", mean_steps}});
  }
  void on_load_checkpoint(levin::Run& /*run*/, const levin::State& checkpoint) override {
    carts.load_state_dict(checkpoint.at("carts"));
    rollout.load_state_dict(checkpoint.at("rollout"));
    rollouts = checkpoint.at("played").at("rollouts").to_int();
    mean_steps = checkpoint.at("played").at("mean_steps").to_double();
  }

  Options options;
  torch::nn::Sequential net = {};
  Carts carts;
  levin::data::RolloutBuffer<Step> rollout;
  int64_t rollouts = 0;
  double mean_steps = 0;

 private:
  /// Plays one rollout with the newest weights. Pushes depend on (play_seed, rollouts) alone.
  void play() {
    const torch::NoGradGuard no_grad;
    levin::data::Rng random(static_cast<uint64_t>(options.play_seed), rollouts++, /*index=*/0, /*stream=*/1);
    int64_t ended = 0;
    for (int64_t step = 0; step < options.steps; ++step) {
      const torch::Tensor observation = carts.observations(), drawn = torch::empty({carts.size()});
      float* out = drawn.mutable_data_ptr<float>();
      for (int64_t i = 0; i < carts.size(); ++i) out[i] = static_cast<float>(random.uniform());
      const auto [logit, value] = look(observation);
      const torch::Tensor right = drawn < logit.sigmoid(), direction = right.to(torch::kFloat) * 2 - 1;
      const Carts::Outcome outcome = carts.step(right);
      ended += (outcome.fell | outcome.out_of_time).sum().item<int64_t>();
      rollout.add({.observation = observation,
                   .direction = direction,
                   .log_probability = torch::log_sigmoid(logit * direction),
                   .reward = torch::full({carts.size()}, 1 - options.gamma),  // values are then between 0 and 1
                   .value = value,
                   .terminated = outcome.fell,
                   .truncated = outcome.out_of_time,
                   .final_value = look(outcome.observation).second});
    }
    rollout.finish(look(carts.observations()).second);
    mean_steps = static_cast<double>(options.steps * carts.size()) / static_cast<double>(std::max<int64_t>(ended, 1));
  }
  std::pair<torch::Tensor, torch::Tensor> look(const torch::Tensor& observation) {
    const auto [logit, value] = forward(observation);
    return {logit.cpu(), value.cpu()};
  }
};
