#pragma once
// The cart-pole of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning control
// problems", with 500 steps at most in an episode.
#include <levin/core/state/state.h>
#include <levin/data/rng.h>
#include <torch/types.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

/// Several carts that are pushed together. Where an episode has ended, the next one begins.
class Carts {
 public:
  static constexpr int64_t kObservation = 4;

  /// What a push of each cart led to: bool [carts] each.
  struct Outcome {
    torch::Tensor fell, out_of_time;
    torch::Tensor observation;  ///< float [carts, 4]: of the episode that has ended, where one has
  };

  Carts(int64_t count, int64_t seed) : carts_(static_cast<size_t>(count)), seed_(seed) {
    for (size_t i = 0; i < carts_.size(); ++i) begin(i);
  }

  int64_t size() const { return static_cast<int64_t>(carts_.size()); }
  /// Returns float [carts, 4]: position, speed, angle and its speed, all about as large.
  torch::Tensor observations() const {
    const torch::Tensor all = torch::empty({size(), kObservation});
    float* out = all.mutable_data_ptr<float>();
    for (const Cart& cart : carts_)
      for (const double value : {cart.place, cart.speed, cart.angle * 10, cart.turn * 2})
        *out++ = static_cast<float>(value);
    return all;
  }
  /// Pushes each cart to the right or the left; `right`: bool [carts] on the CPU.
  Outcome step(const torch::Tensor& right) {
    Outcome outcome{.fell = torch::empty({size()}, torch::kBool),
                    .out_of_time = torch::empty({size()}, torch::kBool),
                    .observation = {}};
    for (size_t i = 0; i < carts_.size(); ++i) {
      push(carts_[i], right.const_data_ptr<bool>()[i]);
      outcome.fell.mutable_data_ptr<bool>()[i] = has_fallen(carts_[i]);
      outcome.out_of_time.mutable_data_ptr<bool>()[i] = !has_fallen(carts_[i]) && carts_[i].steps >= 500;
    }
    outcome.observation = observations();
    for (size_t i = 0; i < carts_.size(); ++i)
      if (has_fallen(carts_[i]) || carts_[i].steps >= 500) begin(i);
    return outcome;
  }

  levin::State state_dict() const {
    const torch::Tensor all = torch::empty({size(), 6}, torch::kDouble);
    double* out = all.mutable_data_ptr<double>();
    for (const Cart& cart : carts_)
      for (const double value : {cart.place, cart.speed, cart.angle, cart.turn, cart.steps, cart.episode})
        *out++ = value;
    return all;
  }
  void load_state_dict(const levin::State& state) {
    const torch::Tensor all = state.to_tensor().contiguous();
    const double* in = all.const_data_ptr<double>();
    for (Cart& cart : carts_)
      for (double* value : {&cart.place, &cart.speed, &cart.angle, &cart.turn, &cart.steps, &cart.episode})
        *value = *in++;
  }

 private:
  struct Cart {
    double place = 0, speed = 0, angle = 0, turn = 0;  ///< m, m/s, rad, rad/s
    double steps = 0, episode = 0;
  };

  static bool has_fallen(const Cart& cart) {
    return std::abs(cart.place) > 2.4 || std::abs(cart.angle) > std::numbers::pi / 15;
  }
  static void push(Cart& cart, bool right) {
    const double sine = std::sin(cart.angle), cosine = std::cos(cart.angle);
    const double push = ((right ? 10.0 : -10.0) + 0.05 * cart.turn * cart.turn * sine) / 1.1;
    const double turning = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1));
    const double acceleration = push - 0.05 * turning * cosine / 1.1;
    cart.place += 0.02 * cart.speed;
    cart.speed += 0.02 * acceleration;
    cart.angle += 0.02 * cart.turn;
    cart.turn += 0.02 * turning;
    cart.steps += 1;
  }
  void begin(size_t i) {
    Cart& cart = carts_[i];
    levin::data::Rng random(static_cast<uint64_t>(seed_), static_cast<int64_t>(cart.episode), static_cast<int64_t>(i));
    cart = {.place = random.uniform(-0.05, 0.05),
            .speed = random.uniform(-0.05, 0.05),
            .angle = random.uniform(-0.05, 0.05),
            .turn = random.uniform(-0.05, 0.05),
            .steps = 0,
            .episode = cart.episode + 1};
  }

  std::vector<Cart> carts_;
  int64_t seed_;
};
