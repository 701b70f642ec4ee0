#include <levin/data/datasets/readers/image_folder_dataset.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/normalized_images.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/datasets/readers/square_images.h>

#include <atomic>
#include <utility>

namespace levin::data {
namespace {

constexpr int64_t kChannels = 3;
constexpr int64_t kBytes = 256;

std::vector<double> of_channels(const OneOrMore<double>& values, const char* option) {
  if (values.size() == 1) return std::vector<double>(kChannels, values[0]);
  if (values.size() == kChannels) return values.values;
  throw UsageError(option, ": expected 1 number or ", kChannels, ", got ", values.size());
}

/// Returns `((x / 255) - mean) / std` in float32 as ATen computes it, for each byte of each channel.
std::vector<float> normalised_bytes(const OneOrMore<double>& mean, const OneOrMore<double>& std) {
  const std::vector<double> means = of_channels(mean, "ImageFolder.mean"),
                            deviations = of_channels(std, "ImageFolder.std");
  std::vector<float> table;
  for (size_t c = 0; c < kChannels; ++c) {
    if (!(deviations[c] > 0)) throw UsageError("ImageFolder.std: must be more than 0, got ", deviations[c]);
    for (int64_t byte = 0; byte < kBytes; ++byte) {
      const float scaled = static_cast<float>(byte) / 255.0f;
      table.push_back((scaled - static_cast<float>(means[c])) / static_cast<float>(deviations[c]));
    }
  }
  return table;
}

/// Writes uint8 [1, channels, height, width] with any strides plane by plane, converted by `value(channel, byte)`.
template <class To, class Value>
void write_planes(const at::Tensor& image, To* to, const Value& value) {
  const auto* const from = image.const_data_ptr<uint8_t>();
  const int64_t width = image.size(3), step = image.stride(3);
  for (int64_t c = 0; c < image.size(1); ++c) {
    for (int64_t y = 0; y < image.size(2); ++y, to += width) {
      const uint8_t* const row = from + c * image.stride(1) + y * image.stride(2);
      for (int64_t x = 0; x < width; ++x) to[x] = value(c, row[x * step]);
    }
  }
}

at::Tensor in_planes(const at::Tensor& image) {
  at::Tensor planes = at::empty(image.sizes(), image.options().memory_format(at::MemoryFormat::Contiguous));
  write_planes(image, planes.mutable_data_ptr<uint8_t>(), [](int64_t, uint8_t byte) { return byte; });
  return planes;
}

/// Returns the image as a batch of one in the memory format channels_last, in which ATen resizes bytes fastest.
at::Tensor as_batch(const at::Tensor& image) { return image.permute({1, 2, 0}).unsqueeze(0).permute({0, 3, 1, 2}); }

}  // namespace

struct ImageFolderDataset::Skips {
  std::atomic<int64_t> count = 0;
};

ImageFolderDataset::ImageFolderDataset(const std::filesystem::path& root, Options options)
    : ImageFolderDataset(std::make_shared<const ImageFiles>(find_image_files(root)), std::move(options)) {}

ImageFolderDataset::ImageFolderDataset(std::shared_ptr<const ImageFiles> files, Options options)
    : files_(std::move(files)), options_(std::move(options)), skips_(std::make_shared<Skips>()) {
  schema_of<Options>().check(&options_, "ImageFolder");
  if (options_.resize_size == 0) options_.resize_size = options_.image_size;
  if (options_.resize_size < options_.image_size) {
    throw UsageError("ImageFolder.resize_size: ", options_.resize_size, " is less than image_size, ",
                     options_.image_size);
  }
  if (options_.mean.empty() != options_.std.empty()) throw UsageError("ImageFolder: give both mean and std, or none");
  if (!options_.mean.empty()) table_ = normalised_bytes(options_.mean, options_.std);
}

int64_t ImageFolderDataset::skipped() const { return skips_->count.load(); }

at::Tensor ImageFolderDataset::read(int64_t index) const {
  ImageOptions options;
  if (options_.scaled_decode) {
    options.min_height = options.min_width =
        options_.resize == ImageResize::Exact ? options_.image_size : options_.resize_size;
  }
  return as_batch(read_placed_image(path(index), options));
}

at::Tensor ImageFolderDataset::prepared(at::Tensor image, Rng& rng) const {
  if (options_.image_size > 0)
    image = square_images(image, {.resize = options_.resize,
                                  .side = options_.image_size,
                                  .resized = options_.resize_size,
                                  .interpolation = options_.interpolation});
  if (!options_.transform) return image;
  Batch one(in_planes(image));
  (*options_.transform)(one, {&rng, 1});
  const bool normalises = !table_.empty();
  if (one.input().dim() != 4 || one.size() != 1 || (normalises && one.input().size(1) != kChannels)) {
    throw Error("ImageFolder: a transform made ", one.input().sizes(), " of one image ", image.sizes());
  }
  if (normalises && one.input().scalar_type() != at::kByte)
    return normalize_numbers(one.input(), of_channels(options_.mean, "ImageFolder.mean"),
                             of_channels(options_.std, "ImageFolder.std"));
  return one.input();
}

at::Tensor ImageFolderDataset::read_or_skip(int64_t index, std::string& first_cause) const {
  if (options_.on_error == ImageErrors::Raise) return read(index);
  try {
    return read(index);
  } catch (const UsageError& error) {
    if (first_cause.empty()) first_cause = error.what();
    if (skips_->count.fetch_add(1) == 0) {
      console::warn(std::string(error.what()) + " (left out, as on_error says; more such images are only counted)");
    }
    return {};
  }
}

void ImageFolderDataset::check_alike(int64_t index, const at::Tensor& image, const at::Tensor& others) const {
  if (image.sizes().slice(1) == others.sizes().slice(1) && dtype_of(image) == others.scalar_type()) return;
  throw UsageError(path(index), ": the image is ", image.scalar_type(), " ", image.sizes().slice(1),
                   ", but those before it in the batch are ", others.sizes().slice(1),
                   "; set image_size, or transforms that give all one size and type");
}

at::ScalarType ImageFolderDataset::dtype_of(const at::Tensor& image) const {
  return table_.empty() || image.scalar_type() != at::kByte ? image.scalar_type() : at::kFloat;
}

void ImageFolderDataset::write(const at::Tensor& image, at::Tensor slot) const {
  if (image.scalar_type() != at::kByte) {
    slot.copy_(image[0]);
  } else if (table_.empty()) {
    write_planes(image, slot.mutable_data_ptr<uint8_t>(), [](int64_t, uint8_t byte) { return byte; });
  } else {
    const float* const table = table_.data();
    write_planes(image, slot.mutable_data_ptr<float>(),
                 [table](int64_t channel, uint8_t byte) { return table[channel * kBytes + byte]; });
  }
}

Batch ImageFolderDataset::get(int64_t index, Rng& rng) const {
  const at::Tensor image = prepared(read(index), rng);
  at::Tensor input = at::empty(image.sizes().slice(1), at::TensorOptions(dtype_of(image)));
  write(image, input);
  return {input, at::scalar_tensor(files_->items[static_cast<size_t>(index)].target, at::TensorOptions(at::kLong))};
}

void ImageFolderDataset::get_batch(const Indices& indices, Batch& out) const {
  const int64_t size = indices.size();
  at::Tensor input, target = out.take_buffer("target", {size}, at::kLong);
  auto* const targets = target.mutable_data_ptr<int64_t>();
  int64_t filled = 0;
  std::string first_cause;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t index = indices[i];
    at::Tensor image = read_or_skip(index, first_cause);
    if (!image.defined()) continue;
    Rng rng = indices.rng(index);
    image = prepared(std::move(image), rng);
    if (filled == 0) {
      std::vector<int64_t> shape = image.sizes().vec();
      shape[0] = size;
      input = out.take_buffer("input", shape, dtype_of(image));
    }
    check_alike(index, image, input);
    write(image, input[filled]);
    targets[filled++] = files_->items[static_cast<size_t>(index)].target;
  }
  if (filled == 0) throw UsageError(first_cause, " (nor can any other of the ", size, " images of its batch)");
  out = filled == size ? Batch(input, target) : Batch(input.narrow(0, 0, filled), target.narrow(0, 0, filled));
}

}  // namespace levin::data
