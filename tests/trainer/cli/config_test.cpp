#include <levin/trainer/cli/config_file.h>
#include <levin/trainer/core/error.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/trainer/cli/program.h"

using levin::Json;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

/// A file of that text in a folder that lives as long as the object.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : path_((folder_.path() / "run.json").string()) {
    std::ofstream(path_) << text;
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_ = {};
  std::string path_;
};

/// An environment variable for as long as the object lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

constexpr const char* kConfig = R"({
  "$schema": "levin.schema.json", "seed": 1, "name": "digits",
  "trainer": {"max_epochs": 5, "precision": "32"},
  "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "AdamW", "lr": 0.5},
            "lr_scheduler": {"class": "StepLR", "step_size": 7}},
  "data": {"class": "SyntheticDigits", "batch_size": 16}})";

/// The resolved config of these arguments.
Json shown(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"config", "show"});
  const ProgramRun run = run_program(arguments);
  INFO(run.err);
  REQUIRE(run.code == 0);
  return Json::parse(run.out);
}

}  // namespace

TEST_CASE("config show prints every option, and its output can be run again") {
  const ConfigFile file(kConfig);
  const Json config = shown({"--config", file.path()});
  CHECK(config["seed"] == 1);
  CHECK(config["name"] == "digits");
  CHECK(config["trainer"]["max_epochs"] == 5);
  CHECK(config["trainer"]["strategy"] == "single_device");
  CHECK(config["trainer"]["precision"] == "32-true");
  CHECK_FALSE(config["trainer"].contains("seed"));
  CHECK(config["model"]["optimizer"]["class"] == "AdamW");
  CHECK(config["model"]["optimizer"]["weight_decay"] == 0.01);
  CHECK(config["model"]["lr_scheduler"]["step_size"] == 7);
  CHECK(config["model"]["lr_scheduler"]["interval"] == "epoch");
  CHECK(config["data"]["shuffle"] == true);
  const ConfigFile again(config.dump());
  CHECK(shown({"--config", again.path()}).dump() == config.dump());
}

TEST_CASE("later files, the environment and flags win, in this order") {
  const ConfigFile file(kConfig);
  const ConfigFile later(R"({"trainer": {"max_epochs": 6}, "model": {"optimizer": {"lr": 0.25}}})");
  Json config = shown({"--config", file.path(), later.path()});
  CHECK(shown({"--config", file.path(), "--config", later.path()}).dump() == config.dump());
  CHECK(config["trainer"]["max_epochs"] == 6);
  CHECK(config["model"]["optimizer"]["class"] == "AdamW");
  CHECK(config["model"]["optimizer"]["lr"] == 0.25);
  const Environment epochs("LEVIN__TRAINER__MAX_EPOCHS", "7");
  const Environment lr("LEVIN__MODEL__OPTIMIZER__LR", "0.125");
  const Environment seed("LEVIN__TRAINER__SEED", "9");
  config = shown({"--config", file.path(), "--config=" + later.path()});
  CHECK(config["trainer"]["max_epochs"] == 7);
  CHECK(config["model"]["optimizer"]["lr"] == 0.125);
  CHECK(config["seed"] == 9);
  config = shown({"--config", file.path(), "--max-epochs", "8", "--seed", "10"});
  CHECK(config["trainer"]["max_epochs"] == 8);
  CHECK(config["seed"] == 10);
}

TEST_CASE("another class begins with its own defaults") {
  const ConfigFile file(kConfig);
  const Json config =
      shown({"--config", file.path(), "--model.optimizer.class", "SGD", "--model.optimizer.momentum=0.9"});
  CHECK(config["model"]["optimizer"]["class"] == "SGD");
  CHECK(config["model"]["optimizer"]["momentum"] == 0.9);
  CHECK(config["model"]["optimizer"]["lr"] == 0.001);
  CHECK(config["model"]["net"] == "mlp");
}

TEST_CASE("flags in all their spellings") {
  const Json config = shown({"--model.class",
                             "ImageClassifier",
                             "--data.class=SyntheticDigits",
                             "--max_steps",
                             "-1",
                             "--trainer.min_epochs",
                             "1",
                             "--data.batch-size",
                             "8",
                             "--data.num_workers",
                             "0",
                             "--barebones",
                             "--inference-mode",
                             "false",
                             "--enable-progress-bar=false",
                             "--gpus",
                             "0",
                             "--limit-train-batches",
                             "1.0",
                             "--limit-val-batches",
                             "3",
                             "--callbacks",
                             "[]",
                             "--model.lr_scheduler.class",
                             "OneCycleLR",
                             "--model.lr_scheduler.max_lr",
                             "0.5",
                             "--name",
                             "7"});
  CHECK(config["trainer"]["max_steps"] == -1);
  CHECK(config["trainer"]["min_epochs"] == 1);
  CHECK(config["trainer"]["barebones"] == true);
  CHECK(config["trainer"]["inference_mode"] == false);
  CHECK(config["trainer"]["enable_progress_bar"] == false);
  CHECK(config["trainer"]["limit_train_batches"].dump() == "1.0");
  CHECK(config["trainer"]["limit_val_batches"].dump() == "3");
  CHECK(config["data"]["batch_size"] == 8);
  CHECK(config["model"]["lr_scheduler"]["max_lr"] == 0.5);
  CHECK(config["name"] == "7");
}

TEST_CASE("merge replaces an object of another class and joins the others") {
  Json base = Json::parse(R"({"a": {"class": "X", "p": 1}, "b": "X", "c": {"p": 1}, "d": [1, 2]})");
  levin::cli::merge(base, Json::parse(R"({"a": {"class": "Y"}, "b": {"p": 2}, "c": {"q": 2}, "d": [3]})"));
  CHECK(base.dump() == R"({"a":{"class":"Y"},"b":{"class":"X","p":2},"c":{"p":1,"q":2},"d":[3]})");
}

TEST_CASE("a wrong config is one message and exit code 2") {
  struct Case {
    const char* config;
    std::vector<std::string> flags;
    const char* message;  // after "levin: error: "
  };
  const std::vector<Case> cases = {
      {R"({"trainer": {"max_epoch": 1}})", {}, "trainer.max_epoch: no such option (did you mean max_epochs?)"},
      {R"({"trainer": {"max_epochs": "many"}})", {}, "trainer.max_epochs: expected a whole number, got \"many\""},
      {R"({"trainer": {"max_epochs": -3}})", {}, "trainer.max_epochs: expected at least -1, got -3"},
      {R"({"trainer": 3})", {}, "trainer: expected an object, got 3"},
      {R"({"trainr": {}})", {}, "trainr: no such option (did you mean trainer?)"},
      {R"({"trainer": {"precision": "16"}})", {}, "trainer.precision: 16-mixed cannot run yet in this version; use 32"},
      {R"({"seed": 1, "trainer": {"seed": 2}})", {}, "seed and trainer.seed contradict each other: 1 and 2"},
      {R"({"model": {"class": "ImageClasifier"}})",
       {},
       "model.class: no module 'ImageClasifier' (did you mean ImageClassifier?); `levin list models` shows them"},
      {R"({"model": {"class": "ImageClassifier", "nett": 1}})", {}, "model.nett: no such option (did you mean net?)"},
      {R"({"model": {"class": "ImageClassifier", "optimizer": {"class": "Adam", "lr": "fast"}}})",
       {},
       "model.optimizer.lr: expected a number, got \"fast\""},
      {R"({"model": {"class": "ImageClassifier", "optimizer": "Addam"}})",
       {},
       "model.optimizer.class: no optimizer 'Addam' (did you mean Adam?); `levin list optimizers` shows them"},
      {R"({"model": {"net": "mlp"}})", {}, "model.class: missing; name one of the module classes"},
      {R"({"data": {"class": "SyntheticDigits", "batch_size": 0}})", {}, "data.batch_size: expected at least 1, got 0"},
      {"{}", {}, "model.class: missing; name the module with --model.class (`levin list models` shows them)"},
      {"{}", {"--max-epoch", "3"}, "--max-epoch: no such flag (did you mean --max-epochs?)"},
      {"{}", {"--max-epochs", "x"}, "trainer.max_epochs: expected a whole number, got \"x\""},
      {"{}", {"--max-epochs", "3", "stray"}, "unexpected argument 'stray'; flags begin with --"},
      {"{}", {"--model.class", "Nothing"}, "model.class: no module 'Nothing'; `levin list models` shows them"},
      {"{}",
       {"--ckpt-path", "last"},
       "--ckpt-path: last cannot be read yet in this version; leave it out (model.weights reads a state_dict)"},
  };
  for (const Case& wrong : cases) {
    const ConfigFile file(wrong.config);
    std::vector<std::string> arguments = {"fit", "--config", file.path()};
    arguments.insert(arguments.end(), wrong.flags.begin(), wrong.flags.end());
    const ProgramRun run = run_program(arguments);
    CHECK(run.err == std::string("levin: error: ") + wrong.message + "\n");
    CHECK(run.code == 2);
    CHECK(run.out.empty());
  }
}

TEST_CASE("broken files are named with their place") {
  const auto error_of = [](const std::string& text) {
    const ConfigFile file(text);
    const ProgramRun run = run_program({"fit", "--config", file.path()});
    CHECK(run.code == 2);
    const std::string begin = "levin: error: " + file.path();
    CHECK(run.err.substr(0, begin.size()) == begin);
    return run.err.substr(std::min(begin.size(), run.err.size()));
  };
  CHECK(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}").substr(0, 19) == ":3:7: broken JSON: ");
  CHECK(error_of("").substr(0, 19) == ":1:1: broken JSON: ");
  CHECK(error_of("[1]") == ": expected an object with trainer, model and data, got [1]\n");
  CHECK(error_of(R"({"trainer": {"max_steps": 1, "max_steps": 2}})") ==
        ": the key \"max_steps\" stands twice in one object\n");
  const ProgramRun run = run_program({"fit", "--config", "nowhere/run.json"});
  CHECK(run.code == 2);
  CHECK(run.err == "levin: error: --config: cannot read nowhere/run.json: No such file or directory\n");
}

TEST_CASE("a wrong variable of the environment is named") {
  const Environment wrong("LEVIN__TRAINER__MAX_EPOCH", "7");
  const ProgramRun run = run_program({"config", "show"});
  CHECK(run.code == 2);
  CHECK(run.err ==
        "levin: error: LEVIN__TRAINER__MAX_EPOCH: trainer.max_epoch: no such option (did you mean max_epochs?)\n");
}
