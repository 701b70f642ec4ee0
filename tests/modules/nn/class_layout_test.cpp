#include <levin/modules/nn/class_layout.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::ClassDimension;
using levin::with_classes_second;

TEST_CASE("classes in the last dimension are found by the target") {
  const at::Tensor output = at::randn({2, 3, 5}), target = at::arange(6).remainder(5).reshape({2, 3});
  const auto [values, classes] = with_classes_second(output, target, ClassDimension::Auto);
  CHECK(values.sizes() == at::IntArrayRef({6, 5}));
  CHECK(at::cross_entropy_loss(values, classes).allclose(at::cross_entropy_loss(output.transpose(1, 2), target)));
  const at::Tensor second = output.transpose(1, 2);
  CHECK(with_classes_second(second, target, ClassDimension::Auto).first.is_same(second));
  const at::Tensor two = at::randn({4, 3}), plain = at::zeros({4}, at::kLong);
  CHECK(with_classes_second(two, plain, ClassDimension::Last).first.is_same(two));
}

TEST_CASE("where both dimensions fit, the option decides") {
  const at::Tensor output = at::randn({2, 3, 3}), target = at::zeros({2, 3}, at::kLong);
  CHECK(error_text<levin::UsageError>([&] { with_classes_second(output, target, ClassDimension::Auto); }) ==
        "model.class_dimension: the model makes [2, 3, 3] and the target is [2, 3], so that the classes may be in "
        "dimension 1 or in the last one; set it to second or last");
  CHECK(with_classes_second(output, target, ClassDimension::Last).first.sizes() == at::IntArrayRef({6, 3}));
  CHECK(with_classes_second(output, target, ClassDimension::Second).first.is_same(output));
  const at::Tensor probabilities = at::rand({2, 3, 3});
  CHECK(with_classes_second(output, probabilities, ClassDimension::Last).second.sizes() == at::IntArrayRef({6, 3}));
  CHECK_THROWS_AS(with_classes_second(output, at::zeros({2, 4}, at::kLong), ClassDimension::Last), levin::UsageError);
}

TEST_CASE("targets that are ignored do not count in the accuracy") {
  const at::Tensor target = at::arange(4).remainder(3);
  const at::Tensor output = at::one_hot(target, 3).to(at::kFloat);
  CHECK(levin::count_class_hits(output, target, false).share.item<float>() == 1);
  at::Tensor some = target.clone();
  some[0] = -100;
  some[1] = 2;
  const levin::ClassHits hits = levin::count_class_hits(output, some, true);
  CHECK(hits.counted == 3);
  CHECK(hits.share.item<float>() == Approx(2. / 3));
  const levin::ClassHits none = levin::count_class_hits(output, at::full({4}, -100, at::kLong), true);
  CHECK(none.counted == 0);
  CHECK(none.share.item<float>() == 0);
}
