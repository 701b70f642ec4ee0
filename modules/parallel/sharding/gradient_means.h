#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/state/state.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace levin::parallel {

/// Mean gradients that the ranks of an earlier session have saved in parts (ShardedModule::gradient_means), for another
/// number of ranks, too: the sum over all ranks stays as it was.
class GradientMeans {
 public:
  /// `of_ranks`: what each rank has saved; some may be none. The tensors stay those of the states.
  GradientMeans(const std::vector<State>& of_ranks, int64_t world_size);

  bool empty() const { return parts_.empty(); }
  bool contains(const std::string& name) const { return parts_.contains(name); }
  /// Copies the elements from `begin` on, in memory order, of a parameter's mean gradient to `values`, 1-dimensional.
  void copy_to(const std::string& name, int64_t begin, const at::Tensor& values) const;

 private:
  struct Part {
    int64_t begin = 0;
    at::Tensor values = {};
  };
  std::map<std::string, std::vector<Part>> parts_ = {};
  double scale_ = 1;  ///< from means over the ranks of then to means over those of now
};

/// Returns a part for GradientMeans, of a parameter whose first element in it is `begin`.
State gradient_part(int64_t begin, const at::Tensor& values);

}  // namespace levin::parallel
