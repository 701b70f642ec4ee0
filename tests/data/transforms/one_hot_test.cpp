#include <levin/data/transforms/one_hot.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/tensor.h>

#include "tests/catch.h"
#include "tests/data/transforms/transform_test.h"
#include "tests/error_text.h"

using levin::Batch;
using namespace levin::data;

namespace {

at::Tensor hot(const at::Tensor& target, int64_t num_classes) {
  Batch batch(test_images({target.size(0), 2}), target);
  std::vector<Rng> rngs = rngs_of(first_indices(target.size(0)));
  OneHot({.num_classes = num_classes})(batch, rngs);
  return batch.target();
}

}  // namespace

TEST_CASE("class numbers become rows with a single 1") {
  const at::Tensor target = at::tensor(std::vector<int64_t>{2, 0, 3});
  CHECK(at::equal(hot(target, 4), at::eye(4).index_select(0, target)));
  CHECK(hot(target, 5).scalar_type() == at::kFloat);
}

TEST_CASE("a number that is no class is refused by name") {
  CHECK(error_text([] { hot(at::tensor(std::vector<int64_t>{1, 4}), 4); }) ==
        "OneHot: the target 4 is none of 4 classes, 0 to 3");
  CHECK(error_text([] { hot(at::tensor(std::vector<int64_t>{-1}), 4); }) ==
        "OneHot: the target -1 is none of 4 classes, 0 to 3");
  CHECK(error_text([] { hot(at::tensor(std::vector<float>{1}), 4); }) ==
        "OneHot: needs `target` as class numbers, int64 [samples] on the CPU, got float32 [1]");
  CHECK(error_text<levin::UsageError>([] { OneHot({}); }) == "OneHot.num_classes: missing; give the number of classes");
}
