#include <levin/callbacks/early_stopping.h>
#include <levin/callbacks/registry.h>

#include <cmath>
#include <limits>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/fake_run.h"

using levin::EarlyStopping;
using levin::EarlyStoppingOptions;

namespace {

/// Checks one value after the other at the ends of train epochs; returns the number, from 1, of the check that stopped.
int64_t stopped_at(EarlyStopping& callback, const std::vector<double>& values, std::string* reason = nullptr) {
  levin::FakeRun run;
  for (size_t i = 0; i < values.size(); ++i) {
    run.log("val_loss", values[i]);
    callback.on_train_epoch_end(run);
    run.state_.epoch += 1;
    if (!run.stop_reason_) continue;
    if (reason != nullptr) *reason = *run.stop_reason_;
    return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

int64_t stopped_at(EarlyStoppingOptions options, const std::vector<double>& values, std::string* reason = nullptr) {
  options.monitor = "val_loss";
  EarlyStopping callback(options);
  return stopped_at(callback, values, reason);
}

}  // namespace

TEST_CASE("early stopping counts checks without improvement") {
  CHECK(stopped_at({.patience = 2}, {3, 2, 1, 1.5, 1.4}) == 5);
  CHECK(stopped_at({.patience = 2}, {3, 2, 1, 1.5, 0.9, 0.8}) == 0);
  CHECK(stopped_at({.patience = 2, .mode = "max"}, {1, 2, 3, 2.5, 2.9}) == 5);
  CHECK(stopped_at({.min_delta = 0.5, .patience = 1}, {3, 2.6}) == 2);
  CHECK(stopped_at({.min_delta = 0.5, .patience = 1}, {3, 2.4}) == 0);
  CHECK(stopped_at({.patience = 0}, {3, 2, 2}) == 3);
}

TEST_CASE("early stopping ends at thresholds and at values that are not finite") {
  std::string reason;
  CHECK(stopped_at({.stopping_threshold = 0.5}, {3, 0.6, 0.4}, &reason) == 3);
  CHECK(reason == "EarlyStopping: val_loss = 0.4 has passed stopping_threshold 0.5");
  CHECK(stopped_at({.divergence_threshold = 10}, {3, 9, 11}, &reason) == 3);
  CHECK(reason == "EarlyStopping: val_loss = 11 has passed divergence_threshold 10");
  CHECK(stopped_at({}, {3, std::nan("")}, &reason) == 2);
  CHECK(reason == "EarlyStopping: val_loss = nan is not finite");
  CHECK(stopped_at({.check_finite = false}, {3, std::nan(""), 2}) == 0);
  CHECK(stopped_at({.patience = 1}, {3, 4}, &reason) == 2);
  CHECK(reason == "EarlyStopping: val_loss did not improve on 3 in 1 checks");
}

TEST_CASE("early stopping resumes from its state") {
  EarlyStopping first({.monitor = "val_loss", .patience = 3});
  CHECK(stopped_at(first, {1, 2, 2}) == 0);
  EarlyStopping second({.monitor = "val_loss", .patience = 3});
  second.load_state_dict(first.state_dict());
  CHECK(second.wait_count() == 2);
  CHECK(second.best_score() == 1);
  CHECK(stopped_at(second, {1.5}) == 1);
}

TEST_CASE("early stopping checks after validations if they do not run once per epoch") {
  levin::FakeRun run;
  run.validates_once_per_epoch_ = false;
  run.log("val_loss", std::nan(""));
  EarlyStopping callback({.monitor = "val_loss"});
  callback.on_train_epoch_end(run);
  CHECK_FALSE(run.stop_reason_);
  run.state_.stage = levin::Stage::SanityCheck;
  callback.on_validation_end(run);
  CHECK_FALSE(run.stop_reason_);
  run.state_.stage = levin::Stage::Validate;
  run.fitting_ = false;
  callback.on_validation_end(run);
  CHECK_FALSE(run.stop_reason_);
  run.fitting_ = true;
  callback.on_validation_end(run);
  CHECK(run.stop_reason_);
}

TEST_CASE("early stopping names what is wrong") {
  CHECK(error_text<levin::UsageError>([] { EarlyStopping({}); }) ==
        "EarlyStopping.monitor: missing; name a logged metric, such as val_loss");
  CHECK(contains(error_text<levin::UsageError>([] { EarlyStopping({.monitor = "a", .mode = "least"}); }),
                 "EarlyStopping.mode"));
  levin::FakeRun run;
  run.log("train_loss", 1);
  EarlyStopping strict({.monitor = "val_loss"});
  CHECK(error_text<levin::UsageError>([&] { strict.on_train_epoch_end(run); }) ==
        "EarlyStopping.monitor: no metric 'val_loss' was logged; there are: train_loss");
  EarlyStopping lenient({.monitor = "val_loss", .strict = false});
  lenient.on_train_epoch_end(run);
  CHECK_FALSE(run.stop_reason_);
}

TEST_CASE("early stopping warns once at the end if its value never came") {
  const auto said = [](EarlyStopping& callback, levin::FakeRun& run) {
    const CapturedStderr captured;
    callback.on_fit_end(run);
    return captured.text();
  };
  levin::FakeRun run;
  run.log("train_loss", 1);
  EarlyStopping lenient({.monitor = "val_los", .strict = false}), unchecked({.monitor = "val_los"});
  CHECK(said(lenient, run).empty());  // not one step
  run.state_.global_step = 3;
  lenient.on_train_epoch_end(run);
  CHECK(contains(said(lenient, run),
                 "EarlyStopping.monitor: no metric 'val_los' was logged; there are: train_loss; so it could not stop "
                 "the run"));
  CHECK(contains(said(unchecked, run), "no metric 'val_los' was logged"));
  EarlyStopping first({.monitor = "val_loss"}), second({.monitor = "val_loss"});
  stopped_at(first, {1, 2});
  CHECK(said(first, run).empty());
  second.load_state_dict(first.state_dict());
  CHECK(said(second, run).empty());
  EarlyStopping late({.monitor = "train_loss"});  // logged, though no check was due
  CHECK(said(late, run).empty());
}

TEST_CASE("callbacks are made by name") {
  const auto names = levin::CallbackKind::registry().names();
  CHECK(names == std::vector<std::string>{"BackboneFinetuning",
                                          "ClassificationReport",
                                          "DeviceStatsMonitor",
                                          "EarlyStopping",
                                          "EMAWeightAveraging",
                                          "GradNormMonitor",
                                          "GradientAccumulationScheduler",
                                          "LearningRateMonitor",
                                          "ModelCheckpoint",
                                          "ModelPruning",
                                          "ModelSummary",
                                          "OnExceptionCheckpoint",
                                          "PredictionWriter",
                                          "SampleImages",
                                          "SampleText",
                                          "SpikeDetection",
                                          "StochasticWeightAveraging",
                                          "TerminateOnNaN",
                                          "ThroughputMonitor",
                                          "Timer"});
}

TEST_CASE("early stopping decides anew at the first check at which the run may end") {
  // Checks 2 and 3 see no improvement, but the run may not end yet. Check 4 sees one, checks 5 and 6 do not.
  struct MinimumOfEpochs : levin::FakeRun {
    bool minimum_is_reached() const override { return state_.epoch + 1 >= 4; }
  } run;
  EarlyStopping callback({.monitor = "val_loss", .patience = 2});
  std::vector<bool> stops;
  for (const double value : {3.0, 3.5, 3.4, 2.0, 2.5, 2.4}) {
    run.log("val_loss", value);
    callback.on_train_epoch_end(run);
    run.state_.epoch += 1;
    stops.push_back(run.stop_reason_.has_value());
  }
  CHECK((stops == std::vector<bool>{false, false, false, false, false, true}));
}
