#pragma once
#include <levin/core/state/state.h>
#include <levin/data/batch.h>
#include <levin/data/rng.h>
#include <torch/types.h>

#include <cmath>

/// A pendulum that swings and is pushed at random.
class Pendulum {
 public:
  explicit Pendulum(int64_t seed) : seed_(seed) {}

  /// Returns states of 16 moments and what they became a tenth of a second later: angle and speed, float [16, 2].
  levin::Batch measure() {
    levin::data::Rng random(static_cast<uint64_t>(seed_), /*epoch=*/measured_++, /*index=*/0);
    const torch::Tensor before = torch::empty({16, 2}), after = torch::empty({16, 2});
    float *from = before.mutable_data_ptr<float>(), *to = after.mutable_data_ptr<float>();
    for (int64_t i = 0; i < 16; ++i) {
      *from++ = static_cast<float>(angle_);
      *from++ = static_cast<float>(speed_);
      angle_ += 0.1 * speed_;
      speed_ += -0.1 * std::sin(angle_) - 0.005 * speed_ + random.normal(0, 0.02);
      *to++ = static_cast<float>(angle_);
      *to++ = static_cast<float>(speed_);
    }
    return {before, after};
  }

  levin::State state_dict() const {
    return levin::State::dict({{"measured", measured_}, {"angle", angle_}, {"speed", speed_}});
  }
  void load_state_dict(const levin::State& state) {
    measured_ = state.at("measured").to_int();
    angle_ = state.at("angle").to_double();
    speed_ = state.at("speed").to_double();
  }

 private:
  int64_t seed_, measured_ = 0;
  double angle_ = 1, speed_ = 0;
};
