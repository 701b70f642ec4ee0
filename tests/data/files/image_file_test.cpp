#include <levin/data/files/image_file.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>
#include <levin/data/rng.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "tests/catch.h"
#include "tests/data/files/pictures.h"
#include "tests/data/files/png_writer.h"
#include "tests/data/run_unprivileged.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using namespace levin::data;
using namespace levin::testing;

namespace {

/// Returns the values of `image`, channel by channel.
std::vector<int> values(const at::Tensor& image) {
  const at::Tensor flat = image.contiguous();
  return {flat.const_data_ptr<uint8_t>(), flat.const_data_ptr<uint8_t>() + flat.numel()};
}

std::vector<int> decoded(const PngParts& parts, const ImageOptions& options = {}) {
  return values(decode_image(make_png(parts), "x", options));
}

std::string message(const std::string& bytes, const ImageOptions& options = {}) {
  return error_text<levin::UsageError>([&] { decode_image(bytes, "x", options); });
}

double mean_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kFloat) - b.to(at::kFloat)).abs().mean().item<double>();
}

/// Returns the JPEG with another height and width in its header.
std::string with_size(std::string jpeg, int height, int width) {
  const size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  const int bytes[] = {height >> 8, height & 255, width >> 8, width & 255};
  for (size_t i = 0; i < 4; ++i) jpeg[frame + 5 + i] = static_cast<char>(bytes[i]);
  return jpeg;
}

}  // namespace

TEST_CASE("PNG files give back what was written") {
  const TemporaryFolder folder;
  for (const int64_t channels : {1, 3}) {
    for (const auto& [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {7, 5}, {64, 33}, {1, 200}}) {
      const at::Tensor image = picture(height, width, 3, channels);
      write_png(folder / "x.png", image);
      const at::Tensor read = read_image(folder / "x.png", {.channels = channels});
      CHECK(read.sizes() == at::IntArrayRef({channels, height, width}));
      CHECK(read.scalar_type() == at::kByte);
      CHECK(at::equal(read, image));
      CHECK(read.permute({1, 2, 0}).is_contiguous());
    }
  }
  const at::Tensor gray = picture(4, 6, 1, 1);
  CHECK(at::equal(decode_image(encode_png(gray[0]), "x", {.channels = 1}), gray));
  CHECK(at::equal(decode_image(encode_png(gray), "x"), gray.expand({3, 4, 6})));
  CHECK(at::equal(decode_image(encode_png(gray.expand({3, 4, 6})), "x"), gray.expand({3, 4, 6})));
}

TEST_CASE("JPEG files give back about what was written, more of it with more quality") {
  const TemporaryFolder folder;
  const at::Tensor image = picture(75, 100);
  write_jpeg(folder / "x.jpg", image, 98);
  const at::Tensor good = read_image(folder / "x.jpg");
  CHECK(good.sizes() == image.sizes());
  CHECK(good.permute({1, 2, 0}).is_contiguous());
  CHECK(mean_difference(good, image) < 4);
  CHECK(mean_difference(decode_image(encode_jpeg(image, 5), "x"), image) > 6);
  CHECK(encode_jpeg(image, 5).size() < encode_jpeg(image, 98).size() / 4);
  const at::Tensor gray = picture(20, 30, 2, 1);
  const std::string bytes = encode_jpeg(gray, 98);
  CHECK(mean_difference(decode_image(bytes, "x", {.channels = 1}), gray) < 2);
  CHECK(at::equal(decode_image(bytes, "x"), decode_image(bytes, "x", {.channels = 1}).expand({3, 20, 30})));
  // The format is recognised by the content, not by the name.
  write_png(folder / "y.jpg", image);
  CHECK(at::equal(read_image(folder / "y.jpg"), image));
}

TEST_CASE("every kind of PNG becomes red, green and blue, or luminance") {
  const std::string palette = png_chunk("PLTE", bytes_of({1, 2, 3, 250, 100, 50}));
  CHECK(decoded({.width = 2, .color_type = 3, .chunks = palette, .rows = bytes_of({0, 1, 0})}) ==
        std::vector<int>{250, 1, 100, 2, 50, 3});
  CHECK(decoded({.width = 3, .bit_depth = 1, .color_type = 3, .chunks = palette, .rows = bytes_of({0, 0x40})}) ==
        std::vector<int>{1, 250, 1, 2, 100, 2, 3, 50, 3});
  const std::string transparent = palette + png_chunk("tRNS", bytes_of({0, 128}));
  CHECK(decoded({.width = 2, .color_type = 3, .chunks = transparent, .rows = bytes_of({0, 1, 0})}) ==
        std::vector<int>{250, 1, 100, 2, 50, 3});
  CHECK(decoded({.width = 4, .bit_depth = 2, .rows = bytes_of({0, 0x1b})}, {.channels = 1}) ==
        std::vector<int>{0, 85, 170, 255});
  CHECK(decoded({.width = 2, .bit_depth = 16, .rows = bytes_of({0, 7, 255, 200, 0})}, {.channels = 1}) ==
        std::vector<int>{7, 200});
  CHECK(decoded({.bit_depth = 16, .color_type = 2, .rows = bytes_of({0, 9, 1, 8, 2, 7, 3})}) ==
        std::vector<int>{9, 8, 7});
  CHECK(decoded({.color_type = 4, .rows = bytes_of({0, 77, 3})}) == std::vector<int>{77, 77, 77});
  CHECK(decoded({.color_type = 4, .rows = bytes_of({0, 77, 3})}, {.channels = 1}) == std::vector<int>{77});
  CHECK(decoded({.width = 2, .color_type = 6, .rows = bytes_of({0, 10, 20, 30, 0, 40, 50, 60, 255})}) ==
        std::vector<int>{10, 40, 20, 50, 30, 60});
  CHECK(decoded({.width = 3, .color_type = 2, .rows = bytes_of({0, 255, 0, 0, 0, 255, 0, 0, 0, 255})},
                {.channels = 1}) == std::vector<int>{76, 150, 29});
  // A note on brightness or colours changes nothing.
  const std::string notes = png_chunk("gAMA", big_endian(100000)) + png_chunk("iCCP", "broken");
  CHECK(decoded({.chunks = notes, .rows = bytes_of({0, 50})}, {.channels = 1}) == std::vector<int>{50});
  // The seven passes of Adam7 over 3 x 3 pixels.
  CHECK(decoded({.width = 3,
                 .height = 3,
                 .interlaced = true,
                 .rows = bytes_of({0, 1, 0, 3, 0, 7, 9, 0, 2, 0, 8, 0, 4, 5, 6})},
                {.channels = 1}) == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a JPEG can be decoded smaller, never below the sizes asked for") {
  const std::string bytes = encode_jpeg(picture(48, 64), 95);
  const auto size = [&](int64_t min_height, int64_t min_width) {
    const at::Tensor image = decode_image(bytes, "x", {.min_height = min_height, .min_width = min_width});
    return std::pair(image.size(1), image.size(2));
  };
  CHECK(size(0, 0) == std::pair<int64_t, int64_t>(48, 64));
  CHECK(size(0, 1) == std::pair<int64_t, int64_t>(48, 64));
  CHECK(size(1, 1) == std::pair<int64_t, int64_t>(6, 8));
  CHECK(size(6, 8) == std::pair<int64_t, int64_t>(6, 8));
  CHECK(size(6, 9) == std::pair<int64_t, int64_t>(12, 16));
  CHECK(size(24, 16) == std::pair<int64_t, int64_t>(24, 32));
  CHECK(size(25, 16) == std::pair<int64_t, int64_t>(48, 64));
  CHECK(size(400, 400) == std::pair<int64_t, int64_t>(48, 64));
  const at::Tensor flat =
      decode_image(encode_jpeg(plain(16, 16, 200, 100, 50), 95), "x", {.min_height = 2, .min_width = 2});
  CHECK(mean_difference(flat, plain(2, 2, 200, 100, 50)) < 2);
  const std::string png = encode_png(picture(8, 8));
  CHECK(decode_image(png, "x", {.min_height = 2, .min_width = 2}).size(1) == 8);
}

TEST_CASE("a JPEG is turned as its EXIF orientation says, in either byte order, and decoded smaller as it is shown") {
  // Four grey levels, so that the corners tell the turns: 1 2 above 3 4.
  const at::Tensor corners = at::tensor({40, 90, 150, 220}, at::kByte).reshape({2, 2});
  const at::Tensor stored = corners.repeat_interleave(32, 0).repeat_interleave(48, 1);
  const std::string plain = encode_jpeg(stored, 100);
  const auto with_exif = [&](int orientation, bool is_little) {
    const std::string number(1, static_cast<char>(orientation));
    const std::string tiff =
        is_little ? std::string("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0", 18) + number + std::string(7, '\0')
                  : std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19) + number + std::string(6, '\0');
    const std::string segment = std::string(
                                    "\xff\xe1\0\x22"
                                    "Exif\0\0",
                                    10) +
                                tiff;
    return std::string(plain).insert(2, segment);
  };
  // What is shown, row by row: the corners as viewers put them.
  const std::vector<std::vector<int>> shown = {{1, 2, 3, 4}, {2, 1, 4, 3}, {4, 3, 2, 1}, {3, 4, 1, 2},
                                               {1, 3, 2, 4}, {3, 1, 4, 2}, {4, 2, 3, 1}, {2, 4, 1, 3}};
  const std::vector<int> grey = {0, 40, 90, 150, 220};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    INFO(orientation);
    for (const bool is_little : {true, false}) {
      const at::Tensor image = decode_image(with_exif(orientation, is_little), "x", {.channels = 1});
      const bool lies = orientation >= 5;
      REQUIRE(image.sizes() == (lies ? at::IntArrayRef({1, 96, 64}) : at::IntArrayRef({1, 64, 96})));
      const auto at_corner = [&](int64_t row, int64_t column) {
        return image[0][row == 0 ? 8 : image.size(1) - 8][column == 0 ? 8 : image.size(2) - 8].item<int>();
      };
      for (int i = 0; i < 4; ++i)
        CHECK(std::abs(at_corner(i / 2, i % 2) - grey.at(shown.at(orientation - 1).at(i))) < 4);
      const at::Tensor small = decode_image(with_exif(orientation, is_little), "x",
                                            {.channels = 1, .min_height = lies ? 24 : 16, .min_width = lies ? 16 : 24});
      CHECK(small.sizes() == (lies ? at::IntArrayRef({1, 24, 16}) : at::IntArrayRef({1, 16, 24})));
    }
  }
  for (const int other : {0, 9}) CHECK(decode_image(with_exif(other, true), "x").size(1) == 64);
}

TEST_CASE("a file that is no whole image is refused with its name and the reason") {
  const TemporaryFolder folder;
  const std::string png = encode_png(picture(9, 11)), jpeg = encode_jpeg(picture(9, 11), 90);
  CHECK(message(png) == "no error");
  CHECK(message("") == "x: the file is empty");
  CHECK(message("words\n") == "x: not a JPEG, PNG, TIFF or WebP file: it begins with 0x776f7264");
  CHECK(message("\xff") == "x: not a JPEG, PNG, TIFF or WebP file: it begins with 0xff");
  CHECK(message(png, {.channels = 4}) == "x: an image has 1 or 3 channels, not 4");
  CHECK(message(jpeg, {.channels = 0}) == "x: an image has 1 or 3 channels, not 0");
  CHECK(message(png.substr(0, 30)) == "x: the file is cut off; get it again");
  CHECK(message(png.substr(0, png.size() - 1)) == "x: the file is cut off; get it again");
  CHECK(message(jpeg.substr(0, jpeg.size() - 2)) == "x: the file is cut off; get it again");
  std::string wrong = png;
  wrong[wrong.find("IEND") - 5] ^= 1;
  CHECK(message(wrong) == "x: broken PNG data (IDAT: CRC error); get the file again");

  write_bytes(folder / "words.jpg", "words\n");
  const std::string words = (folder / "words.jpg").string();
  CHECK(error_text<levin::UsageError>([&] { read_image(words); }) ==
        words + ": not a JPEG, PNG, TIFF or WebP file: it begins with 0x776f7264");
  CHECK(error_text<levin::UsageError>([&] { read_image(folder / "none.png"); }) ==
        (folder / "none.png").string() + ": cannot be opened: No such file or directory");
  CHECK(
      contains(error_text<levin::UsageError>([&] { read_image(folder.path()); }), ": cannot be read: Is a directory"));

  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_all);
  write_png(folder / "secret.png", picture(2, 2));
  fs::permissions(folder / "secret.png", fs::perms::none);
  CHECK(run_unprivileged([&] { return error_text<levin::UsageError>([&] { read_image(folder / "secret.png"); }); }) ==
        (folder / "secret.png").string() + ": cannot be opened: Permission denied");
}

TEST_CASE("a small file that promises a huge image is refused before memory is taken") {
  const std::string jpeg = encode_jpeg(picture(8, 8), 90);
  CHECK(message(with_size(jpeg, 65000, 65000)) ==
        "x: 65000 x 65000 pixels are more than the 268435456 that are read; make the image smaller");
  CHECK(message(with_size(jpeg, 10000, 9000)) ==
        "x: the header promises 9000 x 10000 pixels, more than a file of its size can hold; get it again");
  CHECK(message(with_size(jpeg, 500, 500)) ==
        "x: broken JPEG data (Corrupt JPEG data: premature end of data segment); get the file again");
  const std::string rows = bytes_of({0, 1, 2, 3});
  CHECK(message(make_png({.width = 65000, .height = 65000, .bit_depth = 1, .rows = rows})) ==
        "x: 65000 x 65000 pixels are more than the 268435456 that are read; make the image smaller");
  CHECK(message(make_png({.width = 10000, .height = 10000, .color_type = 2, .rows = rows})) ==
        "x: the header promises 10000 x 10000 pixels, more than a file of its size can hold; get it again");
  CHECK(contains(message(make_png({.width = 0x7fffffff, .height = 0x7fffffff, .rows = rows})), "pixels are more than"));
  CHECK(contains(message(make_png({.width = 0, .height = 4, .rows = rows})), "x: broken PNG data ("));
}

TEST_CASE("cut or changed bytes give an error or an image, never anything else") {
  Rng rng(1, 0, 0);
  for (const std::string& whole : {encode_png(picture(20, 30)), encode_jpeg(picture(20, 30), 80)}) {
    for (size_t length = 0; length < whole.size(); length += length < 700 ? 1 : 13) {
      const std::string text = message(whole.substr(0, length));
      INFO(length << ": " << text);
      REQUIRE(text != "no error");
    }
    int64_t errors = 0;
    for (int i = 0; i < 400; ++i) {
      std::string bytes = whole;
      for (int64_t changes = rng.randint(1, 4); changes > 0; --changes) {
        bytes[static_cast<size_t>(rng.randint(0, static_cast<int64_t>(bytes.size())))] = static_cast<char>(rng());
      }
      const std::string text = message(bytes);
      errors += text != "no error";
      if (text == "no error" && is_png(bytes)) REQUIRE(at::equal(decode_image(bytes, "x"), decode_image(whole, "x")));
    }
    CHECK(errors > 100);
  }
}

TEST_CASE("images that a format cannot hold are refused") {
  const TemporaryFolder folder;
  const auto refused = [&](const at::Tensor& image) {
    return error_text<levin::UsageError>([&] { write_png(folder / "x.png", image); });
  };
  CHECK(refused(picture(2, 2).to(at::kFloat)) ==
        "write_png: needs uint8 [height, width] or [1 or 3, height, width] on the CPU, got Float [3, 2, 2]");
  CHECK(contains(refused(picture(2, 2, 0, 2)), "got Byte [2, 2, 2]"));
  CHECK(contains(refused(picture(0, 2)), "got Byte [3, 0, 2]"));
  CHECK(contains(refused({}), "got nothing"));
  CHECK_FALSE(std::filesystem::exists(folder / "x.png"));
  CHECK(error_text<levin::UsageError>([&] { encode_jpeg(picture(2, 2), 0); }) ==
        "write_jpeg: quality is 1 to 100, got 0");
  CHECK(error_text<levin::UsageError>([&] { encode_jpeg(picture(1, 65501), 90); }) ==
        "write_jpeg: sides have at most 65500 pixels, got 65501 x 1");
  CHECK(error_text<levin::UsageError>([&] { write_jpeg(folder / "none/x.jpg", picture(2, 2)); }) ==
        (folder / "none/x.jpg").string() + ": cannot be written, there is no folder " + (folder / "none").string());
  std::filesystem::create_directory(folder / "taken.png");
  CHECK(contains(error_text<levin::UsageError>([&] { write_png(folder / "taken.png", picture(2, 2)); }),
                 "taken.png: cannot be written, it is a folder"));
}

TEST_CASE("Pillow reads the same pixels") {
  const char* python = std::getenv("LEVIN_TEST_PYTHON");
  const std::string run = std::string("'") + (python ? python : "") + "' -c ";
  if (!python || !*python || std::system((run + "'import PIL.Image' 2>/dev/null").c_str()) != 0) {
    WARN("SKIPPED: configure with -DLEVIN_TEST_PYTHON=<a Python with Pillow>");
    return;
  }
  const TemporaryFolder folder;
  write_png(folder / "source.png", picture(61, 83));
  const std::string script = R"('
import sys
from PIL import Image
folder = sys.argv[1] + "/"
source = Image.open(folder + "source.png")
def save(name, image, **how):
    image.save(folder + name, **how)
    open(folder + name + ".rgb", "wb").write(Image.open(folder + name).convert("RGB").tobytes())
for sampling in (0, 1, 2):
    save("s%d.jpg" % sampling, source, quality=85, subsampling=sampling)
save("progressive.jpg", source, quality=70, progressive=True)
save("gray.jpg", source.convert("L"))
save("inks.jpg", source.convert("CMYK"), quality=95)
save("palette.png", source.quantize(40))
save("alpha.png", Image.merge("RGBA", (*source.split(), source.convert("L"))))
save("bits.png", source.convert("1"))
')";
  REQUIRE(std::system((run + script + " " + folder.path().string()).c_str()) == 0);
  int compared = 0;
  for (const char* name : {"s0.jpg", "s1.jpg", "s2.jpg", "progressive.jpg", "gray.jpg", "inks.jpg", "palette.png",
                           "alpha.png", "bits.png"}) {
    const at::Tensor image = read_image(folder / name).permute({1, 2, 0}).contiguous();
    const std::string expected = read_bytes(folder / (std::string(name) + ".rgb"));
    REQUIRE(expected.size() == static_cast<size_t>(image.numel()));
    const auto* mine = image.const_data_ptr<uint8_t>();
    int furthest = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      furthest = std::max(furthest, std::abs(mine[i] - static_cast<unsigned char>(expected[i])));
    }
    INFO(name);
    // Pillow rounds the products of inks differently.
    CHECK(furthest <= (std::string(name) == "inks.jpg" ? 1 : 0));
    ++compared;
  }
  CHECK(compared == 9);
}
