#pragma once
#include <ATen/core/Tensor.h>
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {
namespace nn {

/// The four numbers of a box: two corners; a corner, width and height; or the centre, width and height.
enum class BoxFormat : uint8_t { Xyxy, Xywh, Cxcywh };

}  // namespace nn

template <>
inline constexpr auto kWords<nn::BoxFormat> = words_of<nn::BoxFormat>(
    {{"xyxy", nn::BoxFormat::Xyxy}, {"xywh", nn::BoxFormat::Xywh}, {"cxcywh", nn::BoxFormat::Cxcywh}});

namespace nn {

/// Returns boxes [..., 4] in another format, with the names of torchvision's box_convert.
at::Tensor convert_boxes(const at::Tensor& boxes, BoxFormat from, BoxFormat to);

/// Returns the areas [...] of boxes xyxy [..., 4]; 0 where a corner lies before the other.
at::Tensor box_area(const at::Tensor& boxes);

/// Returns the intersection over union of each box of `a` [n, 4] with each of `b` [m, 4], both xyxy and floating:
/// [n, m], 0 for two boxes without area.
at::Tensor box_iou(const at::Tensor& a, const at::Tensor& b);

/// Returns the generalized IoU of boxes `a` and `b`, xyxy of one shape [..., 4], pair by pair: [...], from -1 to 1.
/// Source: Rezatofighi et al. 2019, "Generalized Intersection over Union", algorithm 1.
at::Tensor generalized_iou_of_pairs(const at::Tensor& a, const at::Tensor& b);

/// Returns boxes xyxy [..., 4] cut to an image of this height and width.
at::Tensor clip_boxes(const at::Tensor& boxes, int64_t height, int64_t width);

}  // namespace nn
}  // namespace levin
