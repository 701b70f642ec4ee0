#include <levin/data/datasets/readers/image_list_dataset.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <utility>

namespace levin::data {
namespace {

std::vector<double> per_channel(const OneOrMore<double>& values, int64_t channels, const char* option) {
  if (values.size() <= 1)
    return std::vector<double>(values.empty() ? 0 : static_cast<size_t>(channels), values.empty() ? 0 : values[0]);
  if (static_cast<int64_t>(values.size()) == channels) return values.values;
  throw UsageError("data.", option, ": has ", values.size(), " numbers for images of ", channels,
                   channels == 1 ? " channel; set one number" : " channels; set one number, or one for each");
}

/// Copies one sample's tensor into its row of the batch's, which the first sample makes.
void put_row(Batch& out, at::Tensor& buffer, const char* name, const at::Tensor& value, int64_t row, int64_t rows,
             const std::string& path) {
  if (!buffer.defined()) {
    std::vector<int64_t> shape = value.sizes().vec();
    shape.insert(shape.begin(), rows);
    buffer = out.take_buffer(name, shape, value.scalar_type());
  }
  if (value.sizes() != buffer.sizes().slice(1) || value.scalar_type() != buffer.scalar_type())
    throw UsageError(path, ": the image is ", value.scalar_type(), " ", value.sizes(), ", but those before it in the ",
                     "batch are ", buffer.scalar_type(), " ", buffer.sizes().slice(1),
                     "; set data.image_size, or transforms that give all one size and type");
  buffer[row].copy_(value);
}

}  // namespace

ImageInputs ImageInputs::of(const ImageInputOptions& options, ImageResize resize) {
  ImageInputs inputs{.channels = options.channels,
                     .keep_16_bits = options.keep_16_bits,
                     .mean = per_channel(options.mean, options.channels, "mean"),
                     .stddev = per_channel(options.std, options.channels, "std"),
                     .on_error = options.on_error};
  if (options.channels == 2) throw UsageError("data.channels: 1 or 3, got 2");
  if (inputs.mean.empty() != inputs.stddev.empty())
    throw UsageError("data.mean: give both data.mean and data.std, or neither of them");
  if (options.image_size.empty()) return inputs;
  const auto [height, width] = height_and_width(options.image_size, "data.image_size");
  inputs.shape = {.resize = resize,
                  .side = height,
                  .resized = height,
                  .interpolation = options.interpolation,
                  .width = width == height ? 0 : width};
  return inputs;
}

RawInput ImageInputs::raw_input() const {
  if (!shape) throw UsageError("data.image_size: is [], so that the images have no size; set it to one");
  RawInput raw = LearnedImages{.mean = mean, .stddev = stddev}.raw_input(channels, shape->side,
                                                                         shape->width > 0 ? shape->width : shape->side);
  raw.prepare = [normalize = std::move(raw.prepare), shape = *shape](const Batch& images) {
    Batch fitted = images;
    fitted.set("input", square_images(images.input(), shape));
    return normalize(fitted);
  };
  return raw;
}

ImageListDataset::ImageListDataset(std::shared_ptr<const ImageList> list, ImageInputs inputs, TransformPtr transform)
    : list_(std::move(list)),
      inputs_(std::move(inputs)),
      transform_(std::move(transform)),
      skipped_(std::make_shared<std::atomic<int64_t>>(0)) {
  if (!inputs_.mean.empty()) normalize_ = std::make_shared<const NormalizeBytes>(inputs_.mean, inputs_.stddev);
}

Batch ImageListDataset::read(size_t at) const {
  const ImageOptions options{.channels = inputs_.channels,
                             .values = inputs_.keep_16_bits ? PixelValues::Numbers : PixelValues::Bytes};
  Batch one(read_placed_image(list_->paths[at], options).unsqueeze(0));
  if (list_->masks.empty()) return one;
  const at::Tensor mask = read_class_mask(list_->masks[at], inputs_.masks);
  if (mask.sizes() != one.input().sizes().slice(2))
    throw UsageError(list_->masks[at], ": this mask has ", mask.size(1), " x ", mask.size(0), " pixels, and its image ",
                     list_->paths[at], " has ", one.input().size(3), " x ", one.input().size(2));
  one.set("mask", mask.unsqueeze(0));
  return one;
}

Batch ImageListDataset::fitted(Batch one) const {
  if (!inputs_.shape) return one;
  one.set("input", square_images(one.input(), *inputs_.shape));
  if (!one.contains("mask")) return one;
  SquareShape shape = *inputs_.shape;
  shape.interpolation = Interpolation::Nearest;
  // Classes of 16 bits are exact in float32.
  one.set("mask", square_images(one["mask"].unsqueeze(1).to(at::kFloat), shape).squeeze(1).to(at::kLong));
  return one;
}

void ImageListDataset::change(Batch& one, Rng& rng) const {
  one.set("input", one.input().contiguous());
  if (transform_) (*transform_)(one, {&rng, 1});
  const at::Tensor& input = one.input();
  const bool is_one = input.dim() == 4 && input.size(0) == 1 && (!normalize_ || input.size(1) == inputs_.channels);
  if (!is_one) throw Error("transforms: made ", describe(input), " of one image");
  const bool fits = list_->masks.empty() || (one.contains("mask") && one["mask"].dim() == 3 &&
                                             one["mask"].sizes().slice(1) == input.sizes().slice(2));
  if (!fits) throw Error("transforms: made a mask of another size than that of its image, ", describe(input));
  if (normalize_) (*normalize_)(one, {});
}

Batch ImageListDataset::sample(int64_t index, Rng& rng) const {
  const auto at = static_cast<size_t>(index);
  Batch one = fitted(read(at));
  change(one, rng);
  const at::Tensor target = !list_->masks.empty()      ? one["mask"][0]
                            : list_->targets.defined() ? list_->targets[index]
                                                       : at::Tensor();
  return {one.input()[0], target};
}

std::optional<Batch> ImageListDataset::sample_or_skip(int64_t index, Rng& rng, std::string& first_cause) const {
  if (inputs_.on_error == ImageErrors::Raise) return sample(index, rng);
  try {
    return sample(index, rng);
  } catch (const UsageError& error) {
    if (first_cause.empty()) first_cause = error.what();
    if (skipped_->fetch_add(1) == 0)
      console::warn(std::string(error.what()) + " (left out, as on_error says; more such images are only counted)");
    return {};
  }
}

Batch ImageListDataset::get(int64_t index, Rng& rng) const { return sample(index, rng); }

void ImageListDataset::get_batch(const Indices& indices, Batch& out) const {
  at::Tensor input, target;
  int64_t filled = 0;
  std::string first_cause;
  for (const int64_t index : indices) {
    Rng rng = indices.rng(index);
    const std::optional<Batch> one = sample_or_skip(index, rng, first_cause);
    if (!one) continue;
    const std::string& path = list_->paths[static_cast<size_t>(index)];
    put_row(out, input, "input", one->input(), filled, indices.size(), path);
    if (one->contains("target")) put_row(out, target, "target", one->target(), filled, indices.size(), path);
    ++filled;
  }
  if (filled == 0)
    throw UsageError(first_cause, " (nor can any other of the ", indices.size(), " images of its batch)");
  out = Batch(input.narrow(0, 0, filled), target.defined() ? target.narrow(0, 0, filled) : target);
}

}  // namespace levin::data
