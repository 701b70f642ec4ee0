#pragma once
#include <torch/nn/module.h>

#include <utility>
#include <vector>

namespace levin {

/// Which parts of a module are in training mode, to put them back. The module must outlive the object and keep its
/// parts.
class TrainingModes {
 public:
  /// Remembers the modes as they are.
  explicit TrainingModes(torch::nn::Module& module);
  /// Remembers the modes as they are now.
  void remember();
  void restore() const;
  /// Returns whether a part was training.
  bool has_training_part() const;

 private:
  std::vector<std::pair<torch::nn::Module*, bool>> parts_ = {};  ///< each before those below it
};

/// Puts a module into eval mode; the destructor restores the mode of each part.
class EvalMode {
 public:
  explicit EvalMode(torch::nn::Module& module) : modes_(module) { module.eval(); }
  ~EvalMode() { modes_.restore(); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  TrainingModes modes_;
};

}  // namespace levin
