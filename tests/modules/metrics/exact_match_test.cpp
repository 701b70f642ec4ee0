#include <levin/modules/metrics/exact_match.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/error_text.h"

using levin::metrics::ExactMatch;

TEST_CASE("ExactMatch is the share of samples that are right as a whole, without ignored targets") {
  const at::Tensor target = torch::tensor({1, 2, 3, 1, 2, -100, 4, -100, -100}).view({3, 3});
  const at::Tensor preds = torch::tensor({1, 2, 3, 1, 2, 7, 5, 5, 5}).view({3, 3});
  ExactMatch counted({.ignore_index = -100}), strict;
  counted.update(preds, target);
  CHECK(counted.compute().item<double>() == Approx(2.0 / 3));
  strict.update(preds, target);
  CHECK(strict.compute().item<double>() == Approx(1.0 / 3));
  counted.update(preds.narrow(0, 2, 1), target.narrow(0, 2, 1));
  CHECK(counted.compute().item<double>() == Approx(0.5));
  // Scores [samples, classes, ...].
  ExactMatch of_scores({.ignore_index = -100});
  of_scores.update(torch::one_hot(preds, 9).to(torch::kFloat).movedim(2, 1), target);
  CHECK(of_scores.compute().item<double>() == Approx(2.0 / 3));
  CHECK(std::isnan(ExactMatch().compute().item<double>()));
}

TEST_CASE("ExactMatch refuses tensors of other shapes and dtypes") {
  ExactMatch metric;
  const at::Tensor target = torch::zeros({2, 3}, torch::kLong);
  for (const at::Tensor& preds : {torch::zeros({2, 4}, torch::kLong), torch::zeros({2, 3}), torch::zeros({2, 5, 4})})
    CHECK(
        contains(error_text<levin::UsageError>([&] { metric.update(preds, target); }), "ExactMatch: expected integer"));
}
