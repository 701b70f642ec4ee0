// A user's checkpoints: last and best, other networks and optimizers, damaged files, full disks.
#include <levin/levin.h>

#include <cmath>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/trainer/checkpoint/save_in_hook.h"

namespace fs = std::filesystem;

TEST_CASE("a run that resumes from \"last\" continues to write to its folder") {
  const TemporaryFolder folder;
  const Ended unbroken = train(resumable(folder / "unbroken"));
  levin::TrainerOptions options = resumable(folder / "broken");
  options.enable_checkpointing = true;
  options.max_steps = 4;  // in the middle of an epoch
  const Ended first = train(options);
  CHECK(first.result.global_step == 4);
  CHECK(fs::exists(first.result.folder / "checkpoints" / "last.ckpt"));
  options.max_steps = -1;
  const Ended second = train(options, {}, "last", 99);
  CHECK(second.result.folder == first.result.folder);
  CHECK(first_difference(second.weights, unbroken.weights) == "");
}

TEST_CASE("a run in a fixed dirpath keeps the file that it was resumed from, and \"last\" finds the newer one there") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder / "runs");
  options.enable_checkpointing = true;
  options.callbacks = {levin::ModelCheckpoint({.dirpath = (folder / "fixed").string(), .filename = "{epoch}"})};
  options.max_epochs = 1;
  const Ended first = train(options);
  const fs::path file = folder / "fixed" / "epoch=0.ckpt";
  REQUIRE(fs::exists(file));
  const auto fresh = [&](int64_t epochs) {
    levin::TrainerOptions again = options;
    again.callbacks = {levin::ModelCheckpoint({.dirpath = (folder / "fixed").string(), .filename = "{epoch}"})};
    again.max_epochs = epochs;
    return again;
  };
  const Ended second = train(fresh(2), {}, file.string());
  CHECK(second.result.folder != first.result.folder);
  CHECK(fs::exists(file));
  CHECK(fs::exists(folder / "fixed" / "epoch=1.ckpt"));
  // The run's own file is replaced.
  const Ended third = train(fresh(3), {}, "last");
  CHECK(third.result.folder == second.result.folder);
  CHECK(fs::exists(file));
  CHECK_FALSE(fs::exists(folder / "fixed" / "epoch=1.ckpt"));
  CHECK(fs::exists(folder / "fixed" / "epoch=2.ckpt"));
}

TEST_CASE("a stopped run that is trained on, and fails before it saves, is trained on by the next session too") {
  struct StopsAndFails : Learner {
    StopsAndFails(int64_t stop_, int64_t failure_) : stop(stop_), failure(failure_) {}
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (global_step() == failure) throw std::runtime_error("no such luck");
      return Learner::training_step(batch, batch_idx);
    }
    void on_train_epoch_end(levin::Run& run) override {
      Learner::on_train_epoch_end(run);
      if (run.state().epoch == stop) run.request_stop("enough");
    }
    int64_t stop, failure;
  };
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  Points data;
  const auto fit = [&](int64_t stop, int64_t failure) {
    StopsAndFails module(stop, failure);
    return levin::Trainer(options).fit(module, data, "last");
  };
  const levin::RunResult stopped = fit(0, -1);
  REQUIRE(stopped.status == "stopped");
  for (int session = 0; session < 2; ++session) CHECK_THROWS_AS(fit(-1, stopped.global_step), std::runtime_error);
  const levin::RunResult trained_on = fit(1, -1);
  CHECK(trained_on.epochs == 2);
  CHECK(trained_on.folder == stopped.folder);
  // It is stopped again, and its next session fails and is asked no more.
  CHECK_THROWS_AS(fit(-1, trained_on.global_step), std::runtime_error);
  CHECK(fit(-1, -1).status == "completed");
}

TEST_CASE("a fit that fails before its first batch leaves no folder, one that fails later does") {
  struct Failing : Learner {
    explicit Failing(int64_t batch) : batch_(batch) {}
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (batch_idx == batch_) throw std::runtime_error("no more");
      return Learner::training_step(batch, batch_idx);
    }
    int64_t batch_;
  };
  for (const bool first_batch : {true, false}) {
    const TemporaryFolder folder;
    levin::TrainerOptions options = resumable(folder.path());
    options.enable_checkpointing = true;
    Failing module(first_batch ? 0 : 1);
    Points data;
    levin::Trainer trainer(options);
    CHECK(error_text<std::runtime_error>([&] { trainer.fit(module, data); }) == "no more");
    CHECK(fs::exists(folder / "run" / "version_0") == !first_batch);
  }
}

TEST_CASE("without loggers and checkpoints a quiet fit prints and writes nothing, and callbacks and metrics work") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.logger = false;
  options.quiet = true;
  options.enable_progress_bar = options.enable_model_summary = {};
  int epochs = 0;
  struct Counter : levin::Callback {
    explicit Counter(int& count) : count_(&count) {}
    void on_train_epoch_end(levin::Run&) override { ++*count_; }
    int* count_;
  };
  options.callbacks = {Counter(epochs)};
  const CapturedStderr captured;
  const Ended ended = train(options);
  CHECK(captured.text() == "");
  CHECK(fs::is_empty(folder.path()));
  CHECK(ended.result.folder.empty());
  CHECK(epochs == 3);
  CHECK(ended.result.metrics.contains("val_loss"));
}

TEST_CASE("\"last\" without a checkpoint starts from the beginning") {
  const TemporaryFolder folder;
  const Ended plain = train(resumable(folder / "plain"));
  const Ended last = train(resumable(folder / "last"), {}, "last");
  CHECK(first_difference(plain.weights, last.weights) == "");
}

TEST_CASE("a checkpoint that does not fit names what does not") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.callbacks = {SaveInHook(levin::Hook::on_train_end, 1, folder / "x.ckpt")};
  train(options);
  const std::string file = (folder / "x.ckpt").string();

  struct Wider : Learner {
    Wider() { register_module("more", torch::nn::Linear(2, 2)); }
  } wider;
  const levin::State before = weights_copy(wider);
  Points data;
  levin::Trainer trainer(resumable(folder / "again"));
  const std::string text = error_text([&] { trainer.fit(wider, data, file); });
  CHECK(text.find(file) != std::string::npos);
  CHECK(text.find("more.weight") != std::string::npos);
  CHECK(first_difference(before, levin::module_state_dict(wider)) == "");

  levin::State state = levin::load_state(file);
  state["levin"]["format_version"] = 1000;
  levin::save_state(state, folder / "newer.ckpt");
  Learner learner;
  CHECK(error_text([&] { trainer.fit(learner, data, (folder / "newer.ckpt").string()); }).find("use a newer levin") !=
        std::string::npos);

  levin::State weights = levin::State::dict({{"state_dict", state.at("state_dict")}});
  levin::save_state(weights, folder / "weights.ckpt");
  CHECK(error_text([&] { trainer.fit(learner, data, (folder / "weights.ckpt").string()); }).find("weights only") !=
        std::string::npos);

  CHECK(error_text([&] {
          trainer.fit(learner, data, (folder / "none.ckpt").string());
        }).find("there is no such file") != std::string::npos);
  CHECK(error_text([&] { trainer.fit(learner, data, "best"); }).find("there is no checkpoint below") !=
        std::string::npos);
}

TEST_CASE("load_from_checkpoint makes the module again, from its options or from arguments") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.callbacks = {SaveInHook(levin::Hook::on_train_end, 1, folder / "x.ckpt")};
  const Ended ended = train(options, {.lr = 0.125});
  const auto same = levin::load_from_checkpoint<Learner>(folder / "x.ckpt");
  CHECK(same->options.lr == 0.125);
  CHECK(first_difference(levin::module_state_dict(*same), ended.weights) == "");
  const auto other = levin::load_from_checkpoint<Learner>(folder / "x.ckpt", Learner::Options{.lr = 0.5});
  CHECK(other->options.lr == 0.5);
  CHECK(contains(error_text([&] { levin::load_from_checkpoint<Learner>(folder / "y.ckpt"); }), "y.ckpt"));
}

TEST_CASE("validate and test take the weights of a checkpoint, best is the best one") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.val_check_interval = 1.0;
  options.callbacks = {levin::ModelCheckpoint({.monitor = "val_loss", .save_top_k = 1})};
  const Ended ended = train(options);
  REQUIRE(ended.result.best_score);
  CHECK(fs::exists(ended.result.best_checkpoint));
  Learner fresh;
  Points data;
  levin::Trainer trainer(resumable(folder.path()));
  const auto metrics = trainer.validate(fresh, data, "best");
  REQUIRE(metrics.size() == 2);
  CHECK(std::isfinite(metrics[0].at("val_loss")));
  const auto plain = levin::load_from_checkpoint<Learner>(ended.result.best_checkpoint);
  CHECK(first_difference(levin::module_state_dict(fresh), levin::module_state_dict(*plain)) == "");
  CHECK(contains(error_text([&] { trainer.validate(fresh, data, (folder / "none.ckpt").string()); }), "none.ckpt"));
}

TEST_CASE("a saver of the newest and one of the best keep a file each, and best is the best one") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.val_check_interval = 1.0;
  options.max_epochs = 6;
  options.callbacks = {levin::ModelCheckpoint(), levin::ModelCheckpoint({.monitor = "val_loss", .mode = "max"})};
  const Ended ended = train(options);
  REQUIRE(ended.result.best_score);
  REQUIRE(fs::exists(ended.result.best_checkpoint));
  int64_t files = 0;
  for (const auto& entry : fs::directory_iterator(ended.result.folder / "checkpoints"))
    files += entry.path().filename() != "last.ckpt";
  CHECK(files == 2);
  // The loss falls, so that the largest one is that of the first epoch.
  CHECK(levin::load_state(ended.result.best_checkpoint).at("epoch").to_int() == 0);
  Learner fresh;
  Points data;
  levin::Trainer(resumable(folder.path())).validate(fresh, data, "best");
  const auto best = levin::load_from_checkpoint<Learner>(ended.result.best_checkpoint);
  CHECK(first_difference(levin::module_state_dict(fresh), levin::module_state_dict(*best)) == "");
}

TEST_CASE("an exception leaves a checkpoint if save_on_exception is set") {
  const TemporaryFolder folder;
  struct Fails : Learner {
    levin::StepOutput training_step(const levin::Batch& batch, int64_t batch_idx) override {
      if (global_step() == 4) throw std::runtime_error("no such luck");
      return Learner::training_step(batch, batch_idx);
    }
  } module;
  Points data;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.callbacks = {levin::OnExceptionCheckpoint()};
  levin::Trainer trainer(options);
  CHECK_THROWS_AS(trainer.fit(module, data), std::runtime_error);
  const fs::path file = folder / "run" / "version_0" / "checkpoints" / "on_exception.ckpt";
  REQUIRE(fs::exists(file));
  Learner healthy;
  levin::Trainer again(resumable(folder.path()));
  CHECK(again.fit(healthy, data, file.string()).global_step > 4);
}

TEST_CASE("an exception in a setup hook is thrown as it is, and nothing is saved") {
  const TemporaryFolder folder;
  struct Refuses : levin::Callback {
    void setup(levin::Run&) override { throw levin::UsageError("not with me"); }
  };
  Learner module;
  Points data;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.callbacks = {levin::OnExceptionCheckpoint({.dirpath = folder.path().string()}), Refuses()};
  levin::Trainer trainer(options);
  CHECK(error_text<levin::UsageError>([&] { trainer.fit(module, data); }) == "not with me");
  CHECK_FALSE(fs::exists(folder / "on_exception.ckpt"));
}

TEST_CASE("Trainer::save_checkpoint after a fit writes a file from which another trainer resumes") {
  const TemporaryFolder folder;
  const Ended unbroken = train(resumable(folder / "unbroken"));
  Points data;
  levin::TrainerOptions options = resumable(folder / "first");
  options.max_epochs = 2;
  levin::Trainer trainer(options);
  CHECK(contains(error_text([&] { trainer.save_checkpoint(folder / "x.ckpt"); }), "no fit yet"));
  torch::manual_seed(1);
  {
    Learner module;
    trainer.fit(module, data);
    trainer.save_checkpoint(folder / "x.ckpt");
    trainer.save_checkpoint(folder / "weights.ckpt", {.weights_only = true});
    CHECK_FALSE(module.in_run());
  }
  CHECK_FALSE(levin::load_state(folder / "weights.ckpt").contains("optimizer_states"));
  const Ended resumed = train(resumable(folder / "second"), {}, (folder / "x.ckpt").string(), 99);
  CHECK(first_difference(resumed.weights, unbroken.weights) == "");
}

TEST_CASE("a checkpoint that is cut short at any of 100 places, or has one bit flipped, is refused and loads nothing") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.max_steps = 2;
  options.callbacks = {SaveInHook(levin::Hook::on_train_end, 1, folder / "x.ckpt")};
  train(options);
  std::ifstream file(folder / "x.ckpt", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto refused = [&](const std::string& damaged) {
    std::ofstream(folder / "damaged.ckpt", std::ios::binary) << damaged;
    Learner module;
    Points data;
    const levin::State before = weights_copy(module);
    levin::Trainer trainer(options);
    const std::string text =
        error_text<levin::UsageError>([&] { trainer.fit(module, data, (folder / "damaged.ckpt").string()); });
    return contains(text, "damaged.ckpt") && first_difference(before, levin::module_state_dict(module)).empty();
  };
  for (size_t i = 0; i < 100; ++i) {
    INFO("cut at " << bytes.size() * i / 100);
    CHECK(refused(bytes.substr(0, bytes.size() * i / 100)));
  }
  const at::Tensor weight =
      levin::load_state(folder / "x.ckpt").at("state_dict").at("net.0.weight").to_tensor().contiguous();
  const size_t weights = bytes.find(std::string(static_cast<const char*>(weight.const_data_ptr()), weight.nbytes()));
  REQUIRE(weights != std::string::npos);
  std::string flipped = bytes;
  flipped[weights] = static_cast<char>(flipped[weights] ^ 0x10);
  CHECK(refused(flipped));
}

TEST_CASE("a checkpoint of another optimizer is refused, and so is best without a monitor") {
  const TemporaryFolder folder;
  levin::TrainerOptions options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.max_steps = 4;
  const Ended ended = train(options);
  struct OtherOptimizer : Learner {
    levin::OptimizerConfig configure_optimizers() override {
      return {levin::optim::Adam(parameters(), {.lr = 0.1}),
              levin::CosineAnnealingLR({.T_max = 30}, {.interval = "step"})};
    }
  } other;
  struct NoScheduler : Learner {
    levin::OptimizerConfig configure_optimizers() override { return levin::optim::SGD(parameters(), {.lr = 0.1}); }
  } without;
  Points data;
  const State before = weights_copy(other);
  levin::Trainer trainer(options);
  const std::string text = error_text<levin::UsageError>([&] { trainer.fit(other, data, "last"); });
  INFO(text);
  CHECK(contains(text, "last.ckpt"));
  CHECK(contains(text, "an optimizer of another class"));
  CHECK(first_difference(before, levin::module_state_dict(other)) == "");
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(without, data, "last"); }),
                 "it has 1 learning-rate schedulers, configure_optimizers returned 0"));
  Learner module;
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.validate(module, data, "best"); }), "has a monitor"));
}

TEST_CASE("a folder that cannot be written to is found before training starts") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "a regular file";
  Learner module;
  Points data;
  const State before = weights_copy(module);
  levin::TrainerOptions options = resumable(folder / "file" / "below");
  levin::Trainer trainer(options);
  CHECK(contains(error_text<levin::UsageError>([&] { trainer.fit(module, data); }), "default_root_dir"));
  options = resumable(folder.path());
  options.enable_checkpointing = true;
  options.callbacks = {levin::ModelCheckpoint({.dirpath = (folder / "file" / "checkpoints").string()})};
  levin::Trainer with_folder(options);
  CHECK(contains(error_text<levin::UsageError>([&] { with_folder.fit(module, data); }), "ModelCheckpoint.dirpath"));
  CHECK(first_difference(before, levin::module_state_dict(module)) == "");
}

TEST_CASE("checkpoint_errors decides if a failed save ends the run or only warns") {
  const TemporaryFolder folder;
  const Ended unbroken = train(resumable(folder / "unbroken"));
  std::ofstream(folder / "file") << "a regular file";
  for (const char* errors : {"raise", "warn"}) {
    levin::TrainerOptions options = resumable(folder / errors);
    options.checkpoint_errors = errors;
    options.callbacks = {SaveInHook(levin::Hook::on_train_batch_end, 5, folder / "file" / "x.ckpt")};
    const CapturedStderr captured;
    if (std::string(errors) == "raise") {
      CHECK(contains(error_text([&] { train(options); }), "a checkpoint was not saved"));
    } else {
      CHECK(first_difference(train(options).weights, unbroken.weights) == "");
      CHECK(contains(captured.text(), "a checkpoint was not saved"));
    }
  }
}

TEST_CASE("a run that max_time ends has a checkpoint of its last step, and resumes from it") {
  const TemporaryFolder folder;
  const Ended unbroken = train(resumable(folder / "unbroken"));
  levin::TrainerOptions options = resumable(folder / "timed");
  options.enable_checkpointing = true;
  options.max_time = levin::Duration(1e-9);
  const Ended first = train(options);
  CHECK(first.result.status == "stopped");
  CHECK(first.result.global_step == 1);
  options.max_time.reset();
  const Ended second = train(options, {}, "last", 99);
  CHECK(first_difference(second.weights, unbroken.weights) == "");
  CHECK(second.result.folder == first.result.folder);
}
