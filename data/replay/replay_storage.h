#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <levin/core/state/state.h>
#include <levin/data/replay/field_store.h>
#include <levin/data/replay/sum_tree.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

struct ReplayOptions {
  int64_t capacity = 100'000;  ///< transitions that are kept; a new one then replaces the oldest
  /// Steps of the returns that `sample` gives. More than 1 needs the tensors `reward` and `terminated`.
  int64_t n_step = 1;
  double gamma = 0.99;       ///< the discount of a step, in [0, 1]
  bool prioritized = false;  ///< draw in proportion to priority^alpha; otherwise all alike
  double alpha = 0.6;        ///< at least 0
  double beta = 0.4;         ///< exponent of the importance weights, in [0, 1]; `set_beta` changes it
  int64_t seed = 0;
  c10::Device device = at::kCPU;  ///< where the transitions are kept and samples are
};

/// Transitions drawn from a ReplayStorage.
struct DrawnTransitions {
  FieldList fields = {};
  at::Tensor indices = {}, weights = {}, discounts = {};
};

/// What data::ReplayBuffer is made of, for named tensors.
class ReplayStorage {
 public:
  /// `names` of the tensors in all batches; empty: the first batch defines them.
  ReplayStorage(ReplayOptions options, std::vector<std::string> names);

  void add(const FieldList& transitions, int64_t first_stream);
  DrawnTransitions sample(int64_t count);
  void update_priorities(const at::Tensor& indices, const at::Tensor& priorities);
  void set_beta(double beta);
  int64_t size() const;
  int64_t added() const;
  const ReplayOptions& options() const { return options_; }
  State state_dict() const;
  void load_state_dict(const State& state);

 private:
  /// The tensors that n-step returns read, by position; -1: there is none.
  struct ReturnFields {
    int64_t reward = -1, terminated = -1, truncated = -1;
    std::vector<bool> is_of_last_step = {};
  };

  int64_t row_of(int64_t number) const { return number % options_.capacity; }
  int64_t oldest() const { return added_ - kept(); }
  int64_t kept() const { return std::min(added_, options_.capacity); }
  bool is_kept(int64_t number) const { return number >= oldest() && number < added_; }
  void find_return_fields();
  void link(const FieldList& transitions, int64_t first_stream);
  void draw(at::Tensor& numbers, at::Tensor& weights);
  /// Replaces what depends on the steps that follow: rewards, discounts, and the tensors of the last step.
  void take_returns(const at::Tensor& numbers, DrawnTransitions& drawn) const;

  const ReplayOptions options_;
  mutable std::mutex mutex_ = {};
  FieldStore store_;
  int64_t added_ = 0, draws_ = 0, seed_;  ///< transition i has the number i, from 0, and is in the row i % capacity
  std::optional<ReturnFields> return_fields_ = {};
  std::vector<int64_t> follower_ = {};  ///< by row: the number of the next transition of the same episode, or -1
  std::vector<double> rewards_ = {};    ///< by row
  std::vector<int64_t> newest_ = {};  ///< by stream: the number of the newest transition; -1 at an episode's beginning
  std::optional<SumTree> priorities_ = {};
  double largest_priority_ = 1, beta_;
};

}  // namespace levin::data
