#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/trainer/tuner/lr_find.h>
#include <levin/trainer/tuner/lr_suggestion.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/modules/python_reference.h"
#include "tests/small_modules.h"

using levin::LRFindOptions;
using levin::LRFindResult;
using nlohmann::ordered_json;

namespace {

ordered_json numbers(const torch::Tensor& tensor) {
  const auto flat = tensor.detach().contiguous().view(-1);
  const std::vector<float> values(flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel());
  if (tensor.dim() < 2) return values;
  ordered_json rows = ordered_json::array();
  for (int64_t i = 0; i < tensor.size(0); ++i) rows.push_back(numbers(tensor[i]));
  return rows;
}

}  // namespace

TEST_CASE("the suggestion is PyTorch Lightning's on the same losses") {
  std::vector<std::vector<double>> curves;
  std::vector<double> lrs;
  for (int i = 0; i < 100; ++i) lrs.push_back(1e-8 * std::pow(1e8, (i + 1) / 100.0));
  torch::manual_seed(3);
  for (int curve = 0; curve < 8; ++curve) {
    std::vector<double> losses;
    for (int i = 0; i < 100; ++i) {
      const double fall = 2.0 / (1 + std::exp((i - 50 - 4 * curve) / 4.0)), rise = std::exp((i - 95) / 3.0);
      losses.push_back(fall + rise + 0.02 * torch::randn({1}).item<double>());
    }
    if (curve % 2 == 1) losses[30] = losses[60] = std::nan("");
    curves.push_back(losses);
  }
  ordered_json cases = ordered_json::array();
  std::vector<std::optional<size_t>> ours;
  for (const auto& [begin, end] : {std::pair(10, 1), std::pair(0, 5), std::pair(97, 1), std::pair(98, 1)})
    for (const auto& losses : curves) {
      cases.push_back({{"lrs", lrs}, {"losses", losses}, {"skip_begin", begin}, {"skip_end", end}});
      ours.push_back(levin::steepest_descent(lrs, losses, begin, end));
    }
  const auto theirs = python_reference("suggestion", cases);
  if (!theirs) return;
  REQUIRE(theirs->size() == ours.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("case " << i);
    CHECK((*theirs)[i].is_null() == !ours[i].has_value());
    if (ours[i]) CHECK((*theirs)[i].get<double>() == lrs[*ours[i]]);
  }
}

TEST_CASE("a whole range test is PyTorch Lightning's: rates, smoothed losses, suggestion") {
  const TemporaryFolder folder;
  const ToyData data(32);
  struct Case {
    const char* mode;
    double min_lr, max_lr;
    int64_t num_training, accumulate;
  };
  ordered_json cases = ordered_json::array();
  std::vector<LRFindResult> ours;
  for (const Case& one :
       {Case{"exponential", 1e-8, 1, 100, 1}, Case{"exponential", 1e-5, 10, 60, 2}, Case{"linear", 1e-4, 0.4, 50, 1}}) {
    ToyModule module(torch::nn::Sequential(torch::nn::Linear(4, 1)));
    module.optimizers_of = [](ToyModule& m) { return levin::optim::SGD(m.parameters(), {.lr = 0.1, .momentum = 0.9}); };
    cases.push_back({{"input", numbers(data.input)},
                     {"target", numbers(data.target)},
                     {"weight", numbers(module.parameters()[0])},
                     {"bias", numbers(module.parameters()[1])},
                     {"batch_size", 8},
                     {"mode", one.mode},
                     {"min_lr", one.min_lr},
                     {"max_lr", one.max_lr},
                     {"num_training", one.num_training},
                     {"accumulate_grad_batches", one.accumulate}});
    auto options = quiet(folder);
    options.accumulate_grad_batches = one.accumulate;
    levin::Trainer trainer(options);
    LRFindOptions how;
    how.mode = one.mode;
    how.min_lr = one.min_lr;
    how.max_lr = one.max_lr;
    how.num_training = one.num_training;
    ours.push_back(levin::lr_find(trainer, module, data.loader(8), how));
  }
  CHECK(ours[0].lrs.front() == 1e-8);
  CHECK(ours[1].stopped_early);
  const auto theirs = python_reference("sweep", cases);
  if (!theirs) return;
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("case " << i);
    const auto lrs = (*theirs)[i]["lr"].get<std::vector<double>>();
    const auto losses = (*theirs)[i]["loss"].get<std::vector<double>>();
    REQUIRE(ours[i].lrs.size() == lrs.size());
    const double scale = cases[i]["accumulate_grad_batches"].get<double>();  // Lightning's loss is the window's part
    for (size_t step = 0; step < lrs.size(); ++step) {
      CHECK(ours[i].lrs[step] == Approx(lrs[step]).epsilon(1e-12));
      CHECK(ours[i].losses[step] == Approx(scale * losses[step]).epsilon(1e-4));
    }
    CHECK(ours[i].suggestion().value() == Approx((*theirs)[i]["suggestion"].get<double>()).epsilon(1e-12));
  }
}
