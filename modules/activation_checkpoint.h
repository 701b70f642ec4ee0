#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

/// Activation checkpointing: computes `function(inputs)` and stores only the inputs. Backward recomputes the function
/// to get its activations, with the same random numbers and autocast state. This trades time for memory: a chain of
/// checkpointed parts holds the activations of one part at a time.
///
/// `function` accesses parameters as members and must compute the same result in both runs (BatchNorm in training mode
/// would count a batch twice). Gradients are bitwise equal to those of the plain call. If gradients are not recorded,
/// this is a plain call. Double backward is not supported. Source: https://pytorch.org/docs/stable/checkpoint.html
std::vector<at::Tensor> checkpoint(
    const std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& inputs);
at::Tensor checkpoint(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& input);

/// Marks a part of a model whose activations may be recomputed. The module also derives from this class, and its
/// forward is
///
///     at::Tensor forward(const at::Tensor& x) {
///       return checkpointed([this](const at::Tensor& input) { return compute(input); }, x);
///     }
///
/// Checkpointing is on if the trainer's activation_checkpointing or the program sets `checkpoint_activations`.
class Checkpointable {
 public:
  bool checkpoint_activations = false;

 protected:
  ~Checkpointable() = default;
  at::Tensor checkpointed(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& input) const {
    return checkpoint_activations ? checkpoint(forward, input) : forward(input);
  }
};

/// Switches checkpointing on or off in all marked parts of a module; returns the number of marked parts.
size_t set_checkpoint_activations(torch::nn::Module& module, bool on);
/// Copies the switches of the marked parts of `original` to `replica`, a module of the same structure.
void copy_checkpoint_activations(const torch::nn::Module& original, torch::nn::Module& replica);

}  // namespace levin
