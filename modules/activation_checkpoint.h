#pragma once
#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace torch::nn {
class Module;
}

namespace levin {

/// Computes `function(inputs)` and keeps only the inputs: backward computes it again for the activations that it needs,
/// with the same random numbers and in the same autocast. Memory for time: a chain of such parts keeps the activations
/// of one part.
///
/// `function` reads parameters as members and must give the same in both runs: BatchNorm in training would count a
/// batch twice. Gradients are those of the plain call, to the bit. Where no gradient is recorded it is the plain call.
/// Double backward is not supported. Source: https://pytorch.org/docs/stable/checkpoint.html
std::vector<at::Tensor> checkpoint(
    const std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& inputs);
at::Tensor checkpoint(const std::function<at::Tensor(const at::Tensor&)>& function, const at::Tensor& input);

/// Marks a part of a model whose activations may be computed again: a module derives from it too, and its forward is
///
///     at::Tensor forward(const at::Tensor& x) {
///       return checkpointed([this](const at::Tensor& input) { return compute(input); }, x);
///     }
///
/// It does so where the trainer's activation_checkpointing, or the program, says so.
class Checkpointable {
 public:
  bool checkpoint_activations = false;

 protected:
  ~Checkpointable() = default;
  at::Tensor checkpointed(const std::function<at::Tensor(const at::Tensor&)>& forward, const at::Tensor& input) const {
    return checkpoint_activations ? checkpoint(forward, input) : forward(input);
  }
};

/// Switches all marked parts of a module; says how many there are.
size_t set_checkpoint_activations(torch::nn::Module& module, bool on);
/// Switches the marked parts of `replica`, a module of the same structure, as those of `original`.
void copy_checkpoint_activations(const torch::nn::Module& original, torch::nn::Module& replica);

}  // namespace levin
