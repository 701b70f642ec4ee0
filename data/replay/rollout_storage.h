#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/state/state.h>
#include <levin/data/replay/field_store.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace levin::data {

struct RolloutOptions {
  int64_t steps = 128;               ///< of each environment
  int64_t environments = 1;          ///< whose steps are kept apart
  int64_t batch_size = 64;           ///< steps of a minibatch; the last one of a pass may have fewer
  int64_t passes = 10;               ///< over all steps, each in a new order
  double gamma = 0.99;               ///< the discount of a step, in [0, 1]
  double gae_lambda = 0.95;          ///< in [0, 1]; 1: returns without bootstrapping inside the rollout
  bool normalize_advantages = true;  ///< the advantages of a rollout get mean 0 and standard deviation 1
  int64_t seed = 0;
  c10::Device device = at::kCPU;  ///< where the steps are kept and minibatches are
};

/// A minibatch of a RolloutStorage.
struct DrawnSteps {
  FieldList fields = {};
  at::Tensor advantages = {}, returns = {};
};

/// What data::RolloutBuffer is made of, for named tensors.
class RolloutStorage {
 public:
  /// `names` of the tensors in all batches; empty: the first batch defines them.
  RolloutStorage(RolloutOptions options, std::vector<std::string> names);

  void add(const FieldList& steps, int64_t first_environment);
  bool is_full() const;
  void finish(const at::Tensor& last_values);
  bool is_ready() const;
  DrawnSteps next();
  const RolloutOptions& options() const { return options_; }
  State state_dict() const;
  void load_state_dict(const State& state);

 private:
  int64_t rows() const { return options_.steps * options_.environments; }
  bool has_all_steps() const;
  /// Returns a field as double [steps, environments] on the CPU; undefined if there is no such field.
  at::Tensor values(const char* name, bool is_needed) const;
  void shuffle();

  const RolloutOptions options_;
  mutable std::mutex mutex_ = {};
  FieldStore store_;
  std::vector<int64_t> filled_;      ///< steps of each environment
  bool is_ready_ = false;            ///< minibatches are left
  int64_t pass_ = 0, position_ = 0;  ///< of the next minibatch; position: in steps
  int64_t seed_, orders_ = 0;        ///< orders: drawn so far
  at::Tensor order_ = {}, advantages_ = {}, returns_ = {};
};

}  // namespace levin::data
