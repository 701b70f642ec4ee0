#include <levin/data/datasets/normalized_images.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>
#include <levin/core/system/error.h>
#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/engine/image_batch.h>

#include <algorithm>
#include <utility>

namespace levin::data {

at::Tensor normalize_bytes(const at::Tensor& bytes, double mean, double stddev) {
  return bytes.to(at::kFloat).div_(255).sub_(mean).div_(stddev);
}

namespace {

at::Tensor of_channels(const std::vector<double>& values) { return at::tensor(values, at::kFloat).view({-1, 1, 1}); }

}  // namespace

at::Tensor normalize_numbers(const at::Tensor& images, const std::vector<double>& mean,
                             const std::vector<double>& stddev) {
  return images.to(at::kFloat).sub(of_channels(mean)).div(of_channels(stddev));
}

ByteTable::ByteTable(const std::vector<double>& mean, const std::vector<double>& stddev) {
  if (mean.empty() || mean.size() != stddev.size())
    throw UsageError("ByteTable: ", mean.size(), " means and ", stddev.size(), " standard deviations");
  const at::Tensor bytes = at::arange(256, at::TensorOptions(at::kByte));
  for (size_t c = 0; c < mean.size(); ++c) {
    const at::Tensor values = normalize_bytes(bytes, mean[c], stddev[c]);
    const float* first = values.const_data_ptr<float>();
    channels_.emplace_back(first, first + values.numel());
  }
}

void ByteTable::write(const uint8_t* from, float* to, int64_t count, int64_t pixels) const {
  for (int64_t i = 0; i < count; ++i) {
    for (const std::vector<float>& channel : channels_) {
      const float* values = channel.data();
      for (int64_t p = 0; p < pixels; ++p) to[p] = values[from[p]];
      from += pixels;
      to += pixels;
    }
  }
}

void NormalizeBytes::operator()(Batch& batch, std::span<Rng> /*rngs*/) const {
  const at::Tensor images = images_of(batch, "NormalizeBytes");
  if (images.size(1) != table_.channels())
    throw Error("NormalizeBytes: needs images of ", table_.channels(), " channels, got ", describe(images));
  if (images.scalar_type() != at::kByte) {
    batch.set("input", normalize_numbers(images, mean_, stddev_));
    return;
  }
  at::Tensor out = at::empty(images.sizes(), at::TensorOptions(at::kFloat));
  table_.write(images.const_data_ptr<uint8_t>(), out.mutable_data_ptr<float>(), images.size(0),
               images.size(2) * images.size(3));
  batch.set("input", std::move(out));
}

void refuse_normalizing(const std::vector<ClassChoice<TransformKind>>& transforms, const std::string& path,
                        const std::string& data_module, const std::string& advice) {
  for (size_t i = 0; i < transforms.size(); ++i) {
    const std::string& name = transforms[i].class_name();
    const std::string place = c10::str(path, "[", i, "]");
    if (name == "Normalize")
      throw UsageError(place, ": ", data_module,
                       " normalises its images after the transforms, in training as in evaluation; leave Normalize out",
                       advice);
    if (name != "ConvertImage") continue;
    const auto options = transforms[i].options(TransformKind::registry(), place);
    if (!static_cast<const ConvertImageOptions*>(options.get())->scale)
      throw UsageError(place, ".scale: ", data_module,
                       " normalises images after the transforms, and takes numbers to be from 0 to 1; leave scale out");
  }
}

State LearnedImages::state_dict() const {
  State names = State::list(), means = State::list(), deviations = State::list();
  for (const std::string& name : class_names) names.push_back(name);
  for (const double one : mean) means.push_back(one);
  for (const double one : stddev) deviations.push_back(one);
  return State::dict({{"class_names", std::move(names)}, {"mean", std::move(means)}, {"std", std::move(deviations)}});
}

LearnedImages LearnedImages::of(const State& state) {
  LearnedImages learned;
  for (const State& name : state.at("class_names").items()) learned.class_names.push_back(name.to_string());
  for (const State& one : state.at("mean").items()) learned.mean.push_back(one.to_double());
  for (const State& one : state.at("std").items()) learned.stddev.push_back(one.to_double());
  return learned;
}

RawInput LearnedImages::raw_input(int64_t channels, int64_t height, int64_t width) const {
  RawInput raw{.example = Batch(at::zeros({2, channels, height, width}, at::kByte)),
               .meaning = "input: images of bytes, 0 to 255, [samples, channels, height, width]"};
  // Made here: what is made while a tracer records becomes a step of the graph.
  raw.prepare = [subtracted = of_channels(mean), divisor = of_channels(stddev)](const Batch& images) {
    Batch prepared = images;
    if (divisor.numel() > 0) prepared.set("input", images.input().to(at::kFloat).div(255).sub(subtracted).div(divisor));
    return prepared;
  };
  return raw;
}

NormalizedImages::NormalizedImages(at::Tensor images, at::Tensor labels, ByteTable table,
                                   std::vector<std::string> class_names)
    : images_(images.contiguous()),
      labels_(labels.contiguous()),
      table_(std::move(table)),
      class_names_(std::move(class_names)) {
  const bool are_images =
      images_.dim() == 4 && images_.scalar_type() == at::kByte && images_.size(1) == table_.channels();
  if (!are_images || labels_.dim() != 1 || labels_.scalar_type() != at::kLong || labels_.size(0) != images_.size(0)) {
    throw UsageError("NormalizedImages: needs uint8 images of ", table_.channels(), " channels and an int64 label for ",
                     "each, got ", describe(images_), " and ", describe(labels_));
  }
}

void NormalizedImages::get_batch(const Indices& indices, Batch& out) const {
  const int64_t pixels = images_.size(2) * images_.size(3), row = images_.size(1) * pixels;
  at::Tensor input =
      out.take_buffer("input", {indices.size(), images_.size(1), images_.size(2), images_.size(3)}, at::kFloat);
  at::Tensor target = out.take_buffer("target", {indices.size()}, at::kLong);
  const uint8_t* images = images_.const_data_ptr<uint8_t>();
  const int64_t* labels = labels_.const_data_ptr<int64_t>();
  float* to = input.mutable_data_ptr<float>();
  int64_t* to_label = target.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < indices.size(); ++i) {
    const int64_t index = indices[i];
    if (index < 0 || index >= size()) throw Error("NormalizedImages: no sample ", index, " among ", size());
    table_.write(images + index * row, to + i * row, 1, pixels);
    to_label[i] = labels[index];
  }
  out = Batch(std::move(input), std::move(target));
}

}  // namespace levin::data
