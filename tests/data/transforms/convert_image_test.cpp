#include <levin/data/transforms/convert_image.h>
#include <ATen/ops/full.h>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

namespace {

at::Tensor all_bytes() { return at::arange(256, at::TensorOptions(at::kByte)).view({1, 1, 16, 16}); }

}  // namespace

TEST_CASE("bytes become numbers from 0 to 1, and come back") {
  const at::Tensor bytes = all_bytes();
  for (const auto& [name, type] : {std::pair{"float32", at::kFloat}, {"float64", at::kDouble}}) {
    const at::Tensor numbers = applied(ConvertImage({.dtype = name}), bytes);
    CHECK(numbers.scalar_type() == type);
    CHECK(at::equal(numbers, bytes.to(type) / 255));
    CHECK(at::equal(applied(ConvertImage({.dtype = "uint8"}), numbers), bytes));
  }
  for (const char* name : {"float16", "bfloat16"})
    CHECK(applied(ConvertImage({.dtype = name}), bytes).max().item<double>() == 1);
}

TEST_CASE("without scale, and between floating-point types, values stay") {
  const at::Tensor bytes = all_bytes();
  CHECK(at::equal(applied(ConvertImage({.scale = false}), bytes), bytes.to(at::kFloat)));
  CHECK(at::equal(applied(ConvertImage({.dtype = "float64"}), float_images({1, 1, 2, 2})),
                  float_images({1, 1, 2, 2}).to(at::kDouble)));
  CHECK(at::equal(applied(ConvertImage({.dtype = "uint8"}), bytes), bytes));
}

TEST_CASE("numbers outside of 0 to 1 become 0 or 255") {
  const ConvertImage convert({.dtype = "uint8"});
  CHECK(applied(convert, at::full({1, 1, 1, 1}, -0.5))[0][0][0][0].item<int64_t>() == 0);
  CHECK(applied(convert, at::full({1, 1, 1, 1}, 1.5))[0][0][0][0].item<int64_t>() == 255);
}

TEST_CASE("tensors that are no images are refused by name") {
  const std::string needs =
      "ConvertImage: needs `input` as images [samples, channels, height, width] of uint8 or floating point on the "
      "CPU, ";
  const ConvertImage convert;
  CHECK(error_text([&] { applied(convert, test_images({2, 3, 4})); }) == needs + "got uint8 [2, 3, 4]");
  CHECK(error_text([&] { applied(convert, test_images({1, 3, 4, 4}).to(at::kLong)); }) ==
        needs + "got int64 [1, 3, 4, 4]");
  CHECK(error_text([&] { applied(convert, test_images({1, 3, 0, 4})); }) == needs + "got uint8 [1, 3, 0, 4]");
  CHECK(error_text<levin::UsageError>([] {
          ConvertImage({.dtype = "float23"});
        }).starts_with("ConvertImage.dtype: expected one of uint8, float16"));
}
