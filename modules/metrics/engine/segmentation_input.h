#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace metrics {

/// What segmentations hold: a mask of each class, the number of a class at each place, or one of them each.
enum class SegmentationFormat : uint8_t { OneHot, Index, Mixed };

}  // namespace metrics

template <>
inline constexpr auto kWords<metrics::SegmentationFormat> =
    words_of<metrics::SegmentationFormat>({{"one-hot", metrics::SegmentationFormat::OneHot},
                                           {"index", metrics::SegmentationFormat::Index},
                                           {"mixed", metrics::SegmentationFormat::Mixed}});

namespace metrics {

/// Predicted and true places of each class: bool [batch, classes, places].
struct SegmentationMasks {
  at::Tensor preds = {}, target = {};
};

/// How the segmentations of a metric are read.
struct SegmentationTask {
  const char* metric = "";  ///< the metric's name, for error messages
  int64_t num_classes = 1;  ///< the background, class 0, included
  bool include_background = true;
  SegmentationFormat format = SegmentationFormat::OneHot;

  /// Returns the number of classes that count.
  int64_t counted() const { return num_classes - (include_background ? 0 : 1); }
};

/// Throws levin::UsageError unless a class is left that counts.
void check(const SegmentationTask& task);

/// Converts integers or bool, one-hot [batch, classes, ...] or indices [batch, ...], to masks; an index beyond the
/// classes belongs to none. Throws levin::UsageError for other shapes and dtypes.
SegmentationMasks to_masks(const SegmentationTask& task, const at::Tensor& preds, const at::Tensor& target);

}  // namespace metrics
}  // namespace levin
