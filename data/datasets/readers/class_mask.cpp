#include <levin/data/datasets/readers/class_mask.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_places.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/files/image_file.h>
#include <levin/data/ignored_target.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <unordered_map>

namespace levin::data {
namespace {

std::string shown_colour(int64_t colour) {
  char text[16] = {};
  std::snprintf(text, sizeof(text), "#%06x", static_cast<unsigned>(colour));
  return text;
}

/// Returns the class of each pixel of an image [3, height, width].
at::Tensor classes_of_colours(const at::Tensor& image, const ClassMaskOptions& options, const std::string& name) {
  std::unordered_map<int64_t, int64_t> classes;
  for (const int64_t colour : options.colours) classes.emplace(colour, static_cast<int64_t>(classes.size()));
  const at::Tensor pixels = image.permute({1, 2, 0}).contiguous();
  at::Tensor mask = at::empty({image.size(1), image.size(2)}, at::TensorOptions(at::kLong));
  const auto* from = pixels.const_data_ptr<uint8_t>();
  auto* to = mask.mutable_data_ptr<int64_t>();
  int64_t last = -1, last_class = 0;
  for (int64_t i = 0; i < mask.numel(); ++i, from += 3) {
    const int64_t colour = int64_t{from[0]} << 16 | int64_t{from[1]} << 8 | from[2];
    if (colour != last) {
      const auto found = classes.find(colour);
      if (found == classes.end())
        throw UsageError(name, ": the colour ", shown_colour(colour), " of the pixel in column ", i % mask.size(1),
                         " and row ", i / mask.size(1), " is none of the classes' in data.mask_colors; add it there");
      last = colour;
      last_class = found->second;
    }
    to[i] = last_class;
  }
  return mask;
}

/// Reads the image of a mask as `read` is told to.
using ReadMask = std::function<at::Tensor(const ImageOptions&)>;

at::Tensor classes_in(const ReadMask& read, const ClassMaskOptions& options, const std::string& name) {
  if (!options.colours.empty()) return classes_of_colours(read({}), options, name);
  const at::Tensor indices = read({.values = PixelValues::Indices});
  if (indices.size(0) != 1)
    throw UsageError(name,
                     ": a mask of colours; name the colour of each class in data.mask_colors, or save the mask in gray "
                     "or with a palette, so that its pixels are numbers of classes");
  return indices[0].to(at::kLong).contiguous();
}

}  // namespace

std::vector<int64_t> parse_colours(const std::vector<std::string>& texts, const std::string& option) {
  std::vector<int64_t> colours;
  for (const std::string& text : texts) {
    int64_t colour = 0;
    const char* const end = text.data() + text.size();
    const bool has_length = text.size() == 7 && text[0] == '#';
    const auto parsed = has_length ? std::from_chars(text.data() + 1, end, colour, 16) : std::from_chars_result{};
    if (!has_length || parsed.ec != std::errc() || parsed.ptr != end || colour < 0)
      throw UsageError(option, ": '", text, "' is no colour; write it as \"#rrggbb\", of hexadecimal digits");
    if (std::ranges::count(colours, colour) > 0) throw UsageError(option, ": the colour ", text, " is there twice");
    colours.push_back(colour);
  }
  return colours;
}

at::Tensor checked_class_mask(at::Tensor mask, const ClassMaskOptions& options, const std::string& name) {
  auto* const values = mask.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (values[i] == options.ignored) {
      values[i] = kIgnoredTarget;
    } else if (values[i] < 0 || (options.classes && values[i] >= *options.classes)) {
      throw UsageError(name, ": the pixel in column ", i % mask.size(1), " and row ", i / mask.size(1), " is of class ",
                       values[i], ", and there are ",
                       options.classes ? std::to_string(*options.classes) : "none below 0",
                       "; add it to the classes, or set data.ignore_index if it does not count");
    }
  }
  return mask;
}

at::Tensor read_class_mask(const std::filesystem::path& path, const ClassMaskOptions& options) {
  const std::string name = shown_url(path.native());
  const ReadMask read = [&](const ImageOptions& how) { return read_placed_image(path, how); };
  return checked_class_mask(classes_in(read, options, name), options, name);
}

at::Tensor decode_class_mask(std::string_view bytes, const std::string& name, const ClassMaskOptions& options) {
  const ReadMask decode = [&](const ImageOptions& how) { return decode_image(bytes, name, how); };
  return checked_class_mask(classes_in(decode, options, name), options, name);
}

}  // namespace levin::data
