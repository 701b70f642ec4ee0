#include <levin/modules/optim/optimizers/sparse_adam.h>
#include <levin/modules/optim/clip_grad.h>
#include <levin/modules/optim/optimizer_state.h>
#include <torch/nn/functional/embedding.h>
#include <torch/types.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/python_reference.h"
#include "tests/modules/small_training.h"

using namespace small_training;
using levin::UsageError;
namespace optim = levin::optim;

namespace {

const nlohmann::ordered_json& sparse_cases() {
  static const auto cases = nlohmann::ordered_json::parse(R"([
    {"lr": 0.05},
    {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-6, "maximize": true},
    {"lr": 0.05, "clip": 0.1},
    {"lr": 0.05, "accumulate": 3}
  ])");
  return cases;
}

/// The training of python_reference.py's sparse_adam, from step `begin` to step `end`.
void train_table(torch::optim::Optimizer& optimizer, const at::Tensor& table, const nlohmann::ordered_json& how,
                 int64_t begin, int64_t end) {
  const int64_t window = how.value("accumulate", 1);
  for (int64_t step = begin; step < end; ++step) {
    if (step % window == 0) optimizer.zero_grad();
    const at::Tensor rows = torch::embedding(table, torch::tensor({step % 7, int64_t{1}, int64_t{1}}), -1, false, true);
    (rows * fill({3, 4}) - 1).square().mean().backward();
    if (step % window != window - 1) continue;
    if (how.contains("clip")) optim::clip_grad_norm_({table}, how["clip"]);
    optimizer.step();
  }
}

std::unique_ptr<torch::optim::Optimizer> optimizer_of(nlohmann::ordered_json how, const at::Tensor& table) {
  how["class"] = "SparseAdam";
  how.erase("clip");
  how.erase("accumulate");
  return make(how, {table});
}

}  // namespace

TEST_CASE("SparseAdam ends at Python's weights, also clipped and with gradients of several batches") {
  const auto expected = python_reference("sparse_adam", sparse_cases());
  if (!expected) return;
  for (size_t i = 0; i < sparse_cases().size(); ++i) {
    INFO(sparse_cases()[i].dump());
    const at::Tensor table = fill({7, 4}).requires_grad_();
    train_table(*optimizer_of(sparse_cases()[i], table), table, sparse_cases()[i], 0, 60);
    CHECK(distance(table.detach().flatten(), fill({7, 4}).flatten()) > 1e-2);
    CHECK(distance(table.detach().flatten(), flat((*expected)[i])) < 1e-13);
  }
}

TEST_CASE("SparseAdam's state resumes to the bit") {
  const at::Tensor whole = fill({7, 4}).requires_grad_(), first = fill({7, 4}).requires_grad_();
  const nlohmann::ordered_json how = {{"lr", 0.05}};
  train_table(*optimizer_of(how, whole), whole, how, 0, 20);
  const auto before = optimizer_of(how, first);
  train_table(*before, first, how, 0, 10);
  const at::Tensor second = first.detach().clone().requires_grad_();
  const auto after = optimizer_of(how, second);
  optim::load_optimizer_state_dict(*after, optim::optimizer_state_dict(*before));
  train_table(*after, second, how, 10, 20);
  CHECK(torch::equal(second, whole));
}

TEST_CASE("SparseAdam refuses dense gradients and complex parameters") {
  const at::Tensor table = fill({7, 4}).requires_grad_();
  optim::SparseAdam optimizer({table});
  table.square().sum().backward();
  CHECK(contains(error_text<UsageError>([&] { optimizer.step(); }),
                 "SparseAdam takes sparse gradients only, and a parameter of shape [7, 4] has a dense one"));
  const at::Tensor complex = torch::complex(fill({2}), fill({2})).requires_grad_();
  CHECK(contains(error_text<UsageError>([&] { optim::SparseAdam({complex}); }), "does not take complex parameters"));
}
