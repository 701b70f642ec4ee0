#pragma once
#include <levin/core/options/option.h>
#include <levin/core/state/state.h>
#include <levin/modules/adapters/base_format.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace levin {
namespace adapters {
class LowRankAdapter;
}

struct LoRAOptions {
  std::string folder = LEVIN_OPTION(
      folder, "",
      "Folder of an adapter in PEFT's format, from which training continues; the other options are then its own");
  int64_t rank = LEVIN_OPTION(rank, 8, "Rank of the adapters' two factors", {.min = 1});
  double alpha =
      LEVIN_OPTION(alpha, 16, "What an adapter computes is multiplied by alpha / rank", {.exclusive_min = 0});
  bool rslora = LEVIN_OPTION(rslora, false, "Multiply by alpha / sqrt(rank) in place of alpha / rank");
  double dropout = LEVIN_OPTION(dropout, 0, "Share of an adapter's inputs that training sets to zero",
                                {.min = 0, .exclusive_max = 1});
  std::vector<std::string> targets = LEVIN_OPTION(
      targets, {"all-linear"},
      "Linear layers that get an adapter, by the end of their names (q_proj) or a pattern of the whole name "
      "(*.layers.[0-3].*.q_proj); all-linear: all but the last one, of a network in C++");
  std::vector<std::string> train = LEVIN_OPTION(
      train, {}, "Parts that are trained whole, by the end of their names or a pattern: a new head, embeddings, norms");
  bool dora = LEVIN_OPTION(
      dora, false, "Train the norms of the weights' rows apart from their directions, which the factors change: DoRA");
  Choice<BaseFormat> base = LEVIN_OPTION(
      base, BaseFormat::AsGiven,
      "How the adapted layers' frozen weights are held: nf4, 4 bits and a scale for 64 of them (QLoRA); int8, with a "
      "scale for each row; bfloat16; as_given, as the module has them");
  bool double_quant =
      LEVIN_OPTION(double_quant, false, "With nf4: hold the scales in 8 bits, with a scale for 256 of them");
  bool fan_in_fan_out = LEVIN_OPTION(
      fan_in_fan_out, false, "The layers' weights are stored as [in, out], as GPT-2's are in a script or a program");
};

/// Freezes the parameters of `module` and gives the target layers adapters, which are trained in their place: low-rank
/// adaptation (LoRA). The code of the module stays as it is: layers of C++ (torch::nn::Linear, those of
/// levin::parallel, and others that call at::linear with a parameter `weight`), those of a ScriptModule, and those of a
/// ProgramModule. Returns the names of the adapted layers.
///
/// An adapter's factors are parameters of the layer, in float32, with PEFT's names: `<layer>.lora_A.weight` [rank, in]
/// and `<layer>.lora_B.weight` [out, rank]. B starts as zeros, so that the module computes the same as before. Call it
/// before the optimizer is made, and `attach_adapters` after something has replaced the memory of weights, as
/// strategies do; moves by `to` need nothing.
///
/// With `dora`, `<layer>.lora_magnitude_vector.weight` [out] are the norms of the rows of the layer's weight with the
/// adapter in it, at first those of the weight (PEFT's files name it without `.weight`).
///
/// With a `base` other than as_given the layers' frozen weights are held in this form and read some rows at a time: the
/// gradients are those of a network whose weights are the values that the codes stand for. A layer's parameter `weight`
/// is then a tensor of bytes (bfloat16: of bfloat16), which checkpoints hold as it is; its rows and columns are not its
/// sizes any more. Other operations than linear ones cannot use such a weight. merge_adapters makes floats of it.
///
/// With `folder` it does what load_adapter does, and other options than `base` and `double_quant` do not count.
///
/// Throws levin::UsageError for a target that names nothing or something that is no linear layer, for layers that are
/// divided among tensor-parallel ranks, and for a layer that has an adapter.
/// Source: Hu et al. 2021, "LoRA: Low-Rank Adaptation of Large Language Models"; rslora: Kalajdzievski 2023, "A Rank
/// Stabilization Scaling Factor for Fine-Tuning with LoRA"; dora: Liu et al. 2024; base: Dettmers et al. 2023, "QLoRA:
/// Efficient Finetuning of Quantized LLMs".
std::vector<std::string> add_lora(torch::nn::Module& module, const LoRAOptions& options = {});

/// An adapted layer of a module.
struct AdaptedLayer {
  std::string name = {};  ///< of the layer in the module
  std::shared_ptr<torch::nn::Module> layer = {};
  at::Tensor weight = {};  ///< the layer's frozen weight, in the form in which it is held
  std::shared_ptr<adapters::LowRankAdapter> adapter = {};
};

/// Returns the layers of `module` that have an adapter, in the module's order.
std::vector<AdaptedLayer> adapted_layers(const torch::nn::Module& module);

/// Makes the adapters of `module` take part again, after the memory of its weights was replaced.
void attach_adapters(const torch::nn::Module& module);

/// Adds what the adapters compute to the layers' weights, and takes the adapters away; the module then computes the
/// same, up to rounding, without them. The parameters stay frozen.
void merge_adapters(torch::nn::Module& module);

/// Returns the state dict of `module` as it would be after merge_adapters; the module stays as it is. What an adapter
/// changes is a copy, all else shares the module's memory.
State merged_state_dict(const torch::nn::Module& module);

}  // namespace levin
