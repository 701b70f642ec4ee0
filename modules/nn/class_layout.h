#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>
#include <levin/modules/lightning_module.h>

#include <cstdint>
#include <utility>

namespace levin {

/// The dimension of an output that counts the classes.
enum class ClassDimension : uint8_t {
  Auto,    ///< the one that fits the target
  Second,  ///< [samples, classes, ...], as torch.nn.CrossEntropyLoss takes it
  Last     ///< [samples, ..., classes], as models of tokens make it
};
template <>
inline constexpr auto kWords<ClassDimension> = words_of<ClassDimension>(
    {{"auto", ClassDimension::Auto}, {"second", ClassDimension::Second}, {"last", ClassDimension::Last}});

/// Returns an output whose classes are in its last dimension as [values, classes], and its target as [values] (or
/// [values, classes], of probabilities); both as they are if the classes are in dimension 1. Throws levin::UsageError
/// if `dimension` is Auto and both fit.
std::pair<at::Tensor, at::Tensor> with_classes_second(const at::Tensor& output, const at::Tensor& target,
                                                      ClassDimension dimension);

/// How often the class with the largest number is the target.
struct ClassHits {
  at::Tensor share = {};  ///< float32 []; 0 if no target counts
  int64_t counted = 0;    ///< targets that are not ignored (-100)
};
/// `output` [values, classes, ...], and `target` its classes. Waits for the device if the output has more than two
/// dimensions or `has_ignored` is set.
ClassHits count_class_hits(const at::Tensor& output, const at::Tensor& target, bool has_ignored);

/// Returns the loss of a training step with its weight: the number of targets that are not ignored, so that the batches
/// of several ranks or of an accumulation window train as one batch. If a batch is a whole step, the loss comes alone
/// on a GPU, where reading the number waits for the device and a captured step has none, and in a step that is
/// recorded, whose optimizer may be compiled with it.
StepOutput weighed_by_targets(const LightningModule& module, const at::Tensor& loss, const at::Tensor& target);

}  // namespace levin
