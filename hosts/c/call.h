#pragma once
#include <levin/hosts/c/arrays.h>
#include <levin/hosts/c/handles.h>
#include <levin/hosts/c/model.h>
#include <levin/modules/lightning_module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace levin::c {

/// An evaluation of a module whose graph is kept until the host knows the gradients of its loss.
class Call {
 public:
  /// Where a call's function runs: in a session's precision, say.
  using Context = std::function<void(const std::function<void()>& function)>;
  /// What is asked for, besides the inputs.
  struct Asked {
    const char* function = nullptr;  ///< null: "forward" if the module exports it, else predict_step
    int32_t wanted = 0;              ///< LEVIN_INPUT_GRADIENTS, LEVIN_WEIGHT_GRADIENTS
    bool is_for_step = false;        ///< the graph is kept for a step's backward, which computes the weights' gradients
  };
  Call(const Model& model, const levin_array* inputs, size_t count, const Asked& asked, const Context& context);

  const Results& outputs() const { return outputs_; }
  /// Takes the gradients of the outputs. Throws levin::UsageError for other shapes, and at the second time.
  void backward(const levin_array* gradients, size_t count);
  const Results& input_gradients() const { return after_backward(input_gradients_); }
  const Results& weight_gradients() const { return after_backward(weight_gradients_); }

  /// Returns whether backward has a gradient to give to what the outputs depend on. Throws as `surrogate_loss` does.
  bool has_loss() const;
  /// Returns what has the gradient of the outputs times their gradients, in float32 or more: its backward adds the
  /// host's gradients to the weights'. Throws levin::UsageError before `backward`, and at the second time.
  at::Tensor surrogate_loss();
  const LightningModule* module() const { return module_.get(); }

 private:
  const Results& after_backward(const Results& results) const;
  /// Returns whether the host has given a gradient of this output, and the output depends on something that takes it.
  bool takes_gradient(size_t output) const;
  at::Tensor gradient_for(size_t output, const levin_array& gradient) const;
  /// Puts in the place of each tensor that requires one its gradient, by those of the outputs, and nothing in the place
  /// of the others.
  void take_gradients(NamedTensors& inputs, NamedTensors& weights) const;

  std::shared_ptr<LightningModule> module_;
  bool has_divided_weights_;
  int32_t wanted_;
  bool is_for_step_;
  NamedTensors inputs_ = {};
  std::vector<at::Tensor> graph_outputs_ = {}, gradients_ = {};
  Results outputs_ = {}, input_gradients_ = {}, weight_gradients_ = {};
  bool has_gradients_ = false, is_used_ = false;
};

using Calls = Handles<levin_call, Call>;
Calls& calls();

}  // namespace levin::c
