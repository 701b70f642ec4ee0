#include <levin/core/state/atomic_file.h>
#include <signal.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/program/cli/program.h"
#include "tests/small_modules.h"

using levin::Batch;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

/// A line through points, with failures on request.
struct Line : ToyModule {
  struct Options {
    double lr = LEVIN_OPTION(lr, 0.1, "Learning rate", {.exclusive_min = 0});
    std::string mishap = LEVIN_OPTION(
        mishap, "none", "What goes wrong",
        {.choices = {"none", "throw", "term", "interrupt", "hang_up", "term_after_validation", "no_gradient"}});
  };
  explicit Line(Options o) : ToyModule(torch::nn::Sequential(torch::nn::Linear(2, 1))), options(std::move(o)) {}

  levin::StepOutput training_step(const Batch& batch, int64_t batch_idx) override {
    if (options.mishap == "throw") throw std::runtime_error("the step failed");
    if (options.mishap == "term" && batch_idx == 1) raise(SIGTERM);
    if (options.mishap == "interrupt" && batch_idx == 1) raise(SIGINT);
    if (options.mishap == "hang_up" && batch_idx == 1) raise(SIGHUP);
    const at::Tensor loss = loss_of(batch);
    log("loss", loss);
    if (options.mishap == "no_gradient") return loss.detach();
    return loss;
  }
  void validation_step(const Batch& batch, int64_t) override { log("val_loss", loss_of(batch)); }
  void on_validation_end(levin::Run&) override {
    validations += 1;
    if (options.mishap == "term_after_validation") raise(SIGTERM);
  }
  void test_step(const Batch& batch, int64_t) override {
    if (options.mishap == "term") raise(SIGTERM);
    log("test_loss", loss_of(batch));
  }
  Batch predict_step(const Batch& batch, int64_t) override { return Batch(net->forward(batch.input())); }
  levin::OptimizerConfig configure_optimizers() override {
    return {levin::optim::SGD(parameters(), {.lr = options.lr})};
  }
  Options options;
  static inline int validations = 0;
};
LEVIN_REGISTER_MODULE(Line);

/// Four batches of three points.
struct Points : levin::data::DataModule {
  levin::data::Loaders batches() {
    std::vector<Batch> list;
    for (int i = 0; i < 4; ++i) list.emplace_back(at::full({3, 2}, 1.0 * i), at::full({3, 1}, 2.0 * i));
    return levin::data::BatchListLoader(list);
  }
  levin::data::Loaders train_dataloader() override { return batches(); }
  levin::data::Loaders val_dataloader() override { return batches(); }
  levin::data::Loaders test_dataloader() override { return batches(); }
  levin::data::Loaders predict_dataloader() override { return batches(); }
};
LEVIN_REGISTER_DATA_MODULE(Points);

/// `levin COMMAND` on the line and the points, with its runs in `folder`.
ProgramRun run_line(const std::string& command, const TemporaryFolder& folder,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {command,
                                        "--model.class",
                                        "Line",
                                        "--data.class",
                                        "Points",
                                        "--default-root-dir",
                                        folder.path().string(),
                                        "--seed",
                                        "3",
                                        "--enable-progress-bar",
                                        "false"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("fit trains, prints a block, and leaves a config that can be run again") {
  const TemporaryFolder folder;
  const ProgramRun run = run_line("fit", folder, {"--max-epochs", "2"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run.out.find("fit completed: 2 epochs, 8 steps, ") == 0);
  CHECK(run.out.find("  val_loss    ") != std::string::npos);
  const auto version = folder.path() / "levin_logs" / "version_0";
  CHECK(run.out.find("  run folder  " + version.string() + "\n") != std::string::npos);
  CHECK(std::filesystem::exists(version / "weights.pt"));
  const ProgramRun again = run_program({"fit", "--config", (version / "config.json").string()});
  INFO(again.err);
  REQUIRE(again.code == 0);
  const auto next = folder.path() / "levin_logs" / "version_1";
  CHECK(text_of(next / "config.json") == text_of(version / "config.json"));
  CHECK(text_of(next / "weights.pt") == text_of(version / "weights.pt"));
}

TEST_CASE("a dry run tries one batch, says what the fit would do, and writes nothing") {
  const TemporaryFolder folder;
  const ProgramRun run =
      run_line("fit", folder, {"--dry-run", "--max-epochs", "3", "--accumulate-grad-batches", "3", "--barebones"});
  INFO(run.err);
  CHECK(run.code == 0);
  const auto says = [&](const std::string& text) { return run.out.find(text) != std::string::npos; };
  CHECK(says("dry run: 2 training batches and 2 validation batches ran; nothing was written\n"));
  CHECK(says("3 parameters, 3 trainable, "));
  CHECK(says("memory on cpu: parameters 0 MB, gradients 0 MB, optimizer state 0 MB, activations 0 MB for a batch of "));
  CHECK(
      says("the fit would make 6 optimizer steps: 4 training batches per epoch, 3 batches per step, at most 3 epochs\n"
           "it would write nothing\n"));
  CHECK(std::filesystem::is_empty(folder.path()));
  const ProgramRun writing = run_line("fit", folder, {"--dry-run", "--max-steps", "5", "--limit-train-batches", "0.5"});
  CHECK(writing.out.find("the fit would make 5 optimizer steps: 2 training batches per epoch, 1 batch per step\n") !=
        std::string::npos);
  CHECK(writing.out.find(
            "it would write to " + (folder.path() / "levin_logs" / "version_<n>").string() +
            ": config.json, metrics.csv, metrics.jsonl, checkpoints/{epoch}-{step}.ckpt, checkpoints/last.ckpt, "
            "run.json, weights.pt, summary.json\n") != std::string::npos);
  CHECK(run_line("fit", folder, {"--dry-run", "--model.mishap", "throw"}).code == 1);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("validate, test and predict print their results") {
  const TemporaryFolder folder;
  const ProgramRun validated = run_line("validate", folder);
  CHECK(validated.code == 0);
  CHECK(validated.out.find("validate  loader 0") == 0);
  CHECK(validated.out.find("\nval_loss  ") != std::string::npos);
  const ProgramRun tested = run_line("test", folder);
  CHECK(tested.out.find("test       loader 0") == 0);
  CHECK(tested.out.find("\ntest_loss  ") != std::string::npos);
  CHECK(run_line("predict", folder, {"--limit-predict-batches", "3"}).out ==
        "predict: loader 0: 3 batches, 9 samples\n");
}

TEST_CASE("exceptions of the module exit 1, breaches of its contract 2") {
  const TemporaryFolder folder;
  const ProgramRun thrown = run_line("fit", folder, {"--model.mishap", "throw", "--num-sanity-val-steps", "0"});
  CHECK(thrown.code == 1);
  CHECK(thrown.err.find("levin: error: the step failed\n") != std::string::npos);
  CHECK(run_line("fit", folder, {"--model.mishap", "no_gradient"}).code == 2);
}

TEST_CASE("signals end a run gracefully, and the previous handlers are restored") {
  const TemporaryFolder folder;
  struct sigaction before = {}, after = {};
  sigaction(SIGTERM, nullptr, &before);
  const ProgramRun run = run_line("fit", folder, {"--model.mishap", "term"});
  CHECK(run.code == 143);
  CHECK(run.out.find("fit stopped (SIGTERM): ") == 0);
  CHECK(run.out.find(", 2 steps, ") != std::string::npos);
  CHECK(run_line("fit", folder, {"--model.mishap", "interrupt"}).code == 130);
  const ProgramRun hung_up = run_line("fit", folder, {"--model.mishap", "hang_up"});
  CHECK(hung_up.code == 129);
  CHECK(hung_up.err.find("stopped by SIGHUP, saved ") != std::string::npos);
  CHECK(run_line("test", folder, {"--model.mishap", "term"}).code == 143);
  sigaction(SIGTERM, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
}

TEST_CASE("a signal at a validation's end begins no further validation") {
  const TemporaryFolder folder;
  Line::validations = 0;
  const ProgramRun run = run_line(
      "fit", folder, {"--model.mishap", "term_after_validation", "--num-sanity-val-steps", "0", "--max-epochs", "5"});
  CHECK(run.code == 143);
  CHECK(Line::validations == 1);
}

TEST_CASE("an evaluation without a checkpoint says that its weights are untrained") {
  const TemporaryFolder folder;
  REQUIRE(run_line("fit", folder, {"--max-epochs", "1"}).code == 0);
  const auto said_by = [&](const std::string& command, const std::vector<std::string>& more) {
    const CapturedStderr captured;
    run_line(command, folder, more);
    return captured.text();
  };
  for (const std::string command : {"validate", "test", "predict"}) {
    CHECK(contains(said_by(command, {}), command + ": no --ckpt-path is given, so the weights are"));
    CHECK_FALSE(contains(said_by(command, {"--ckpt-path", "last"}), "no --ckpt-path is given"));
  }
}

TEST_CASE("help shows groups, defaults and limits") {
  const ProgramRun help = run_program({"fit", "--help", "--model.class", "Line", "--data.class", "Points"});
  CHECK(help.code == 0);
  for (const char* text : {"General", "Trainer", "Model Line", "Data", "--max-epochs INT", "--model.lr NUMBER",
                           "Learning rate; more than 0 [0.1]", "one of norm, value [norm]", "--barebones [BOOL]"}) {
    INFO(text);
    CHECK(help.out.find(text) != std::string::npos);
  }
  CHECK(run_program({"--help"}).code == 0);
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  CHECK(run_program({}).code == 2);
}

TEST_CASE("list prints the registered names, and --version what the program was built with") {
  CHECK(run_program({"list", "models"}).out.find("\nLine\n") != std::string::npos);
  CHECK(run_program({"list", "data"}).out.find("Points\n") != std::string::npos);
  CHECK(run_program({"list", "transforms"}).out.find("RandomHorizontalFlip  Exchanges left and right") !=
        std::string::npos);
  CHECK(run_program({"list", "optimizers"}).out.find("AdamW") != std::string::npos);
  CHECK(run_program({"list", "lr_schedulers"}).out.find("OneCycleLR") != std::string::npos);
  CHECK(run_program({"list", "metrics"}).out.find("FBetaScore") != std::string::npos);
  CHECK(run_program({"list", "loggers"}).out.find("metrics.csv") != std::string::npos);
  CHECK(run_program({"list", "callbacks"}).code == 0);
  const ProgramRun wrong = run_program({"list", "optimizer"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "levin: error: levin list: nothing is called 'optimizer' (did you mean optimizers?); there are: "
        "models, data, transforms, optimizers, adapters, objectives, lr_schedulers, metrics, callbacks, precisions, "
        "strategies, loggers, profilers\n");
  const ProgramRun version = run_program({"--version"});
  for (const char* word : {"levin ", "LibTorch ", "CUDA ", "NCCL ", "compiler "})
    CHECK(version.out.find(word) != std::string::npos);
  const TemporaryFolder folder;
  const auto full = [](const char* stage) { return std::string(stage) == "write" ? ENOSPC : 0; };
  const auto before = levin::set_file_stage_hook(full);
  const ProgramRun pages = run_program({"man", "--output", (folder / "new" / "man1").string()});
  levin::set_file_stage_hook(before);
  CHECK(pages.err.find("No space left") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "new"));       // no empty folder is left
  const ProgramRun prefix = run_program({"--cmake-prefix"});  // of a program that is not installed
  CHECK(prefix.code == 2);
  CHECK(prefix.err.find("install it (cmake --install BUILD --prefix PREFIX)") != std::string::npos);
  const ProgramRun command = run_program({"fitt"});
  CHECK(command.code == 2);
  CHECK(
      command.err ==
      "levin: error: no command 'fitt' (did you mean fit?); there are: fit, validate, test, predict, launch, compile, "
      "sweep, export, merge, generate, verify-resume, profile, config, data, tokenize, list, ls, compare, report, "
      "watch, serve, gc, rm, ckpt, new, man, completion\n");
}
