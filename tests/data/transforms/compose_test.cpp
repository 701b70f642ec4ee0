#include <levin/data/transforms/compose.h>
#include <levin/data/transforms/convert_image.h>
#include <levin/data/transforms/crop.h>
#include <levin/data/transforms/random_flip.h>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using namespace levin::data;

TEST_CASE("Compose takes transforms by value and by pointer, in order") {
  const auto flip = std::make_shared<RandomHorizontalFlip>(RandomFlipOptions{.p = 1});
  const Lambda add([](levin::Batch& batch, std::span<Rng> rngs) {
    CHECK(rngs.size() == 2);
    batch.set("input", batch.input() + 1);
  });
  const Compose both({ConvertImage({.scale = false}), flip, add, std::shared_ptr<const Transform>(flip)});
  const at::Tensor images = test_images({2, 3, 4, 5});
  CHECK(at::equal(applied(both, images), images.to(at::kFloat) + 1));
  CHECK(at::equal(applied(Compose({}), images), images));
}

TEST_CASE("what Compose draws depends on each sample alone") {
  const Compose compose({RandomCrop({.size = 8, .padding = 2}), RandomHorizontalFlip(), RandomVerticalFlip()});
  CHECK(depends_on_sample_alone(compose, test_images({8, 3, 8, 8})));
}

TEST_CASE("Compose refuses a null pointer") {
  CHECK(error_text<levin::UsageError>([] { Compose({TransformPtr()}); }) ==
        "Compose: expected a transform, got a null pointer");
}
