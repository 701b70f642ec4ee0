#include <levin/data/datasets/readers/detection_dataset.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/transforms/engine/image_batch.h>
#include <levin/data/transforms/engine/interpolate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace levin::data {
namespace {

constexpr const char* kFields[] = {"input", "boxes", "labels", "iscrowd", "area", "scale", "image_id"};

/// An image and its objects, of which transforms may leave some out.
struct ShownObjects {
  at::Tensor image = {};   ///< [1, 3, height, width]
  at::Tensor boxes = {};   ///< float32 [n, 4]
  at::Tensor places = {};  ///< int64 [n]: which objects of the image they are
};

at::Tensor read_checked(const CocoAnnotations::Image& image) {
  at::Tensor pixels = read_placed_image(image.path).unsqueeze(0).contiguous();
  const bool is_other =
      (image.height != 0 && image.height != pixels.size(2)) || (image.width != 0 && image.width != pixels.size(3));
  if (is_other)
    throw UsageError(image.path, ": the image is ", pixels.size(3), "x", pixels.size(2),
                     " pixels (width x height), but its annotations are for ", image.width, "x", image.height);
  return pixels;
}

ShownObjects shown_objects(const CocoAnnotations::Image& image) {
  const auto count = static_cast<int64_t>(image.objects.size());
  ShownObjects all{
      .image = read_checked(image), .boxes = at::empty({count, 4}), .places = at::empty({count}, at::kLong)};
  for (int64_t i = 0; i < count; ++i) {
    std::ranges::copy(image.objects[static_cast<size_t>(i)].box, all.boxes.mutable_data_ptr<float>() + 4 * i);
    all.places.mutable_data_ptr<int64_t>()[i] = i;
  }
  return all;
}

ShownObjects moved_objects(ShownObjects before, const Transform& transform, Rng& rng) {
  Batch one({{"input", before.image}, {"boxes", before.boxes}, {"labels", before.places}});
  transform(one, {&rng, 1});
  ShownObjects after{.image = one.input(), .boxes = one["boxes"].contiguous(), .places = one["labels"].contiguous()};
  const bool fits = after.image.dim() == 4 && after.image.size(0) == 1 && after.image.size(1) == 3 &&
                    after.image.size(2) > 0 && after.image.size(3) > 0 && after.boxes.dim() == 2 &&
                    after.boxes.size(0) == after.places.size(0);
  if (!fits)
    throw Error("Detection: a transform made ", describe(after.image), " and boxes ", after.boxes.sizes(),
                " of one image ", describe(before.image));
  return after;
}

}  // namespace

DetectionDataset::DetectionDataset(std::shared_ptr<const CocoAnnotations> annotations, DetectionDatasetOptions options)
    : annotations_(std::move(annotations)),
      options_(std::move(options)),
      most_(std::max<int64_t>(annotations_->most_objects(), 1)) {}

Batch DetectionDataset::empty_batch(int64_t samples, Batch& reused) const {
  const int64_t side = options_.image_size;
  Batch batch(reused.take_buffer("input", {samples, 3, side, side}, at::kFloat));
  batch.set("boxes", reused.take_buffer("boxes", {samples, most_, 4}, at::kFloat).zero_());
  batch.set("labels", reused.take_buffer("labels", {samples, most_}, at::kLong).fill_(-1));
  batch.set("iscrowd", reused.take_buffer("iscrowd", {samples, most_}, at::kBool).zero_());
  batch.set("area", reused.take_buffer("area", {samples, most_}, at::kFloat).zero_());
  batch.set("scale", reused.take_buffer("scale", {samples, 2}, at::kFloat));
  batch.set("image_id", reused.take_buffer("image_id", {samples}, at::kLong));
  return batch;
}

void DetectionDataset::write(int64_t index, Rng& rng, const Batch& batch, int64_t row) const {
  const CocoAnnotations::Image& image = annotations_->images[static_cast<size_t>(index)];
  ShownObjects one = shown_objects(image);
  if (options_.transform) one = moved_objects(std::move(one), *options_.transform, rng);

  const int64_t side = options_.image_size;
  const auto height = static_cast<double>(one.image.size(2)), width = static_cast<double>(one.image.size(3));
  std::array<int64_t, 2> size = {side, side};
  if (options_.resize == DetectionResize::Fit) {
    const double scale = static_cast<double>(side) / std::max(height, width);
    size = {std::max<int64_t>(std::lround(height * scale), 1), std::max<int64_t>(std::lround(width * scale), 1)};
  }
  at::Tensor resized = at::empty({1, 3, size[0], size[1]}, one.image.options());
  resize_into(resized, one.image, Interpolation::Bilinear, /*antialias=*/true);
  if (resized.scalar_type() == at::kByte) resized = resized.to(at::kFloat).div_(255);
  const at::Tensor input = batch.input()[row].zero_();
  input.narrow(1, 0, size[0])
      .narrow(2, 0, size[1])
      .copy_(normalize_numbers(resized, options_.mean, options_.stddev)[0]);

  const auto x = static_cast<float>(static_cast<double>(size[1]) / width),
             y = static_cast<float>(static_cast<double>(size[0]) / height);
  auto* const scale = batch["scale"].mutable_data_ptr<float>() + 2 * row;
  scale[0] = x;
  scale[1] = y;
  batch["image_id"].mutable_data_ptr<int64_t>()[row] = image.id;
  float* box = batch["boxes"].mutable_data_ptr<float>() + 4 * row * most_;
  int64_t slot = row * most_;
  for (int64_t i = 0; i < one.boxes.size(0); ++i) {
    const float* const from = one.boxes.const_data_ptr<float>() + 4 * i;
    const double area = static_cast<double>(from[2] - from[0]) * static_cast<double>(from[3] - from[1]);
    if (options_.transform && area < options_.min_box_area) continue;
    const CocoObject& object = image.objects.at(static_cast<size_t>(one.places.const_data_ptr<int64_t>()[i]));
    box = std::ranges::copy(std::array{from[0] * x, from[1] * y, from[2] * x, from[3] * y}, box).out;
    batch["labels"].mutable_data_ptr<int64_t>()[slot] = object.label;
    batch["iscrowd"].mutable_data_ptr<bool>()[slot] = object.is_crowd;
    batch["area"].mutable_data_ptr<float>()[slot++] = object.area;
  }
}

Batch DetectionDataset::get(int64_t index, Rng& rng) const {
  Batch none;
  const Batch batch = empty_batch(1, none);
  write(index, rng, batch, 0);
  std::vector<Batch::Item> items;
  for (const char* name : kFields) items.emplace_back(name, batch[name][0]);
  return Batch(std::move(items));
}

void DetectionDataset::get_batch(const Indices& indices, Batch& out) const {
  const Batch batch = empty_batch(indices.size(), out);
  for (int64_t i = 0; i < indices.size(); ++i) {
    Rng rng = indices.rng(indices[i]);
    write(indices[i], rng, batch, i);
  }
  out = batch;
}

}  // namespace levin::data
