// Every scheduler against Python's, value by value.
#include <levin/core/state/state_file.h>
#include <levin/modules/optim/optimizer_state.h>

#include <set>

#include "tests/catch.h"
#include "tests/modules/lr_schedulers/scheduler_cases.h"
#include "tests/modules/python_reference.h"
#include "tests/temporary_folder.h"

using scheduler_cases::Json;
using scheduler_cases::Scheduled;

namespace {

constexpr int kSteps = 300;

double relative_difference(double a, double b) {
  return a == b ? 0 : std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

/// Compares the rows from `first_step` on with Python's; at `restore_at` a new optimizer and scheduler continue from
/// the states. Returns the largest relative difference.
double compare(Scheduled run, const Json& expected, int first_step, int restore_at = -1) {
  double largest = 0;
  for (int step = first_step;; ++step) {
    if (step == restore_at) {
      Scheduled fresh(run.json);
      levin::optim::load_optimizer_state_dict(*fresh.optimizer, levin::optim::optimizer_state_dict(*run.optimizer));
      fresh.scheduler->load_state_dict(run.scheduler->state_dict());
      run = std::move(fresh);
    }
    const std::vector<double> row = run.row();
    REQUIRE(row.size() == expected[static_cast<size_t>(step)].size());
    for (size_t i = 0; i < row.size(); ++i) {
      const double difference = relative_difference(row[i], expected[static_cast<size_t>(step)][i].get<double>());
      if (!(difference < 1e-12)) {
        INFO("step " << step << " column " << i << ": " << row[i] << ", Python "
                     << expected[static_cast<size_t>(step)][i]);
        CHECK(difference < 1e-12);
        return difference;
      }
      largest = std::max(largest, difference);
    }
    if (step == kSteps) return largest;
    run.step(step);
  }
}

bool changes(const Json& rows) {
  std::set<double> rates;
  for (const Json& row : rows) rates.insert(row[0].get<double>());
  return rates.size() > 1;
}

}  // namespace

TEST_CASE("300 rates and momenta equal Python's, also restored half-way") {
  const auto expected = python_reference("schedulers", scheduler_cases::all());
  if (!expected) return;
  double largest = 0;
  for (size_t i = 0; i < scheduler_cases::all().size(); ++i) {
    const Json& one = scheduler_cases::all()[i];
    INFO(one.dump());
    CHECK(changes((*expected)[i]));
    for (int restore_at : {-1, 0, 151}) {
      INFO("restored at " << restore_at);
      largest = std::max(largest, compare(Scheduled(one), (*expected)[i], 0, restore_at));
    }
  }
  INFO("largest relative difference " << largest);
  CHECK(largest < 1e-12);
}

TEST_CASE("Python's states of optimizer and scheduler are continued") {
  const auto expected = python_reference("schedulers", scheduler_cases::all());
  const TemporaryFolder folder;
  if (!expected || !python_reference("scheduler_states", scheduler_cases::all(), folder.path().string())) return;
  for (size_t i = 0; i < scheduler_cases::all().size(); ++i) {
    const Json& one = scheduler_cases::all()[i];
    INFO(one.dump());
    // Python's stand-in for WarmupCosine is a LambdaLR, with the state of one.
    Scheduled run(one);
    const levin::State saved = levin::load_state(folder / ("python_" + std::to_string(i) + ".pt"));
    levin::optim::load_optimizer_state_dict(*run.optimizer, saved.at("optimizer"));
    run.scheduler->load_state_dict(saved.at("scheduler"));
    compare(std::move(run), (*expected)[i], 150);
  }
}

TEST_CASE("a scheduler takes all of its options from a loaded state") {
  const Json base = {{"optimizer", {{"class", "SGD"}}}, {"rates", {0.1}}};
  const std::vector<std::pair<Json, Json>> pairs = {
      {{{"class", "StepLR"}, {"step_size", 3}, {"gamma", 0.5}}, {{"class", "StepLR"}, {"step_size", 2}}},
      {{{"class", "MultiStepLR"}, {"milestones", {2, 6, 6}}}, {{"class", "MultiStepLR"}, {"milestones", {7}}}},
      {{{"class", "CosineAnnealingLR"}, {"T_max", 9}}, {{"class", "CosineAnnealingLR"}, {"T_max", 4}}},
      {{{"class", "OneCycleLR"}, {"max_lr", 0.1}, {"total_steps", 20}},
       {{"class", "OneCycleLR"}, {"max_lr", 0.1}, {"total_steps", 30}}},
      {{{"class", "ReduceLROnPlateau"}, {"patience", 0}}, {{"class", "ReduceLROnPlateau"}, {"mode", "max"}}}};
  for (const auto& [one, other] : pairs) {
    Json first = base, second = base;
    first["lr_scheduler"] = one;
    second["lr_scheduler"] = other;
    INFO(one.dump());
    Scheduled as_made(first), restored(second);
    for (int step = 0; step < 4; ++step) as_made.step(step);
    levin::optim::load_optimizer_state_dict(*restored.optimizer,
                                            levin::optim::optimizer_state_dict(*as_made.optimizer));
    restored.scheduler->load_state_dict(as_made.scheduler->state_dict());
    for (int step = 4; step < 12; ++step) {
      as_made.step(step);
      restored.step(step);
      CHECK(as_made.row() == restored.row());
    }
  }
}
