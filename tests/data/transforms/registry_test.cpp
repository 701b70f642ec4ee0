#include <levin/data/transforms/registry.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/random_flip.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using levin::ClassChoice;
using levin::Json;
using levin::OptionTraits;
using namespace levin::data;

namespace {

using Parts = std::vector<ClassChoice<TransformKind>>;

Parts parts_of(const Json& json) {
  Parts parts;
  OptionTraits<Parts>::type().set(&parts, "data.transforms", json, {});
  return parts;
}

struct Invert : Transform {
  void operator()(levin::Batch& batch, std::span<Rng>) const override { batch.set("input", 255 - batch.input()); }
};

}  // namespace

LEVIN_REGISTER_TRANSFORM(Invert);

TEST_CASE("levin's transforms are registered, each with a help line") {
  const auto& registry = TransformKind::registry();
  for (const char* name : {"ConvertImage", "Normalize", "Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop",
                           "RandomHorizontalFlip", "RandomVerticalFlip", "RandomRotation", "RandomAffine",
                           "ColorJitter", "RandomErasing", "OneHot", "Mixup", "CutMix"}) {
    const levin::ClassInfo* info = registry.find(name);
    REQUIRE(info);
    CHECK_FALSE(info->help.empty());
    CHECK_FALSE(info->schema().fields().empty());
  }
}

TEST_CASE("a list of transforms from JSON is one transform") {
  const Json json = Json::parse(R"(["Invert", {"class": "RandomCrop", "size": [3, 2], "padding": 1},
                                    {"class": "RandomHorizontalFlip", "p": 1}])");
  const TransformPtr made = make_transforms(parts_of(json), "data.transforms");
  const at::Tensor images = test_images({6, 1, 3, 3});
  at::Tensor expected = applied(Invert(), images);
  expected = applied(RandomCrop({.size = {3, 2}, .padding = 1}), expected);
  CHECK(at::equal(applied(*made, images), expected.flip({3})));
  CHECK(make_transforms({}, "data.transforms") == nullptr);
  const TransformPtr one = make_transforms({"Invert"}, "data.transforms");
  CHECK(at::equal(applied(*one, images), 255 - images));
}

TEST_CASE("the parts of a list are made in C++ too, and errors name their place") {
  const Parts parts = {{"RandomVerticalFlip", RandomFlipOptions{.p = 1}}, {"Resize"}};
  CHECK(error_text<levin::UsageError>([&] { make_transforms(parts, "data.transforms"); }) ==
        "Resize.size: expected a number or [height, width], got 0 numbers");
  const Parts wrong = {{"RandomVerticalFlip"}, {"Rezise"}};
  CHECK(error_text<levin::UsageError>([&] { make_transforms(wrong, "data.transforms"); }) ==
        "data.transforms[1].class: no transform 'Rezise' (did you mean Resize?); `levin list transforms` shows them");
  CHECK(error_text([] { parts_of(Json::parse(R"([{"class": "RandomHorizontalFlip", "p": 2}])")); }) ==
        "data.transforms[0].p: expected at least 0 and at most 1, got 2.0");
}
