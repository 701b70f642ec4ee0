#include <levin/data/datasets/normalized_images.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;

namespace {

const std::vector<double> kMean = {0.4914, 0.4822, 0.4465}, kStd = {0.2470, 0.2435, 0.2616};

/// Normalises operation by operation.
at::Tensor expected_of(const at::Tensor& images) {
  std::vector<at::Tensor> channels;
  for (int64_t c = 0; c < 3; ++c) {
    const auto i = static_cast<size_t>(c);
    channels.push_back((images.select(1, c).to(at::kFloat) / 255 - kMean[i]) / kStd[i]);
  }
  return at::stack(channels, 1);
}

}  // namespace

TEST_CASE("images are given out normalised, bit for bit as LibTorch computes it") {
  const at::Tensor images = test_images({7, 3, 16, 17}), labels = at::arange(7, at::TensorOptions(at::kLong));
  const NormalizedImages dataset(images, labels, ByteTable(kMean, kStd), {"a", "b"});
  CHECK(dataset.size() == 7);
  CHECK(dataset.class_names() == std::vector<std::string>{"a", "b"});
  Batch out;
  dataset.get_batch(Indices(2, 4), out);
  CHECK(at::equal(out.input(), expected_of(images).narrow(0, 2, 4)));
  CHECK(at::equal(out.target(), labels.narrow(0, 2, 4)));
  dataset.get_batch(Indices(std::vector<int64_t>{6, 0, 6}), out);
  CHECK(at::equal(out.target(), at::tensor(std::vector<int64_t>{6, 0, 6})));
  CHECK(at::equal(out.input(), expected_of(images).index_select(0, out.target())));
  CHECK(at::equal(applied(NormalizeBytes(kMean, kStd), images), expected_of(images)));
}

TEST_CASE("a batch's memory is used again") {
  const NormalizedImages dataset(test_images({7, 3, 4, 4}), at::arange(7, at::TensorOptions(at::kLong)),
                                 ByteTable(kMean, kStd));
  Batch out;
  dataset.get_batch(Indices(0, 4), out);
  const void* memory = out.input().const_data_ptr();
  const void* labels = out.target().const_data_ptr();
  dataset.get_batch(Indices(3, 4), out);
  CHECK(out.input().const_data_ptr() == memory);
  CHECK(out.target().const_data_ptr() == labels);
  const at::Tensor held = out.input();
  dataset.get_batch(Indices(0, 4), out);
  CHECK(out.input().const_data_ptr() != memory);
}

TEST_CASE(
    "floating-point images from 0 to 1 are normalised like the bytes they come from, other channels are refused") {
  const NormalizeBytes normalize(kMean, kStd);
  const at::Tensor bytes = test_images({2, 3, 4, 4});
  CHECK(at::equal(applied(normalize, bytes.to(at::kFloat) / 255), expected_of(bytes)));
  CHECK(applied(normalize, bytes.to(at::kDouble) / 255).scalar_type() == at::kFloat);
  CHECK(error_text([&] { applied(normalize, test_images({2, 1, 4, 4})); }) ==
        "NormalizeBytes: needs images of 3 channels, got uint8 [2, 1, 4, 4]");
}

TEST_CASE("NormalizedImages refuses what does not fit") {
  const at::Tensor labels = at::arange(2, at::TensorOptions(at::kLong));
  const std::string needs = "NormalizedImages: needs uint8 images of 3 channels and an int64 label for each, got ";
  const ByteTable table(kMean, kStd);
  CHECK(error_text<levin::UsageError>([&] { NormalizedImages(float_images({2, 3, 4, 4}), labels, table); }) ==
        needs + "float32 [2, 3, 4, 4] and int64 [2]");
  CHECK(error_text<levin::UsageError>([&] { NormalizedImages(test_images({3, 3, 4, 4}), labels, table); }) ==
        needs + "uint8 [3, 3, 4, 4] and int64 [2]");
  CHECK(error_text<levin::UsageError>([] { ByteTable({1}, {}); }) == "ByteTable: 1 means and 0 standard deviations");
  const NormalizedImages dataset(test_images({2, 3, 4, 4}), labels, table);
  Batch out;
  CHECK(error_text([&] { dataset.get_batch(Indices(1, 2), out); }) == "NormalizedImages: no sample 2 among 2");
}
