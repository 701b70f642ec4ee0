#include <levin/data/datasets/readers/image_preprocessor.h>
#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/arange.h>
#include <levin/core/system/error.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::UsageError;
using levin::data::ImagePreprocessor;
using levin::data::ImageResize;
using levin::data::Interpolation;
using levin::data::read_image_preprocessor;
using Json = nlohmann::ordered_json;

namespace {

ImagePreprocessor read(const Json& json, const char* file = "preprocessor_config.json") {
  const TemporaryFolder folder;
  std::ofstream(folder / file) << json.dump();
  return read_image_preprocessor(folder.path(), "data.preprocessor");
}

std::string refused(const Json& json, const char* file = "preprocessor_config.json") {
  return error_text<UsageError>([&] { read(json, file); });
}

Json with(Json json, const Json& changes) {
  json.update(changes);
  return json;
}

bool is_shape(const ImagePreprocessor& read, ImageResize resize, int64_t side, int64_t resized,
              Interpolation interpolation) {
  return read.shape.resize == resize && read.shape.side == side && read.shape.resized == resized &&
         read.shape.interpolation == interpolation;
}

}  // namespace

TEST_CASE("the preprocessors of transformers say how images become squares") {
  const Json vit = {{"image_processor_type", "ViTImageProcessorFast"},
                    {"size", {{"height", 32}, {"width", 32}}},
                    {"resample", 3},
                    {"image_mean", {0.1, 0.2, 0.3}},
                    {"image_std", {0.4, 0.5, 0.6}}};
  const ImagePreprocessor first = read(vit);
  CHECK(is_shape(first, ImageResize::Exact, 32, 32, Interpolation::Bicubic));
  CHECK(first.mean == std::vector<double>{0.1, 0.2, 0.3});
  CHECK(first.stddev == std::vector<double>{0.4, 0.5, 0.6});
  CHECK(is_shape(read({{"feature_extractor_type", "ViTFeatureExtractor"}, {"size", 224}}), ImageResize::Exact, 224, 224,
                 Interpolation::Bilinear));
  CHECK(is_shape(read({{"image_processor_type", "DeiTImageProcessor"}}), ImageResize::ExactCrop, 224, 256,
                 Interpolation::Bicubic));
  CHECK(is_shape(read({{"image_processor_type", "ConvNextImageProcessor"}, {"size", {{"shortest_edge", 224}}}}),
                 ImageResize::CenterCrop, 224, 256, Interpolation::Bicubic));
  CHECK(is_shape(read({{"image_processor_type", "ConvNextImageProcessor"}}), ImageResize::Exact, 384, 384,
                 Interpolation::Bicubic));
  CHECK(is_shape(read({{"image_processor_type", "MobileNetV2ImageProcessor"}}), ImageResize::CenterCrop, 224, 256,
                 Interpolation::Bilinear));
  const ImagePreprocessor plain = read(with(vit, {{"do_normalize", false}}));
  CHECK(plain.mean == std::vector<double>{0});
  CHECK(plain.stddev == std::vector<double>{1});
}

TEST_CASE("pretrained_cfg of timm says how images become squares, also beside the architecture") {
  const Json timm = {{"input_size", {3, 224, 224}},
                     {"crop_pct", 0.95},
                     {"interpolation", "bicubic"},
                     {"mean", {0.5, 0.5, 0.5}},
                     {"std", {0.25, 0.25, 0.25}}};
  const Json config = {{"architecture", "resnet18"}, {"pretrained_cfg", timm}};
  CHECK(is_shape(read(config, "config.json"), ImageResize::CenterCrop, 224, 235, Interpolation::Bicubic));
  CHECK(read(config, "config.json").stddev == std::vector<double>{0.25, 0.25, 0.25});
  const Json older = with({{"architecture", "resnet18"}}, with(timm, {{"crop_mode", "squash"}}));
  CHECK(is_shape(read(older, "config.json"), ImageResize::ExactCrop, 224, 235, Interpolation::Bicubic));
  const auto refused_timm = [&](const Json& changes) {
    return refused({{"pretrained_cfg", with(timm, changes)}}, "config.json");
  };
  CHECK(contains(refused_timm({{"crop_mode", "border"}}), "pretrained_cfg: crop_mode: is border"));
  CHECK(contains(refused_timm({{"interpolation", "random"}}), "interpolation: is random"));
  CHECK(contains(refused_timm({{"input_size", {3, 224, 192}}}), "input_size: expected squares"));
  CHECK(contains(refused_timm({{"input_size", {1, 28, 28}}}), "input_size: expected squares of 3 channels"));
  CHECK(contains(refused_timm({{"crop_pct", 0}}), "crop_pct: is 0"));
  CHECK(contains(refused_timm({{"crop_pct", 1e-9}}), "crop_pct: is"));
  CHECK(contains(refused_timm({{"input_size", {3, "a", "a"}}}), "input_size: expected a number of pixels"));
}

TEST_CASE("steps that levin does not follow are refused by name") {
  const Json vit = {{"image_processor_type", "ViTImageProcessor"}, {"size", {{"height", 32}, {"width", 32}}}};
  const auto with_change = [&](const Json& changes) { return refused(with(vit, changes)); };
  CHECK(with_change(Json::object()) == "no error");
  CHECK(contains(with_change({{"image_processor_type", "CLIPImageProcessor"}}), "levin does not follow CLIPImageProc"));
  CHECK(contains(with_change({{"image_processor_type", nullptr}}), "feature_extractor_type: levin does not follow"));
  CHECK(contains(with_change({{"resample", 1}}), "resample: is 1, which levin does not follow"));
  CHECK(contains(with_change({{"do_pad", true}}), "do_pad: is a step that levin does not follow"));
  CHECK(contains(with_change({{"do_resize", false}}), "do_resize: is false"));
  CHECK(contains(with_change({{"rescale_factor", 0.5}}), "rescale_factor: is 0.5"));
  CHECK(contains(with_change({{"size", {{"height", 32}, {"width", 48}}}}), "size: expected a square"));
  CHECK(contains(with_change({{"size", {{"shortest_edge", 32}}}}), "do_center_crop: is false, so that images are not"));
  CHECK(
      contains(with_change({{"size", {{"shortest_edge", 32}, {"longest_edge", 64}}}}), "size: expected shortest_edge"));
  CHECK(contains(with_change({{"size", "large"}}), "size: expected a number or an object"));
  CHECK(contains(with_change({{"size", -5}}), "size: expected a number of pixels, got -5"));
  CHECK(contains(with_change({{"size", 1'000'000}}), "size: expected a number of pixels"));
  CHECK(contains(with_change({{"image_std", {0.5, 0, 0.5}}}), "image_std: expected numbers above 0"));
  CHECK(contains(with_change({{"image_mean", {0.5, 0.5}}}), "image_mean: expected a number for each of 3 channels"));
  CHECK(contains(with_change({{"do_center_crop", true}, {"crop_size", 64}}), "crop_size: is 64 of images of 32"));
  CHECK(contains(refused(Json::array()), "a JSON object was expected"));
  CHECK(contains(refused({{"model_type", "vit"}}, "config.json"), "save the image processor too"));
  CHECK(contains(refused({}, "other.json"), "has neither preprocessor_config.json nor config.json"));
}

TEST_CASE("images are resized to both sides, of which the middle is taken, with cubic interpolation") {
  const at::Tensor images = at::arange(3 * 12 * 20, at::TensorOptions(at::kFloat)).view({1, 3, 12, 20});
  const at::Tensor squares = levin::data::square_images(
      images, {.resize = ImageResize::ExactCrop, .side = 6, .resized = 10, .interpolation = Interpolation::Bicubic});
  const at::Tensor expected = at::_upsample_bicubic2d_aa(images, {10, 10}, /*align_corners=*/false);
  CHECK(squares.equal(expected.narrow(2, 2, 6).narrow(3, 2, 6)));
}
