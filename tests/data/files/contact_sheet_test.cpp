#include <levin/data/files/contact_sheet.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>
#include <levin/data/files/bitmap_font.h>

#include <limits>
#include <set>

#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/error_text.h"

using namespace levin::data;
using namespace levin::testing;

namespace {

at::Tensor white(int64_t height, int64_t width) {
  return at::full({3, height, width}, 255, at::TensorOptions(at::kByte));
}

/// Returns the dark pixels of the first channel, row by row.
std::string drawn(const std::string& text, int64_t height, int64_t width) {
  const at::Tensor image = white(height, width);
  draw_text(image, 0, 0, text, 1, 0);
  std::string rows;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) rows += image[0][y][x].item<int64_t>() == 0 ? '#' : '.';
    rows += '\n';
  }
  return rows;
}

int64_t dark(const at::Tensor& area) { return (area == 0).sum().item<int64_t>(); }

}  // namespace

TEST_CASE("the font draws every printable character, each in another way") {
  CHECK(drawn("T1", 7, 11) ==
        "#####...#..\n"
        "..#....##..\n"
        "..#.....#..\n"
        "..#.....#..\n"
        "..#.....#..\n"
        "..#.....#..\n"
        "..#....###.\n");
  std::set<std::string> different;
  for (char letter = ' '; letter <= '~'; ++letter) different.insert(drawn(std::string(1, letter), 7, 5));
  CHECK(different.size() == 95);
  CHECK(drawn(" ", 7, 5).find('#') == std::string::npos);
  CHECK(drawn("\xc3\xa9", 7, 11) == drawn("?", 7, 11));
  CHECK(drawn("\t", 7, 5) == drawn("?", 7, 5));
  // Text outside of the image is cut off.
  CHECK(drawn("TTT", 3, 8) == "#####.##\n..#.....\n..#.....\n");
  const at::Tensor image = white(20, 20);
  draw_text(image, -7, -5, "#", 1, 0);
  draw_text(image, 20, 20, "#", 1, 0);
  CHECK(at::equal(image, white(20, 20)));
  draw_text(image, 2, 3, ".", 2, 9);
  CHECK((image == 9).sum().item<int64_t>() == 3 * 4 * 4);
}

TEST_CASE("text that is too wide is cut") {
  CHECK(text_width("", 1) == 0);
  CHECK(text_width("abc", 1) == 17);
  CHECK(text_width("abc", 2) == 34);
  CHECK(fitting_text("abcdef", 35, 1) == "abcdef");
  CHECK(fitting_text("abcdef", 34, 1) == "abc..");
  CHECK(fitting_text("abcdef", 17, 1) == "a..");
  CHECK(fitting_text("abcdef", 16, 1).empty());
  CHECK(fitting_text("abcdef", 70, 2) == "abcdef");
  CHECK(text_width(fitting_text("a long name of a class", 100, 2), 2) <= 100);
}

TEST_CASE("a sheet shows images in rows and columns with their labels") {
  const at::Tensor images = at::stack({picture(100, 120, 1), picture(100, 120, 2), picture(100, 120, 3)});
  const at::Tensor sheet = contact_sheet(images, {"cat", "dog", "ant"});
  CHECK(sheet.sizes() == at::IntArrayRef({3, 6 + 2 * (100 + 3 + 7 + 6), 6 + 2 * (120 + 6)}));
  CHECK(sheet.scalar_type() == at::kByte);
  const auto at_cell = [&](int64_t row, int64_t column) {
    return sheet.narrow(1, 6 + row * 116, 100).narrow(2, 6 + column * 126, 120);
  };
  CHECK(at::equal(at_cell(0, 0), images[0]));
  CHECK(at::equal(at_cell(0, 1), images[1]));
  CHECK(at::equal(at_cell(1, 0), images[2]));
  CHECK(at::equal(at_cell(1, 1), white(100, 120)));
  at::Tensor label = white(7, 120);
  draw_text(label, 0, 0, "dog", 1, 0);
  CHECK(at::equal(sheet.narrow(1, 6 + 103, 7).narrow(2, 6 + 126, 120), label));
  CHECK(dark(label) > 0);
  const at::Tensor first = contact_sheet(images, {"cat", "dog", "ant"}, 1);
  CHECK(first.sizes() == at::IntArrayRef({3, 6 + 116, 6 + 126}));
}

TEST_CASE("numbers are stretched over all images, small images are enlarged, large ones reduced") {
  at::Tensor values = at::zeros({2, 1, 28, 28});
  values[0].fill_(-1);
  values[1].fill_(3);
  values[1][0][0][0] = 1;
  values[1][0][0][1] = std::numeric_limits<float>::quiet_NaN();
  values[1][0][0][2] = std::numeric_limits<float>::infinity();
  const at::Tensor sheet = contact_sheet(values, {"", ""});
  // 28 pixels become 84, in a cell of 96.
  CHECK(sheet.sizes() == at::IntArrayRef({3, 6 + 84 + 16, 6 + 2 * 102}));
  CHECK(dark(sheet.narrow(1, 6, 84).narrow(2, 6, 84)) == 3 * 84 * 84);
  const at::Tensor second = sheet.narrow(1, 6, 84).narrow(2, 6 + 102, 84);
  CHECK((second == 255).sum().item<int64_t>() == 3 * (84 * 84 - 27));
  CHECK(at::equal(second.narrow(1, 0, 3).narrow(2, 0, 3), at::full({3, 3, 3}, 128, at::TensorOptions(at::kByte))));
  CHECK(dark(second) == 3 * 2 * 9);
  // One value only, and none that is finite.
  CHECK(contact_sheet(at::zeros({1, 3, 8, 8}), {""}).defined());
  CHECK(dark(contact_sheet(at::full({1, 1, 96, 96}, std::numeric_limits<double>::quiet_NaN()), {""})) == 3 * 96 * 96);
  const at::Tensor large = contact_sheet(at::full({1, 3, 512, 1024}, 7, at::TensorOptions(at::kByte)), {"x"});
  CHECK(large.sizes() == at::IntArrayRef({3, 6 + 128 + 3 + 14 + 6, 6 + 256 + 6}));
  CHECK(contact_sheet(at::full({1, 1, 96, 96}, true, at::TensorOptions(at::kBool)), {""}).min().item<int64_t>() == 255);
}

TEST_CASE("what is no batch of images is refused") {
  CHECK_FALSE(can_be_drawn({}));
  CHECK_FALSE(can_be_drawn(at::zeros({2, 3, 4})));
  CHECK_FALSE(can_be_drawn(at::zeros({2, 2, 4, 4})));
  CHECK_FALSE(can_be_drawn(at::zeros({0, 3, 4, 4})));
  CHECK_FALSE(can_be_drawn(at::zeros({1, 3, 4, 4}, at::TensorOptions(at::kLong))));
  CHECK(can_be_drawn(at::zeros({1, 3, 4, 4}, at::TensorOptions(at::kHalf))));
  CHECK(error_text<levin::UsageError>([] { contact_sheet(at::zeros({2, 2, 4, 4}), {"", ""}); }) ==
        "contact_sheet: needs images [samples, 1 or 3, height, width] of uint8 or floating point, got Float [2, 2, 4, "
        "4]");
  CHECK(error_text<levin::UsageError>([] { contact_sheet(at::zeros({2, 1, 4, 4}), {"one"}); }) ==
        "contact_sheet: 2 images, but 1 labels");
}
