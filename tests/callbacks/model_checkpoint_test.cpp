#include <levin/callbacks/model_checkpoint.h>
#include <levin/callbacks/checkpoint_name.h>
#include <levin/core/options/value_type.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/fake_run.h"
#include "tests/temporary_folder.h"

namespace fs = std::filesystem;
using levin::checkpoint_name;
using levin::FakeRun;
using levin::ModelCheckpoint;
using levin::ModelCheckpointOptions;

namespace {

/// A run in a temporary folder; saved files appear at once.
struct CheckpointRun {
  CheckpointRun() { run.folder_ = folder.path(); }

  /// Ends an epoch that logged `score`; returns the name of the saved file, without its folder.
  std::string end_epoch(ModelCheckpoint& callback, double score) {
    run.metrics_["val_loss"] = score;
    run.state_.global_step += 10;
    const size_t before = run.saves_.size();
    callback.on_train_epoch_end(run);
    run.state_.epoch += 1;
    if (run.saves_.size() == before) return "";
    const auto& [path, how] = run.saves_.back();
    std::ofstream(path) << "checkpoint";
    for (const fs::path& old : how.then_remove) fs::remove(old);
    return path.filename().string();
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / "checkpoints"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder;
  FakeRun run;
};

}  // namespace

TEST_CASE("a metric that never comes is told once at the end") {
  const auto said = [](ModelCheckpointOptions options, bool logs) {
    ModelCheckpoint callback(std::move(options));
    CheckpointRun of;
    of.run.log("train_loss", 1);
    callback.on_fit_start(of.run);
    if (logs) of.end_epoch(callback, 0.5);
    of.run.metrics_.erase("val_loss");  // as it would be after a resume
    of.run.state_.global_step = 10;
    const CapturedStderr captured;
    callback.on_fit_end(of.run);
    return captured.text();
  };
  CHECK(contains(said({.monitor = "val_loss"}, false),
                 "ModelCheckpoint.monitor: no metric 'val_loss' was logged; there are: train_loss; so no checkpoint is "
                 "among the best"));
  CHECK(said({.monitor = "val_loss"}, true).empty());
  CHECK(said({.monitor = "train_loss"}, false).empty());
  CHECK(said({.monitor = "val_loss", .save_top_k = 0}, false).empty());
  CHECK(said({}, false).empty());
}

TEST_CASE("templates of names are filled as Python fills them") {
  const levin::CheckpointNameValues values{3, 120, {{"val_loss", 0.1234}, {"acc", 1.12}, {"a/b", 2}}};
  CHECK(checkpoint_name("{epoch}-{step}", values, true) == "epoch=3-step=120");
  CHECK(checkpoint_name("{epoch:02d}-{val_loss:.2f}", values, true) == "epoch=03-val_loss=0.12");
  CHECK(checkpoint_name("m-{epoch:03d}-{acc:02.0f}", values, false) == "m-003-01");
  CHECK(checkpoint_name("{a/b:.1f}", values, false) == "2.0");
  CHECK(checkpoint_name("{acc:03d}{unknown:.1f}", values, false) == "0010.0");
  CHECK(checkpoint_name("plain", values, true) == "plain");
  CHECK_THROWS_AS(checkpoint_name("{epoch", values, true), std::invalid_argument);
  CHECK_THROWS_AS(checkpoint_name("{epoch:.2q}", values, true), std::invalid_argument);
}

TEST_CASE("without a monitor the newest checkpoint is kept") {
  CheckpointRun test;
  ModelCheckpoint callback;
  callback.on_fit_start(test.run);
  CHECK(test.end_epoch(callback, 1) == "epoch=0-step=10.ckpt");
  CHECK(test.end_epoch(callback, 1) == "epoch=1-step=20.ckpt");
  CHECK(test.files() == std::vector<std::string>{"epoch=1-step=20.ckpt"});
  CHECK(callback.best_model_path() == test.folder / "checkpoints" / "epoch=1-step=20.ckpt");
  CHECK_FALSE(callback.best_model_score());
}

TEST_CASE("the best k are kept, and what is not finite is not among them") {
  CheckpointRun test;
  ModelCheckpoint callback({.filename = "{epoch}", .monitor = "val_loss", .save_top_k = 2});
  callback.on_fit_start(test.run);
  CHECK(test.end_epoch(callback, std::nan("")) == "");
  CHECK(callback.best_model_path().empty());
  CHECK_FALSE(callback.best_model_score());
  CHECK(test.end_epoch(callback, 0.5) == "epoch=1.ckpt");
  CHECK(test.end_epoch(callback, 0.7) == "epoch=2.ckpt");
  CHECK(test.files() == std::vector<std::string>{"epoch=1.ckpt", "epoch=2.ckpt"});
  CHECK(test.end_epoch(callback, 0.9) == "");
  CHECK(test.end_epoch(callback, 0.6) == "epoch=4.ckpt");
  CHECK(test.files() == std::vector<std::string>{"epoch=1.ckpt", "epoch=4.ckpt"});
  CHECK(callback.best_model_path().filename() == "epoch=1.ckpt");
  CHECK(callback.best_model_score() == 0.5);
}

TEST_CASE("if all are kept, one that is not finite is kept and is not the best") {
  CheckpointRun test;
  ModelCheckpoint callback({.filename = "{epoch}", .monitor = "val_loss", .save_top_k = -1, .mode = "max"});
  callback.on_fit_start(test.run);
  CHECK(test.end_epoch(callback, std::nan("")) == "epoch=0.ckpt");
  CHECK(callback.best_model_path().empty());
  CHECK(test.end_epoch(callback, -3) == "epoch=1.ckpt");
  CHECK(test.end_epoch(callback, -std::numeric_limits<double>::infinity()) == "epoch=2.ckpt");
  CHECK(callback.best_model_path().filename() == "epoch=1.ckpt");
}

TEST_CASE("ModelCheckpoint keeps the highest values in mode max, all or no checkpoints on request, and last.ckpt") {
  CheckpointRun test;
  ModelCheckpoint best({.filename = "best", .monitor = "val_loss", .save_last = true, .mode = "max"});
  best.on_fit_start(test.run);
  CHECK(test.end_epoch(best, 0.5) == "best.ckpt");
  CHECK(test.run.saves_.back().second.link_as == test.folder / "checkpoints" / "last.ckpt");
  // The checkpoint is not among the best, but the newest.
  CHECK(test.end_epoch(best, 0.4) == "last.ckpt");
  CHECK(test.end_epoch(best, 0.6) == "best.ckpt");

  ModelCheckpoint all({.filename = "all", .save_top_k = -1});
  all.on_fit_start(test.run);
  CHECK(test.end_epoch(all, 1) == "all.ckpt");
  CHECK(test.end_epoch(all, 1) == "all-v1.ckpt");
  ModelCheckpoint none({.save_top_k = 0});
  none.on_fit_start(test.run);
  CHECK(test.end_epoch(none, 1) == "");
}

TEST_CASE("a name that another run's file has gets a version; a killed session's own is written again") {
  CheckpointRun test;
  fs::create_directories(test.folder / "checkpoints");
  std::ofstream(test.folder / "checkpoints" / "epoch=0.ckpt") << "another's";
  ModelCheckpoint other({.filename = "{epoch}"});
  other.on_fit_start(test.run);
  CHECK(test.end_epoch(other, 1) == "epoch=0-v1.ckpt");
  test.run.state_.epoch = 0;
  test.run.continues_in_folder_ = true;
  ModelCheckpoint own({.filename = "{epoch}"});
  own.on_fit_start(test.run);
  CHECK(test.end_epoch(own, 1) == "epoch=0.ckpt");
}

TEST_CASE("two savers with one filename have files of their own, and neither removes the other's") {
  CheckpointRun test;
  const auto newest = std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.save_last = true});
  const auto best = std::make_shared<ModelCheckpoint>(
      ModelCheckpointOptions{.monitor = "val_loss", .save_last = true, .save_weights_only = true});
  test.run.callbacks_ = {newest, best};
  newest->on_fit_start(test.run);
  best->on_fit_start(test.run);
  for (const double score : {1.0, 3.0, 2.0}) {
    test.run.metrics_["val_loss"] = score;
    test.run.state_.global_step += 10;
    // Both ask at the same point, before either file is written.
    const size_t before = test.run.saves_.size();
    newest->on_train_epoch_end(test.run);
    best->on_train_epoch_end(test.run);
    for (size_t i = before; i < test.run.saves_.size(); ++i) {
      const auto& [path, how] = test.run.saves_[i];
      std::ofstream(path) << score;
      if (!how.link_as.empty()) std::ofstream(how.link_as) << score;
      for (const fs::path& old : how.then_remove) fs::remove(old);
    }
    test.run.state_.epoch += 1;
  }
  CHECK(newest->best_model_path().filename() == "epoch=2-step=30.ckpt");
  CHECK(best->best_model_path().filename() == "epoch=0-step=10-v1.ckpt");
  CHECK(best->best_model_score() == 1.0);
  CHECK(newest->last_model_path().filename() == "last.ckpt");
  CHECK(best->last_model_path().filename() == "last-v1.ckpt");
  CHECK(test.files() ==
        std::vector<std::string>{"epoch=0-step=10-v1.ckpt", "epoch=2-step=30.ckpt", "last-v1.ckpt", "last.ckpt"});
}

TEST_CASE("a saver that may write over another's file does not remove it") {
  CheckpointRun test;
  const auto newest = std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.enable_version_counter = false});
  const auto best =
      std::make_shared<ModelCheckpoint>(ModelCheckpointOptions{.monitor = "val_loss", .enable_version_counter = false});
  test.run.callbacks_ = {newest, best};
  for (const auto& one : {newest, best}) one->on_fit_start(test.run);
  test.run.state_.global_step = 10;
  test.run.metrics_["val_loss"] = 1;
  for (const auto& one : {newest, best}) one->on_train_epoch_end(test.run);
  test.run.state_.epoch = 1;
  test.run.state_.global_step = 20;
  test.run.metrics_["val_loss"] = 2;
  newest->on_train_epoch_end(test.run);
  CHECK(best->best_model_path().filename() == "epoch=0-step=10.ckpt");
  CHECK(test.run.saves_.back().second.then_remove.empty());
}

TEST_CASE("without a monitor a file in a folder below is removed with its successor") {
  CheckpointRun test;
  ModelCheckpoint callback({.filename = "a/{epoch}"});
  callback.on_fit_start(test.run);
  fs::create_directories(test.folder / "checkpoints" / "a");
  CHECK(test.end_epoch(callback, 1) == "epoch=0.ckpt");
  CHECK(test.end_epoch(callback, 1) == "epoch=1.ckpt");
  CHECK_FALSE(fs::exists(test.folder / "checkpoints" / "a" / "epoch=0.ckpt"));
  CHECK(fs::exists(test.folder / "checkpoints" / "a" / "epoch=1.ckpt"));
}

TEST_CASE("the checkpoint that a run was resumed from is neither removed nor written again") {
  CheckpointRun test;
  fs::create_directories(test.folder / "fixed");
  const std::string dirpath = (test.folder / "fixed").string();
  for (const bool monitored : {false, true}) {
    ModelCheckpointOptions options{.dirpath = dirpath, .filename = "{epoch}"};
    if (monitored) options.monitor = "val_loss";
    ModelCheckpoint first(options);
    test.run.state_ = {};
    test.run.resumed_from_.clear();
    first.on_fit_start(test.run);
    REQUIRE(test.end_epoch(first, 0.5) == "epoch=0.ckpt");
    std::ofstream(test.folder / "fixed" / "epoch=0.ckpt") << "saved";
    // The next session resumes in the same folder from that file.
    ModelCheckpoint second(options);
    second.load_state_dict(first.state_dict());
    test.run.resumed_from_ = test.folder / "fixed" / "epoch=0.ckpt";
    second.on_fit_start(test.run);
    REQUIRE(test.end_epoch(second, 0.4) == "epoch=1.ckpt");
    CHECK(test.run.saves_.back().second.then_remove.empty());
    // The session's own files are replaced as usual.
    REQUIRE(test.end_epoch(second, 0.3) == "epoch=2.ckpt");
    CHECK(test.run.saves_.back().second.then_remove ==
          std::vector<fs::path>{fs::absolute(test.folder / "fixed" / "epoch=1.ckpt")});
    for (const char* file : {"epoch=0.ckpt", "epoch=2.ckpt"}) fs::remove(test.folder / "fixed" / file);
  }
  ModelCheckpoint same({.dirpath = dirpath, .filename = "model"});
  test.run.resumed_from_.clear();
  same.on_fit_start(test.run);
  REQUIRE(test.end_epoch(same, 1) == "model.ckpt");
  std::ofstream(test.folder / "fixed" / "model.ckpt") << "saved";
  test.run.resumed_from_ = test.folder / "fixed" / "model.ckpt";
  CHECK(test.end_epoch(same, 1) == "model-v1.ckpt");
}

TEST_CASE("last.ckpt is made at the end of a resumed run whose process ended before it was") {
  CheckpointRun test;
  const fs::path last = test.folder / "checkpoints" / "last.ckpt";
  ModelCheckpoint first({.save_last = true});
  first.on_fit_start(test.run);
  first.on_train_start(test.run);
  REQUIRE(test.end_epoch(first, 0.5) == "epoch=0-step=10.ckpt");
  const fs::path newest = test.folder / "checkpoints" / "epoch=0-step=10.ckpt";
  const auto ends_with_a_save = [&] {
    ModelCheckpoint second({.save_last = true});
    second.load_state_dict(first.state_dict());
    test.run.continues_in_folder_ = true;
    second.on_fit_start(test.run);
    second.on_train_start(test.run);
    const size_t before = test.run.saves_.size();
    second.on_train_end(test.run);
    return test.run.saves_.size() != before;
  };
  CHECK(ends_with_a_save());
  CHECK(test.run.saves_.back().first == fs::absolute(last));
  std::ofstream(last) << "an older one";
  fs::last_write_time(last, fs::last_write_time(newest) - std::chrono::seconds(1));
  CHECK(ends_with_a_save());
  fs::last_write_time(last, fs::last_write_time(newest) + std::chrono::seconds(1));  // a copy that was made in time
  CHECK_FALSE(ends_with_a_save());
  fs::remove(last);
  fs::create_hard_link(newest, last);
  CHECK_FALSE(ends_with_a_save());
}

TEST_CASE("a resumed run removes no file outside of its folder that a checkpoint names") {
  CheckpointRun test;
  const ModelCheckpointOptions options{.filename = "{epoch}", .monitor = "val_loss"};
  ModelCheckpoint first(options);
  first.on_fit_start(test.run);
  REQUIRE(test.end_epoch(first, 0.5) == "epoch=0.ckpt");
  const fs::path own = test.folder / "checkpoints" / "epoch=0.ckpt";
  for (const fs::path& named :
       {test.folder / "letter.txt", own.parent_path() / ".." / "letter.txt", fs::path("letter.txt")})
    for (const std::string& dirpath : {std::string(), own.parent_path().string()}) {
      std::ofstream(test.folder / "letter.txt") << "not a checkpoint";
      levin::State state = first.state_dict();
      state["dirpath"] = dirpath;
      state["best_k_models"] = levin::State::dict({{named.string(), 0.9}});
      ModelCheckpoint second(options);
      second.load_state_dict(state);
      second.on_fit_start(test.run);
      test.end_epoch(second, 0.4);
      CHECK(test.run.saves_.back().second.then_remove.empty());
      CHECK(fs::exists(test.folder / "letter.txt"));
    }
}

TEST_CASE("checkpoints are saved every n steps, every n epochs, and after validations") {
  CheckpointRun test;
  ModelCheckpoint steps({.every_n_train_steps = 4});
  steps.on_fit_start(test.run);
  int saved = 0;
  for (int step = 0; step <= 12; ++step) {
    test.run.state_.global_step = step;
    // The second batch of a window that has not ended: the same step.
    for (int batch = 0; batch < 2; ++batch) steps.on_train_batch_end(test.run);
  }
  CHECK(test.run.saves_.size() == 3);
  saved = 3;
  ModelCheckpoint epochs({.every_n_epochs = 2});
  epochs.on_fit_start(test.run);
  test.run.state_.epoch = 0;
  CHECK(test.end_epoch(epochs, 1) == "");
  CHECK(test.end_epoch(epochs, 1) == "epoch=1-step=32.ckpt");
  saved = static_cast<int>(test.run.saves_.size());

  test.run.validates_once_per_epoch_ = false;
  ModelCheckpoint validations;
  validations.on_fit_start(test.run);
  CHECK(test.end_epoch(validations, 1) == "");
  test.run.state_.stage = levin::Stage::SanityCheck;
  validations.on_validation_end(test.run);
  CHECK(test.run.saves_.size() == static_cast<size_t>(saved));
  test.run.state_.stage = levin::Stage::Validate;
  validations.on_validation_end(test.run);
  CHECK(test.run.saves_.size() == static_cast<size_t>(saved) + 1);
}

TEST_CASE("a metric that only validation logs is waited for") {
  CheckpointRun test;
  ModelCheckpoint callback({.monitor = "val_loss", .every_n_train_steps = 1});
  callback.on_fit_start(test.run);
  test.run.state_.global_step = 1;
  callback.on_train_batch_end(test.run);
  CHECK(test.run.saves_.empty());
  test.run.metrics_["val_loss"] = 1;
  test.run.state_.stage = levin::Stage::Validate;
  callback.on_validation_end(test.run);
  CHECK(test.run.saves_.size() == 1);
}

TEST_CASE("the state goes to another ModelCheckpoint of the same folder") {
  CheckpointRun test;
  const ModelCheckpointOptions options{.filename = "{epoch}", .monitor = "val_loss", .save_top_k = 2};
  ModelCheckpoint first(options), second(options), elsewhere(options);
  first.on_fit_start(test.run);
  test.end_epoch(first, 0.5);
  test.end_epoch(first, 0.4);
  second.load_state_dict(first.state_dict());
  second.on_fit_start(test.run);
  CHECK(second.best_model_score() == 0.4);
  CHECK(test.end_epoch(second, 0.45) == "epoch=2.ckpt");
  CHECK(test.files() == std::vector<std::string>{"epoch=1.ckpt", "epoch=2.ckpt"});

  CheckpointRun other;
  elsewhere.load_state_dict(first.state_dict());
  elsewhere.on_fit_start(other.run);
  CHECK(elsewhere.best_model_path().filename() == "epoch=1.ckpt");
  CHECK_FALSE(elsewhere.best_model_score());
  CHECK(first.state_key() ==
        "ModelCheckpoint{'monitor': 'val_loss', 'mode': 'min', 'every_n_train_steps': 0, 'every_n_epochs': 1, "
        "'train_time_interval': None}");
}

TEST_CASE("wrong options of ModelCheckpoint are refused by name") {
  CHECK(contains(error_text([] { ModelCheckpoint({.save_top_k = 2}); }), "needs a monitor"));
  CHECK(contains(error_text([] { ModelCheckpoint({.every_n_train_steps = 2, .every_n_epochs = 1}); }),
                 "exclude each other"));
  CHECK(contains(error_text([] { ModelCheckpoint({.filename = "{epoch"}); }), "ModelCheckpoint.filename"));
  CHECK(contains(error_text([] { ModelCheckpoint({.mode = "up"}); }), "mode"));
  CheckpointRun test;
  std::ofstream(test.folder / "file") << "a file";
  ModelCheckpoint below_a_file({.dirpath = (test.folder / "file" / "checkpoints").string()});
  CHECK(contains(error_text([&] { below_a_file.on_fit_start(test.run); }), "cannot be written to"));
  ModelCheckpoint unknown({.monitor = "val_los"});
  unknown.on_fit_start(test.run);
  test.run.metrics_["val_loss"] = 1;
  test.run.state_.global_step = 1;
  CHECK(contains(error_text([&] { unknown.on_train_epoch_end(test.run); }), "val_loss"));
}
