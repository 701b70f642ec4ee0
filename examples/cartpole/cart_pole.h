#pragma once
// The cart-pole of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control
// problems", with the constants, the limits and the 500 steps of Gymnasium's CartPole-v1.
#include <levin/levin.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

/// One cart: position (m), velocity (m/s), angle of the pole (rad), its velocity (rad/s), and the steps of the episode.
struct CartPole {
  std::array<double, 4> state = {};
  int64_t steps = 0;

  void reset(levin::data::Rng& rng) {
    for (double& value : state) value = rng.uniform(-0.05, 0.05);
    steps = 0;
  }
  void push(bool right) {
    auto& [x, speed, angle, rate] = state;
    const double sine = std::sin(angle), cosine = std::cos(angle);
    const double push = ((right ? 10.0 : -10.0) + 0.05 * rate * rate * sine) / 1.1;
    const double turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
    const double acceleration = push - 0.05 * turn * cosine / 1.1;
    x += 0.02 * speed;
    speed += 0.02 * acceleration;
    angle += 0.02 * rate;
    rate += 0.02 * turn;
    ++steps;
  }
  bool has_fallen() const { return std::abs(state[0]) > 2.4 || std::abs(state[2]) > 12 * 2 * M_PI / 360; }
  bool is_out_of_time() const { return steps == 500; }
};

/// Several carts that are pushed together. Where an episode has ended, the next one begins.
class CartPoles {
 public:
  /// What a push of each cart led to: [carts, ...]. The reward of a push is 1.
  struct Outcome {
    torch::Tensor observation, terminated, truncated;  ///< the observation is the episode's own, even if it has ended
  };

  CartPoles(int64_t count, int64_t seed) : carts_(static_cast<size_t>(count)), episodes_(carts_.size()), seed_(seed) {
    for (size_t i = 0; i < carts_.size(); ++i) begin_episode(i);
  }

  int64_t size() const { return static_cast<int64_t>(carts_.size()); }
  /// float [carts, 4]: the states, angles and their velocities in units of 0.1 and 0.5, so that all are about as large.
  torch::Tensor observations() const {
    torch::Tensor all = torch::empty({size(), 4});
    float* out = all.mutable_data_ptr<float>();
    for (const CartPole& cart : carts_) {
      const auto& [x, speed, angle, rate] = cart.state;
      for (const double value : {x, speed, angle * 10, rate * 2}) *out++ = static_cast<float>(value);
    }
    return all;
  }
  /// `right`: bool [carts]
  Outcome step(const torch::Tensor& right) {
    Outcome outcome{.observation = {},
                    .terminated = torch::empty({size()}, torch::kBool),
                    .truncated = torch::empty({size()}, torch::kBool)};
    for (size_t i = 0; i < carts_.size(); ++i) {
      carts_[i].push(right.const_data_ptr<bool>()[i]);
      outcome.terminated.mutable_data_ptr<bool>()[i] = carts_[i].has_fallen();
      outcome.truncated.mutable_data_ptr<bool>()[i] = !carts_[i].has_fallen() && carts_[i].is_out_of_time();
    }
    outcome.observation = observations();
    for (size_t i = 0; i < carts_.size(); ++i)
      if (carts_[i].has_fallen() || carts_[i].is_out_of_time()) begin_episode(i);
    return outcome;
  }

  levin::State state_dict() const {
    torch::Tensor all = torch::empty({size(), 6}, torch::kDouble);
    double* out = all.mutable_data_ptr<double>();
    for (size_t i = 0; i < carts_.size(); ++i) {
      for (const double value : carts_[i].state) *out++ = value;
      *out++ = static_cast<double>(carts_[i].steps);
      *out++ = static_cast<double>(episodes_[i]);
    }
    return all;
  }
  void load_state_dict(const levin::State& state) {
    const double* in = state.to_tensor().const_data_ptr<double>();
    for (size_t i = 0; i < carts_.size(); ++i) {
      for (double& value : carts_[i].state) value = *in++;
      carts_[i].steps = static_cast<int64_t>(*in++);
      episodes_[i] = static_cast<int64_t>(*in++);
    }
  }

 private:
  void begin_episode(size_t i) {
    levin::data::Rng rng(static_cast<uint64_t>(seed_), episodes_[i]++, static_cast<int64_t>(i));
    carts_[i].reset(rng);
  }

  std::vector<CartPole> carts_;
  std::vector<int64_t> episodes_;
  int64_t seed_;
};

/// Returns the mean return of 20 episodes; `policy` gets observations [20, 4] and says which carts it pushes to the
/// right.
template <class Policy>
double mean_return(const Policy& policy, int64_t seed) {
  const torch::NoGradGuard no_grad;
  CartPoles carts(20, seed);
  torch::Tensor running = torch::ones({20}, torch::kBool), observation = carts.observations();
  int64_t pushes = 0;
  for (int64_t left = 20; left > 0; left = running.sum().item<int64_t>()) {
    pushes += left;
    const CartPoles::Outcome outcome = carts.step(policy(observation));
    running &= ~(outcome.terminated | outcome.truncated);
    observation = carts.observations();
  }
  return static_cast<double>(pushes) / 20;
}
