// Boxes: formats, overlaps and non-maximum suppression.
#include <levin/modules/detection/boxes.h>
#include <ATen/ATen.h>
#include <levin/modules/detection/nms.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::UsageError;
using levin::nn::BoxFormat;
using levin::nn::nms;

namespace {

at::Tensor boxes(std::vector<double> numbers) { return at::tensor(numbers, at::kDouble).view({-1, 4}); }

at::Tensor random_boxes(int64_t count, const at::Generator& generator) {
  const at::Tensor corners = at::empty({count, 2}).uniform_(0, 40, generator);
  return at::cat({corners, corners + at::empty({count, 2}).uniform_(1, 25, generator)}, 1);
}

/// The IoU of two boxes, from the pixels of a fine grid that are in them.
double counted_iou(const at::Tensor& a, const at::Tensor& b) {
  const auto inside = [](const at::Tensor& box) {
    const at::Tensor at = (at::arange(640, at::kDouble) + 0.5) / 8;
    const auto covers = [&](int64_t low, int64_t high) { return (at > box[low]).logical_and(at < box[high]); };
    return covers(1, 3).unsqueeze(1).logical_and(covers(0, 2));
  };
  const at::Tensor in_a = inside(a), in_b = inside(b);
  return in_a.logical_and(in_b).sum().item<double>() / in_a.logical_or(in_b).sum().item<double>();
}

}  // namespace

TEST_CASE("boxes go from each format to each other and back") {
  const at::Tensor xyxy = boxes({1, 2, 5, 10, -3, 0, 4, 1}), xywh = boxes({1, 2, 4, 8, -3, 0, 7, 1}),
                   cxcywh = boxes({3, 6, 4, 8, 0.5, 0.5, 7, 1});
  const std::vector<std::pair<BoxFormat, at::Tensor>> all = {
      {BoxFormat::Xyxy, xyxy}, {BoxFormat::Xywh, xywh}, {BoxFormat::Cxcywh, cxcywh}};
  for (const auto& [from, given] : all)
    for (const auto& [to, wanted] : all) CHECK(at::equal(levin::nn::convert_boxes(given, from, to), wanted));
  CHECK(contains(
      error_text<UsageError>([&] { levin::nn::convert_boxes(at::zeros({2, 3}), BoxFormat::Xyxy, BoxFormat::Xywh); }),
      "boxes: expected [..., 4], got [2, 3]"));
}

TEST_CASE("the IoU is the share of pixels that two boxes have in common") {
  const at::Generator generator = at::detail::createCPUGenerator(4);
  const at::Tensor a = random_boxes(12, generator), b = random_boxes(9, generator);
  const at::Tensor ious = levin::nn::box_iou(a, b);
  REQUIRE(ious.sizes() == at::IntArrayRef({12, 9}));
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t k = 0; k < 9; ++k) CHECK(std::abs(ious[i][k].item<double>() - counted_iou(a[i], b[k])) < 0.02);
  CHECK(ious.max().item<double>() > 0.2);
  CHECK(levin::nn::box_iou(boxes({0, 0, 2, 2}), boxes({0, 0, 2, 2, 2, 0, 4, 2, 1, 0, 3, 2, 1, 1, 1, 1}))
            .equal(at::tensor({1.0, 0.0, 1.0 / 3, 0.0}, at::kDouble).view({1, 4})));
  CHECK(levin::nn::box_iou(boxes({1, 1, 1, 1}), boxes({1, 1, 1, 1})).item<double>() == 0);
}

TEST_CASE("the generalized IoU falls below 0 with the space between two boxes") {
  const auto giou = [](const at::Tensor& a, const at::Tensor& b) {
    return levin::nn::generalized_iou_of_pairs(a, b).item<double>();
  };
  const at::Tensor one = boxes({0, 0, 2, 2});
  CHECK(giou(one, one) == 1);
  CHECK(std::abs(giou(one, boxes({1, 0, 3, 2})) - 1.0 / 3) < 1e-12);  // the hull is their union
  CHECK(std::abs(giou(one, boxes({1, 1, 3, 3})) - (1.0 / 7 - 2.0 / 9)) < 1e-12);
  CHECK(std::abs(giou(one, boxes({4, 0, 6, 2})) - (0 - 4.0 / 12)) < 1e-12);
  at::Tensor apart = boxes({10, 10, 11, 11}).requires_grad_();
  levin::nn::generalized_iou_of_pairs(apart, one).sum().backward();
  CHECK(apart.grad().abs().max().item<double>() > 0);  // boxes that do not overlap still learn
}

TEST_CASE("suppression keeps the best of each crowd of alike boxes, class by class") {
  const at::Generator generator = at::detail::createCPUGenerator(9);
  for (const double threshold : {0.0, 0.3, 0.6}) {
    const at::Tensor all = random_boxes(80, generator), labels = at::randint(3, {80}, generator, at::kLong);
    const at::Tensor scores = at::randint(20, {80}, generator, at::kFloat) / 20;  // some are equal
    const at::Tensor kept = nms(all, scores, labels, threshold, 80);
    const at::Tensor ious = levin::nn::box_iou(all.to(at::kDouble), all.to(at::kDouble));
    // By definition: a box is kept if no better box of its class that is kept overlaps it.
    std::vector<int64_t> order(80), expected;
    for (int64_t i = 0; i < 80; ++i) order[static_cast<size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return scores[a].item<double>() > scores[b].item<double>(); });
    for (const int64_t i : order) {
      bool is_free = true;
      for (const int64_t other : expected)
        is_free = is_free && !(labels[i].equal(labels[other]) && ious[i][other].item<double>() > threshold);
      if (is_free) expected.push_back(i);
    }
    CHECK(at::equal(kept, at::tensor(expected, at::kLong)));
    CHECK(kept.size(0) < 80);
    CHECK(at::equal(nms(all, scores, labels, threshold, 5), kept.narrow(0, 0, 5)));
  }
  const at::Tensor none = nms(at::zeros({0, 4}), at::zeros({0}), at::zeros({0}, at::kLong), 0.5, 10);
  CHECK(none.sizes() == at::IntArrayRef({0}));
  const at::Tensor odd = at::tensor({std::nan(""), 0.5}, at::kFloat);
  CHECK(at::equal(nms(at::zeros({2, 4}), odd, at::zeros({2}, at::kLong), 0.5, 10), at::tensor({1}, at::kLong)));
  CHECK(contains(
      error_text<UsageError>([&] { nms(at::zeros({2, 4}), at::zeros({3}), at::zeros({2}, at::kLong), 0.5, 1); }),
      "nms: expected floating boxes [n, 4] and scores [n]"));
}
