#include <levin/data/datasets/readers/image_preprocessor.h>
#include <levin/core/state/json_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <levin/data/remote/local_path.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace levin::data {
namespace {

namespace fs = std::filesystem;
using PreprocessorJson = nlohmann::ordered_json;

constexpr int64_t kMostPixels = 1 << 15;

/// Reads fields of a JSON object; errors name the file and the field.
class PreprocessorFields {
 public:
  PreprocessorFields(const PreprocessorJson& object, std::string file) : object_(object), file_(std::move(file)) {
    if (!object.is_object()) throw UsageError(file_, ": a JSON object was expected");
  }

  const PreprocessorJson* find(const std::string& name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  template <class... Parts>
  [[noreturn]] void fail(const std::string& name, const Parts&... parts) const {
    throw UsageError(file_, ": ", name, ": ", parts...);
  }
  [[noreturn]] void fail_value(const std::string& name, const PreprocessorJson& value, const char* expected) const {
    fail(name, "expected ", expected, ", got ", json_text(value).substr(0, 80));
  }
  int64_t pixels(const std::string& name, const PreprocessorJson& value) const {
    if (!value.is_number_integer() || value.get<double>() < 1 || value.get<double>() > kMostPixels)
      fail_value(name, value, "a number of pixels");
    return value.get<int64_t>();
  }
  double number(const std::string& name, double otherwise) const {
    const PreprocessorJson* const value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !std::isfinite(value->get<double>())) fail_value(name, *value, "a number");
    return value->get<double>();
  }
  bool flag(const std::string& name, bool otherwise) const {
    const PreprocessorJson* const value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail_value(name, *value, "true or false");
    return value->get<bool>();
  }
  std::string word(const std::string& name, const std::string& otherwise) const {
    const PreprocessorJson* const value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail_value(name, *value, "a text");
    return value->get<std::string>();
  }
  /// One number for all channels, or three.
  std::vector<double> of_channels(const std::string& name, const std::vector<double>& otherwise) const {
    const PreprocessorJson* const value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_number()) return {number(name, 0)};
    const bool fits = value->is_array() && (value->size() == 1 || value->size() == 3) &&
                      std::ranges::all_of(*value, [](const PreprocessorJson& one) {
                        return one.is_number() && std::isfinite(one.get<double>());
                      });
    if (!fits) fail_value(name, *value, "a number for each of 3 channels");
    return value->get<std::vector<double>>();
  }
  const PreprocessorJson& object() const { return object_; }

 private:
  const PreprocessorJson& object_;
  std::string file_;
};

/// What the image processors of a kind do where their file says nothing.
struct ProcessorKind {
  std::string_view name;
  bool is_square = true;  ///< a size that is one number is that of both sides, not of the shorter one
  int64_t size = 224, crop = 0;
  bool is_cubic = false;
};

constexpr std::array<ProcessorKind, 5> kProcessorKinds = {
    {{.name = "ViT"},
     {.name = "DeiT", .size = 256, .crop = 224, .is_cubic = true},
     {.name = "ConvNext", .is_square = false, .size = 384, .is_cubic = true},
     {.name = "MobileNetV1", .is_square = false, .size = 256, .crop = 224},
     {.name = "MobileNetV2", .is_square = false, .size = 256, .crop = 224}}};

ProcessorKind kind_of(const PreprocessorFields& fields) {
  const bool is_old = fields.find("image_processor_type") == nullptr;
  const std::string field = is_old ? "feature_extractor_type" : "image_processor_type";
  const std::string type = fields.word(field, "");
  for (const ProcessorKind& kind : kProcessorKinds)
    for (const char* const end : {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"})
      if (type == std::string(kind.name) + end) return kind;
  fields.fail(field, "levin does not follow ", type.empty() ? "a preprocessor without a type" : type,
              "; it follows those of ViT, DeiT, ConvNext, MobileNetV1 and MobileNetV2");
}

struct ProcessorSize {
  bool is_shorter = false;  ///< else of both sides
  int64_t pixels = 0;
};

/// Reads a number, {"shortest_edge": ...} or {"height": ..., "width": ...} of a square.
ProcessorSize size_of(const PreprocessorFields& fields, const std::string& name, const ProcessorSize& otherwise) {
  const PreprocessorJson* const value = fields.find(name);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return {.is_shorter = otherwise.is_shorter, .pixels = fields.pixels(name, *value)};
  if (!value->is_object()) fields.fail_value(name, *value, "a number or an object");
  const PreprocessorFields size(*value, name);
  const PreprocessorJson* const shorter = size.find("shortest_edge");
  const PreprocessorJson *const height = size.find("height"), *const width = size.find("width");
  if (shorter != nullptr && size.find("longest_edge") == nullptr && height == nullptr && width == nullptr)
    return {.is_shorter = true, .pixels = fields.pixels(name + ".shortest_edge", *shorter)};
  if (height == nullptr || width == nullptr || shorter != nullptr)
    fields.fail_value(name, *value, "shortest_edge, or height and width");
  const int64_t pixels = fields.pixels(name + ".height", *height);
  if (fields.pixels(name + ".width", *width) != pixels)
    fields.fail_value(name, *value, "a square, as levin's images are");
  return {.pixels = pixels};
}

Interpolation pillow_interpolation(const PreprocessorFields& fields, bool is_cubic) {
  constexpr int kBilinear = 2, kBicubic = 3;
  const double number = fields.number("resample", is_cubic ? kBicubic : kBilinear);
  if (number == kBilinear) return Interpolation::Bilinear;
  if (number == kBicubic) return Interpolation::Bicubic;
  fields.fail("resample", "is ", number, ", which levin does not follow; it has 2 (bilinear) and 3 (bicubic)");
}

/// Throws for steps that a preprocessor does and levin does not.
void check_steps(const PreprocessorFields& fields) {
  constexpr std::array<std::string_view, 5> kKnown = {"do_resize", "do_center_crop", "do_rescale", "do_normalize",
                                                      "do_convert_rgb"};
  for (const auto& [name, value] : fields.object().items()) {
    const bool is_step = name.starts_with("do_") && value.is_boolean() && value.get<bool>();
    if (is_step && std::ranges::count(kKnown, std::string_view(name)) == 0)
      fields.fail(name, "is a step that levin does not follow");
  }
  for (const char* const needed : {"do_resize", "do_rescale"})
    if (!fields.flag(needed, true)) fields.fail(needed, "is false, and levin always does it");
  constexpr double kByte = 1.0 / 255;
  if (std::abs(fields.number("rescale_factor", kByte) - kByte) > 1e-9)
    fields.fail("rescale_factor", "is ", fields.number("rescale_factor", kByte), "; levin divides bytes by 255");
}

SquareShape shape_of(const PreprocessorFields& fields, const ProcessorKind& kind) {
  const ProcessorSize size = size_of(fields, "size", {.is_shorter = !kind.is_square, .pixels = kind.size});
  SquareShape shape = {.interpolation = pillow_interpolation(fields, kind.is_cubic)};
  if (kind.name == "ConvNext") {
    if (!size.is_shorter) fields.fail("size", "has no shortest_edge");
    constexpr int64_t kLeastExact = 384;
    const double part = fields.number("crop_pct", 224.0 / 256);
    if (!(part > 0 && part <= 1)) fields.fail("crop_pct", "is ", part, "; it is above 0 and at most 1");
    shape.side = shape.resized = size.pixels;
    shape.resize = size.pixels < kLeastExact ? ImageResize::CenterCrop : ImageResize::Exact;
    if (size.pixels < kLeastExact) shape.resized = static_cast<int64_t>(static_cast<double>(size.pixels) / part);
  } else {
    const bool crops = fields.flag("do_center_crop", kind.crop > 0);
    if (!crops && size.is_shorter)
      fields.fail("do_center_crop", "is false, so that images are not square, as levin's images are");
    const ProcessorSize crop = crops ? size_of(fields, "crop_size", {.pixels = kind.crop > 0 ? kind.crop : 224}) : size;
    shape.side = crop.pixels;
    shape.resized = size.pixels;
    shape.resize = size.is_shorter ? ImageResize::CenterCrop : crops ? ImageResize::ExactCrop : ImageResize::Exact;
  }
  if (shape.resized < shape.side)
    fields.fail("crop_size", "is ", shape.side, " of images of ", shape.resized, ", and levin adds no border");
  return shape;
}

void check_deviations(const PreprocessorFields& fields, const std::string& name, const ImagePreprocessor& read) {
  for (const double one : read.stddev)
    if (!(one > 0)) fields.fail(name, "expected numbers above 0, got ", one);
}

ImagePreprocessor of_transformers(const PreprocessorFields& fields) {
  const ProcessorKind kind = kind_of(fields);
  check_steps(fields);
  ImagePreprocessor read = {.shape = shape_of(fields, kind), .mean = {0}, .stddev = {1}};
  if (!fields.flag("do_normalize", true)) return read;
  read.mean = fields.of_channels("image_mean", {0.5});
  read.stddev = fields.of_channels("image_std", {0.5});
  check_deviations(fields, "image_std", read);
  return read;
}

ImagePreprocessor of_timm(const PreprocessorFields& fields) {
  const PreprocessorJson* const size = fields.find("input_size");
  if (size == nullptr) fields.fail("input_size", "is missing");
  if (!size->is_array() || size->size() != 3) fields.fail_value("input_size", *size, "channels, height and width");
  ImagePreprocessor read;
  read.shape.side = fields.pixels("input_size", (*size)[1]);
  if ((*size)[0] != 3 || (*size)[2] != (*size)[1])
    fields.fail_value("input_size", *size, "squares of 3 channels, as levin's images are");
  const double part = fields.number("crop_pct", 0.875);
  if (!(part > 0 && part <= 1)) fields.fail("crop_pct", "is ", part, "; it is above 0 and at most 1");
  const double resized = std::floor(static_cast<double>(read.shape.side) / part);
  if (resized > kMostPixels) fields.fail("crop_pct", "is ", part, "; images would have ", resized, " pixels");
  read.shape.resized = static_cast<int64_t>(resized);
  const std::string mode = fields.word("crop_mode", "center");
  if (mode != "center" && mode != "squash")
    fields.fail("crop_mode", "is ", mode, ", which levin does not follow; it has center and squash");
  read.shape.resize = mode == "center" ? ImageResize::CenterCrop : ImageResize::ExactCrop;
  const std::string word = fields.word("interpolation", "bilinear");
  if (word != "bilinear" && word != "bicubic")
    fields.fail("interpolation", "is ", word, ", which levin does not follow; it has bilinear and bicubic");
  read.shape.interpolation = word == "bicubic" ? Interpolation::Bicubic : Interpolation::Bilinear;
  read.mean = fields.of_channels("mean", {0.485, 0.456, 0.406});
  read.stddev = fields.of_channels("std", {0.229, 0.224, 0.225});
  check_deviations(fields, "std", read);
  return read;
}

}  // namespace

ImagePreprocessor read_image_preprocessor(const fs::path& given, const std::string& option) {
  const fs::path folder = local_folder(given);
  const fs::path own = folder / "preprocessor_config.json", config = folder / "config.json";
  if (fs::exists(own)) {
    const PreprocessorJson json = read_json_file(own);
    return of_transformers({json, own.string()});
  }
  if (!fs::exists(config))
    throw UsageError(option, ": ", folder.string(), " has neither preprocessor_config.json nor config.json");
  const PreprocessorJson json = read_json_file(config);
  const auto found = json.is_object() ? json.find("pretrained_cfg") : json.end();
  if (json.is_object() && found != json.end()) return of_timm({*found, config.string() + ": pretrained_cfg"});
  if (json.is_object() && json.contains("architecture") && json.contains("input_size"))
    return of_timm({json, config.string()});  // files of older versions
  throw UsageError(
      option, ": ", folder.string(),
      " has no preprocessor_config.json, and its config.json is none of timm; save the image processor too");
}

}  // namespace levin::data
