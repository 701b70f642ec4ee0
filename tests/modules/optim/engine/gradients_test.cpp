#include <levin/modules/optim/engine/gradients.h>
#include <torch/nn/utils/clip_grad.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using levin::UsageError;
using levin::optim::Gradients;
using small_training::fill;

namespace {

/// Three parameters with gradients and one without.
std::vector<at::Tensor> with_gradients(at::ScalarType dtype = at::kFloat) {
  std::vector<at::Tensor> parameters;
  for (const at::Tensor& value : small_training::parameters()) {
    parameters.push_back(value.detach().to(dtype).requires_grad_());
    parameters.back().mutable_grad() = parameters.back().detach() * 3;
  }
  parameters.push_back(torch::ones({2}, torch::TensorOptions(dtype)).requires_grad_());
  return parameters;
}

std::vector<float> values(const std::vector<at::Tensor>& parameters) {
  std::vector<float> all;
  for (const at::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const at::Tensor row = parameter.grad().to(at::kFloat).flatten().contiguous();
    all.insert(all.end(), row.data_ptr<float>(), row.data_ptr<float>() + row.numel());
  }
  return all;
}

bool close(double a, double b, double tolerance = 1e-5) { return std::abs(a - b) <= tolerance * std::abs(b); }

}  // namespace

TEST_CASE("the norm has the bits of Python's clip_grad_norm_, clipped gradients differ by its reciprocal at most") {
  const std::vector<double> max_norms = {0.5, 100.0};
  const auto expected = python_reference("clip", max_norms);
  if (!expected) return;
  for (size_t i = 0; i < max_norms.size(); ++i) {
    const auto parameters = with_gradients();
    Gradients gradients(parameters);
    const at::Tensor norm = gradients.pass(1.0, /*want_norm=*/true).norm;
    gradients.clip_norm(norm, max_norms[i]);
    const auto python = (*expected)[i].get<std::vector<float>>();
    CHECK(norm.item<float>() == python.at(0));
    const std::vector<float> clipped = values(parameters);
    REQUIRE(clipped.size() + 1 == python.size());
    for (size_t k = 0; k < clipped.size(); ++k) CHECK(close(clipped[k], python[k + 1], 2.5e-7));
  }
}

TEST_CASE("clipping has the bits of LibTorch's clip_grad_norm_") {
  for (const double max_norm : {0.1, 0.5, 3.0, 100.0}) {
    const auto ours = with_gradients();
    Gradients gradients(ours);
    gradients.clip_norm(gradients.pass(1.0, /*want_norm=*/true).norm, max_norm);
    const auto theirs = with_gradients();
    torch::nn::utils::clip_grad_norm_(theirs, max_norm);
    CHECK(values(ours) == values(theirs));
  }
}

TEST_CASE("one pass multiplies, finds infinities and the norm") {
  const auto parameters = with_gradients();
  const std::vector<float> before = values(parameters);
  Gradients gradients(parameters);
  const auto nothing = gradients.pass(1.0, false);
  CHECK(!nothing.norm.defined());
  CHECK(!nothing.found_inf.defined());
  CHECK(values(parameters) == before);

  const bool by_tensor = GENERATE(false, true);
  const auto pass = [&](double by, bool norm, bool found) {
    return by_tensor ? gradients.pass(torch::tensor({by}, torch::kFloat), norm, found)
                     : gradients.pass(by, norm, found);
  };
  const double norm = gradients.pass(1.0, true).norm.item<double>();
  CHECK(close(pass(0.5, true, false).norm.item<double>(), norm / 2));
  const auto result = pass(0.5, true, true);
  CHECK(close(result.norm.item<double>(), norm / 4));
  CHECK(result.found_inf.item<float>() == 0);
  CHECK(values(parameters)[3] == before[3] / 4);
  for (double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    parameters[1].mutable_grad()[2] = bad;
    CHECK(pass(1.0, false, true).found_inf.item<float>() == 1);
  }
}

TEST_CASE("zero drops gradients, and what has none is skipped") {
  const auto parameters = with_gradients();
  Gradients gradients(parameters);
  gradients.zero();
  for (const at::Tensor& parameter : parameters) CHECK(!parameter.grad().defined());
  const auto result = gradients.pass(2.0, true, true);
  CHECK(result.norm.item<double>() == 0);
  CHECK(result.found_inf.item<float>() == 0);
  gradients.clip_norm(result.norm, 1);
  gradients.clip_value(1);
}

TEST_CASE("clip_value clamps each element") {
  const auto parameters = with_gradients();
  Gradients(parameters).clip_value(0.25);
  const std::vector<float> clipped = values(parameters);
  CHECK(*std::max_element(clipped.begin(), clipped.end()) == 0.25f);
  CHECK(*std::min_element(clipped.begin(), clipped.end()) == -0.25f);
}

TEST_CASE("several dtypes and sparse gradients have one norm") {
  auto parameters = with_gradients();
  for (const at::Tensor& parameter : with_gradients(at::kBFloat16)) parameters.push_back(parameter);
  const at::Tensor embedding = torch::zeros({4, 2}).requires_grad_();
  // Row 1 stands twice: its sum counts.
  embedding.mutable_grad() =
      torch::sparse_coo_tensor(torch::tensor({{1, 1, 3}}), torch::tensor({{1.f, 0.f}, {2.f, 0.f}, {0.f, 4.f}}), {4, 2});
  parameters.push_back(embedding);
  Gradients gradients(parameters);
  double squares = 0;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined())
      squares += parameter.grad().to_dense().to(at::kDouble).square().sum().item<double>();
  const at::Tensor norm = gradients.pass(2.0, true).norm;
  CHECK(close(norm.item<double>(), 2 * std::sqrt(squares), 1e-2));
  CHECK(embedding.grad().to_dense()[1][0].item<float>() == 6);
  gradients.clip_norm(norm, 1);
  CHECK(close(gradients.pass(1.0, true).norm.item<double>(), 1, 1e-2));
}

TEST_CASE("blocks hold each parameter once") {
  const auto parameters = with_gradients();
  Gradients gradients(parameters);
  const double norm = gradients.pass(1.0, true).norm.item<double>();
  gradients.set_layout({{{parameters[2], parameters[3]}}, {{parameters[1], parameters[0]}}});
  CHECK(gradients.layout().size() == 2);
  CHECK(close(gradients.pass(1.0, true).norm.item<double>(), norm));
  const auto lacking = [&] { gradients.set_layout({{{parameters[0]}}}); };
  CHECK(contains(error_text<UsageError>(lacking), "lack 3 of the optimizer's parameters"));
  const auto twice = [&] { gradients.set_layout({{parameters}, {{parameters[0]}}}); };
  CHECK(contains(error_text<UsageError>(twice), "stands in two blocks"));
  const auto duplicate = [&] { Gradients({parameters[0], parameters[0]}); };
  CHECK(contains(error_text<UsageError>(duplicate), "given twice"));
}
