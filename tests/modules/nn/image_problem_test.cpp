#include <levin/modules/nn/image_problem.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::UsageError;
using levin::nn::ImageProblem;
using levin::nn::ProblemType;

TEST_CASE("a problem has its loss and its predictions: one class, labels, or numbers") {
  const at::Tensor logits = at::tensor({0.5, -1., 2., 0.1, 0.2, -3.}).view({2, 3});
  const at::Tensor labels = at::tensor({1., 0., 1., 0., 0., 1.}).view({2, 3});
  const at::Tensor classes = at::tensor({int64_t{2}, int64_t{0}});
  const ImageProblem one{.problem_type = ProblemType::SingleLabel}, several{.problem_type = ProblemType::MultiLabel},
      numbers{.problem_type = ProblemType::Regression};
  CHECK(at::equal(one.loss(logits, classes, ""), at::cross_entropy_loss(logits, classes)));
  CHECK(at::equal(several.loss(logits, labels, ""), at::binary_cross_entropy_with_logits(logits, labels)));
  CHECK(at::equal(numbers.loss(logits, labels, ""), at::mse_loss(logits, labels)));
  CHECK(at::equal(one.predicted(logits), logits.softmax(1)));
  CHECK(at::equal(several.predicted(logits), logits.sigmoid()));
  CHECK(at::equal(numbers.predicted(logits), logits));
}

TEST_CASE("one number of an image has a target without columns, and other targets are named") {
  const at::Tensor logits = at::tensor({0.5, -1.}).view({2, 1}), wanted = at::tensor({1., 0.});
  const ImageProblem numbers{.problem_type = ProblemType::Regression}, several{.problem_type = ProblemType::MultiLabel};
  CHECK(at::equal(numbers.loss(logits, wanted, ""), at::mse_loss(logits.squeeze(1), wanted)));
  CHECK(error_text<UsageError>([&] {
          several.loss(logits, at::tensor({int64_t{1}, int64_t{0}}), "");
        }).starts_with("model.problem_type: labels need a target of 0 and 1 for each, floating point [2]"));
  CHECK(error_text<UsageError>([&] {
          numbers.loss(logits, wanted.view({1, 2}), "");
        }).starts_with("model.problem_type: numbers need a target, floating point [2, 1]"));
}
