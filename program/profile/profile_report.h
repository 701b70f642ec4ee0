#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// One option with its value before and after.
struct ProfileChange {
  std::string path = {};                        ///< "data.num_workers", "trainer.callbacks[0].every_n_train_steps"
  std::string before = "null", after = "null";  ///< JSON
};

/// What a change alters besides the speed.
enum class ProfileEffect {
  None,     ///< nothing, beyond rounding
  Output,   ///< logs, checkpoints, validation, what callbacks do
  Learning  ///< what the module learns
};

/// Something that holds the run back.
struct ProfileAdvice {
  std::string cause = {};                   ///< "data loading"
  std::string change = {};                  ///< "data.num_workers 0 -> 2", or what else to do
  std::vector<ProfileChange> changes = {};  ///< empty if no option does it
  ProfileEffect effect = ProfileEffect::None;
  double gain = 1;           ///< samples per second with the change, over those without: the median of the pairs
  double low = 1, high = 1;  ///< 95 % confidence interval
  int64_t pairs = 0;
  bool by_cpu_time = false;  ///< the gain is in CPU time; the clock was too noisy
  bool is_limit = false;     ///< measured with the whole part left out: no change of it can gain more
  std::string note = {};     ///< more about the cause
};

/// Something in the code of a step that costs time, with the place.
struct ProfileTrap {
  std::string name = {};   ///< "the batch is copied in the step"
  std::string where = {};  ///< "lit.cpp:41, LitNet::training_step"; empty if the stack does not tell
  double calls_per_step = 0;
  double gain = 1;  ///< without it, from the time that it takes; 1 if that was not measured
  std::string what_to_do = {};
};

/// What the machine can do, measured in main memory or on the run's device.
struct ProfileMachine {
  double matmul_flops = 0;             ///< of a float32 matrix product, per second
  double memory_bytes_per_second = 0;  ///< read and written by a copy
};

/// The least time of a step on this machine, if nothing but what must be done took time.
struct ProfileFloor {
  double product_seconds = 0;  ///< matrix products, each measured alone at its shape
  double memory_seconds = 0;   ///< what the optimizer reads and writes, at the rate of a copy
  double rank_seconds = 0;     ///< gradients that the ranks exchange, at that rate

  double seconds() const { return product_seconds + memory_seconds + rank_seconds; }
};

struct ProfileReport {
  int64_t steps = 0;              ///< train batches of a trial
  double samples_per_second = 0;  ///< of the unchanged config, median
  double step_seconds = 0;
  double cpu_seconds = 0;     ///< CPU time per batch, of all threads
  double flops_per_step = 0;  ///< of matrix products, convolutions and attention; all ranks' own
  ProfileMachine machine = {};
  ProfileFloor floor = {};
  std::vector<ProfileAdvice> advice = {};  ///< the largest gain first; those that alter learning come last
  std::optional<double> together = {};     ///< gain of all advice that has options and leaves learning as it is
  std::vector<ProfileTrap> traps = {};
  std::vector<std::string> without_gain = {};  ///< what was tried
  std::vector<std::string> failed = {};        ///< changes that do not train, with the reason
  int64_t trials = 0;

  bool is_clean() const { return advice.empty() && traps.empty(); }
  std::string to_text() const;
  std::string to_json() const;
};

}  // namespace levin
