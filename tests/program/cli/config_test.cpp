#include <levin/core/system/error.h>
#include <levin/program/config/config_text.h>
#include <levin/program/config/references.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/program/cli/config_files.h"
#include "tests/program/cli/program.h"
#include "tests/temporary_folder.h"

using levin::Json;
using levin::testing::ConfigFile;
using levin::testing::Environment;
using levin::testing::ProgramRun;
using levin::testing::run_program;

namespace {

constexpr const char* kConfig = R"({
  "$schema": "levin.schema.json", "seed": 1, "name": "digits",
  "trainer": {"max_epochs": 5, "precision": "32"},
  "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "AdamW", "lr": 0.5},
            "lr_scheduler": {"class": "StepLR", "step_size": 7}},
  "data": {"class": "SyntheticDigits", "batch_size": 16}})";

/// Returns the resolved config of these arguments.
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
  CHECK(config["trainer"]["strategy"]["class"] == "single_device");
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

TEST_CASE("another class starts from its own defaults") {
  const ConfigFile file(kConfig);
  const Json config =
      shown({"--config", file.path(), "--model.optimizer.class", "SGD", "--model.optimizer.momentum=0.9"});
  CHECK(config["model"]["optimizer"]["class"] == "SGD");
  CHECK(config["model"]["optimizer"]["momentum"] == 0.9);
  CHECK(config["model"]["optimizer"]["lr"] == 0.001);
  CHECK(config["model"]["net"] == "mlp");
}

TEST_CASE("flags are understood in all their spellings") {
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

TEST_CASE("merge replaces an object of another class and joins the others, and keeps origins") {
  const auto merged = [](const char* base, const char* over) {
    levin::cli::Config config = levin::cli::parse_config("a", base);
    levin::cli::merge(levin::schema_of<levin::NoOptions>(), config, levin::cli::parse_config("b", over));
    return config;
  };
  const levin::cli::Config config = merged(R"({"a": {"class": "X", "p": 1}, "b": "X", "c": {"p": 1}, "d": [1, 2]})",
                                           "\n\n"
                                           R"({"a": {"class": "Y"}, "b": {"p": 2}, "c": {"q": 2}, "d": [3]})");
  CHECK(config.values.dump() == R"({"a":{"class":"Y"},"b":{"class":"X","p":2},"c":{"p":1,"q":2},"d":[3]})");
  CHECK(config.origins.at("a.class") == "b:3");
  CHECK_FALSE(config.origins.count("a.p"));
  CHECK(config.origins.at("b.class") == "a:1");
  CHECK(config.origins.at("b.p") == "b:3");
  CHECK(config.origins.at("c.p") == "a:1");
  CHECK_FALSE(config.origins.count("d[1]"));
  CHECK(config.nearest_origin("d[1].x") == "b:3");
}

TEST_CASE("every value has its line") {
  const levin::cli::Config config = levin::cli::parse_config(
      "a", "{\n \"n\": 1\n,\"t\":\n\"x\", \"l\": [\n 1.5,\nnull,\n{\"k\": true}\n],\n\"e\": {}}");
  for (const auto& [path, line] : std::vector<std::pair<std::string, std::string>>{
           {"n", "a:2"}, {"t", "a:4"}, {"l", "a:4"}, {"l[0]", "a:5"}, {"l[1]", "a:6"}, {"l[2].k", "a:7"}, {"e", "a:9"}})
    CHECK(config.origins.at(path) == line);
}

TEST_CASE("a class other than the default starts from its own defaults, whichever file names it") {
  const ConfigFile file(R"({"model": {"class": "ImageClassifier", "optimizer": {"lr": 0.5}}})");
  const ConfigFile other(R"({"model": {"optimizer": {"class": "SGD"}}})");
  CHECK(shown({"--config", file.path()})["model"]["optimizer"]["lr"] == 0.5);
  CHECK(shown({"--config", file.path(), other.path()})["model"]["optimizer"]["lr"] == 0.001);
}

TEST_CASE("references keep their type, see defaults, and are resolved after everything is merged") {
  const ConfigFile file(R"({
    "seed": "${data.batch_size}", "name": "digits_${data.batch_size}_${model.optimizer.lr}_$${x}",
    "trainer": {"max_epochs": "${trainer.log_every_n_steps}", "min_epochs": "${env:LEVIN_TEST_EPOCHS}"},
    "model": {"class": "${env:LEVIN_TEST_CLASS}", "optimizer": {"class": "AdamW", "lr": 0.25}},
    "data": {"class": "SyntheticDigits", "batch_size": 16}})");
  const Environment epochs("LEVIN_TEST_EPOCHS", "2");
  const Environment name("LEVIN_TEST_CLASS", "ImageClassifier");
  const Json config = shown({"--config", file.path(), "--data.batch-size", "8", "--model.net", "mlp"});
  CHECK(config["seed"] == 8);
  CHECK(config["name"] == "digits_8_0.25_$${x}");  // escaped, so that the config can be read again
  CHECK(config["trainer"]["max_epochs"] == 50);
  // A value of the environment may be a secret: it is resolved, and shown as it was written.
  CHECK(config["trainer"]["min_epochs"] == "${env:LEVIN_TEST_EPOCHS}");
  CHECK(config["model"]["class"] == "${env:LEVIN_TEST_CLASS}");
  CHECK(config["model"]["net"] == "mlp");
  const std::string explained = run_program({"config", "explain", "--config", file.path()}).out;
  CHECK(std::regex_search(explained, std::regex("trainer\\.min_epochs +2 ")));
  const ConfigFile again(config.dump());
  CHECK(shown({"--config", again.path()}).dump() == config.dump());
}

TEST_CASE("references reach objects, lists and items, and flags may hold them") {
  const ConfigFile file(R"({"model": {"class": "ImageClassifier", "optimizer": {"class": "AdamW", "betas": [0.5, 0.75]},
                             "lr_scheduler": {"class": "StepLR", "gamma": "${model.optimizer.betas[1]}"}}})");
  const Json config =
      shown({"--config", file.path(), "--model.lr_scheduler.step_size", "${trainer.log_every_n_steps}"});
  CHECK(config["model"]["lr_scheduler"]["gamma"] == 0.75);
  CHECK(config["model"]["lr_scheduler"]["step_size"] == 50);
}

TEST_CASE("references to references do not grow without bound") {
  std::string text = "{\"a0\": \"xxxxxxxxxx\"";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "${a" + std::to_string(i - 1) + "}";
    text += ", \"a" + std::to_string(i) + "\": \"" + before + before + "\"";
  }
  levin::cli::Config config = levin::cli::parse_config("a", text + "}");
  const std::vector<std::string> problems =
      levin::cli::resolve_references(levin::schema_of<levin::NoOptions>(), config);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].find("the references make the config too large") != std::string::npos);
}

TEST_CASE("config check says ok with the files, or all mistakes") {
  const ConfigFile file(kConfig);
  const ConfigFile later(R"({"trainer": {"max_epochs": 6}})");
  const ProgramRun ok = run_program({"config", "check", "--config", file.path(), later.path()});
  CHECK(ok.code == 0);
  CHECK(ok.out == "ok: " + file.path() + ", " + later.path() + "\n");
  const ProgramRun wrong =
      run_program({"config", "check", "--config", file.path(), "--max-epochs", "x", "--data.batch_size", "0"});
  CHECK(wrong.code == 2);
  CHECK(wrong.out.empty());
  CHECK(wrong.err ==
        "levin: error: 2 mistakes:\n  --max-epochs: trainer.max_epochs: expected a whole number, got \"x\"\n"
        "  --data.batch_size: data.batch_size: expected at least 1, got 0\n");
  CHECK(run_program({"config", "check"}).code == 2);
}

TEST_CASE("config check refuses a schedule that lacks what it needs, as the run does") {
  const ConfigFile file(kConfig);
  for (const auto& [schedule, message] : std::vector<std::pair<std::string, std::string>>{
           {"WarmupCosine", "WarmupCosine.warmup_steps: missing"}, {"OneCycleLR", "OneCycleLR.max_lr: missing"}}) {
    const std::vector<std::string> flags = {"--config", file.path(), "--model.lr_scheduler.class", schedule};
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"config", "check"}, {"fit", "--quiet", "true", "--logger", "false"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      const ProgramRun run = run_program(arguments);
      CHECK(run.code == 2);
      CHECK(run.err.find("levin: error: " + message) != std::string::npos);
    }
  }
}

TEST_CASE("config check refuses an optimizer and a schedule that the run would refuse, in the same words") {
  const ConfigFile file(kConfig);
  const std::string optimizer = "--model.optimizer.class", schedule = "--model.lr_scheduler.class";
  for (const auto& [flags, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{optimizer, "SGD", "--model.optimizer.nesterov", "true"}, "SGD.nesterov: needs a momentum above 0"},
           {{schedule, "OneCycleLR", "--model.lr_scheduler.max_lr", "0.1"},
            "OneCycleLR.total_steps: \"auto\" counts optimizer steps"},
           {{schedule, "WarmupCosine", "--model.lr_scheduler.warmup_steps", "1"},
            "WarmupCosine.total_steps: \"auto\" counts optimizer steps"},
           {{optimizer, "LBFGS", "--precision", "16-mixed"}, "trainer.precision: 16-mixed looks at the gradients once"},
           {{optimizer, "LBFGS", "--accumulate-grad-batches", "2"},
            "trainer.accumulate_grad_batches: LBFGS evaluates a batch many times in one step"},
           {{optimizer, "LBFGS", "--auto-microbatch", "true"}, "trainer.auto_microbatch: LBFGS evaluates a batch"},
           {{optimizer, "ScheduleFreeAdamW", "--callbacks", "EMAWeightAveraging"},
            "callbacks: ScheduleFreeAdamW averages the weights itself"},
           {{schedule, "StepLR", "--model.lr_scheduler.step_size", "2", "--model.lr_scheduler.interval", "token"},
            "lr_scheduler.interval: this scheduler cannot count tokens"}}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"config", "check"}, {"fit", "--quiet", "true", "--logger", "false"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--config", file.path()});
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      const ProgramRun run = run_program(arguments);
      INFO(run.err);
      CHECK(run.code == 2);
      CHECK(run.err.find("levin: error: " + message) != std::string::npos);
    }
  }
}

TEST_CASE("print-config shows the config of a run and does not run it") {
  const ConfigFile file(kConfig);
  const std::vector<std::string> arguments = {"--config", file.path(), "--max-epochs", "3"};
  std::vector<std::string> show = {"config", "show"}, fit = {"fit", "--print-config"};
  show.insert(show.end(), arguments.begin(), arguments.end());
  fit.insert(fit.end(), arguments.begin(), arguments.end());
  const ProgramRun run = run_program(fit);
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out == run_program(show).out);
}

TEST_CASE("what is printed as a config has references to the environment in place of its values") {
  const ConfigFile file(kConfig);
  const Environment secret("LEVIN_TEST_SECRET", "0.0123456789");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"config", "show"}, {"fit", "--print-config"}}) {
    std::vector<std::string> arguments = command;
    for (const char* word : {"--config", file.path().c_str(), "--model.optimizer.lr", "${env:LEVIN_TEST_SECRET}"})
      arguments.emplace_back(word);
    const ProgramRun run = run_program(arguments);
    CHECK(run.code == 0);
    CHECK(run.out.find("\"lr\": \"${env:LEVIN_TEST_SECRET}\"") != std::string::npos);
    CHECK(run.out.find("0.0123456789") == std::string::npos);
  }
}

TEST_CASE("config explain names each value's origin") {
  const ConfigFile file(kConfig);
  const Environment lr("LEVIN__MODEL__OPTIMIZER__LR", "0.125");
  const ProgramRun run = run_program({"config", "explain", "--config", file.path(), "--max_epochs", "3", "--gpus", "0",
                                      "--data.batch-size", "${seed}", "--trainer.limit_val_batches", "2"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  std::string printed = levin::testing::replaced(run.out, file.path(), "run.json");
  const auto line = [&](const std::string& path) {
    std::istringstream lines(printed);
    for (std::string text; std::getline(lines, text);) {
      std::istringstream words(text);
      std::string first, value, origin;
      words >> first >> value >> std::ws;
      std::getline(words, origin);
      if (first == path) return value + " | " + origin;
    }
    return std::string("no line");
  };
  CHECK(line("seed") == "1 | run.json:2");
  CHECK(line("trainer.max_epochs") == "3 | --max_epochs");
  CHECK(line("trainer.limit_val_batches") == "2 | --trainer.limit_val_batches");
  CHECK(line("trainer.precision") == "\"32-true\" | run.json:3");
  CHECK(line("trainer.gpus") == "0 | --gpus");
  CHECK(line("trainer.logger") == "true | default");
  CHECK(line("model.optimizer.lr") == "0.125 | LEVIN__MODEL__OPTIMIZER__LR");
  CHECK(line("model.optimizer.class") == "\"AdamW\" | run.json:4");
  CHECK(line("model.lr_scheduler.step_size") == "7 | run.json:5");
  CHECK(line("model.lr_scheduler.gamma") == "0.1 | default");
  CHECK(line("data.batch_size") == "1 | --data.batch-size ${seed}");
  printed = run_program({"config", "explain", "--config", file.path(), "--fast-dev-run"}).out;
  CHECK(line("trainer.max_epochs") == "1 | trainer.fast_dev_run (--fast-dev-run)");
  CHECK(line("trainer.logger") == "false | trainer.fast_dev_run (--fast-dev-run)");
  CHECK(line("trainer.enable_progress_bar") == "null | default");
}

TEST_CASE("config explain blames no option for the strategy of ranks that a launcher has started") {
  const Environment rank("RANK", "0"), size("WORLD_SIZE", "2"), local_rank("LOCAL_RANK", "0"),
      local_size("LOCAL_WORLD_SIZE", "2"), address("MASTER_ADDR", "127.0.0.1"), port("MASTER_PORT", "29511");
  const std::string printed = run_program({"config", "explain", "--max-epochs", "3", "--accelerator", "cpu"}).out;
  const size_t begin = printed.find("trainer.strategy.class");
  REQUIRE(begin != std::string::npos);
  const std::string line = printed.substr(begin, printed.find('\n', begin) - begin);
  CHECK(contains(line, "\"ddp\""));
  CHECK(line.ends_with(" default"));
}

TEST_CASE("config schema has types, defaults, limits, choices and descriptions") {
  const ProgramRun run = run_program({"config", "schema"});
  REQUIRE(run.code == 0);
  const Json schema = Json::parse(run.out);
  CHECK(schema["required"].dump() == R"(["model"])");
  CHECK(schema["additionalProperties"] == false);
  const Json& trainer = schema["properties"]["trainer"]["anyOf"][0]["properties"];
  CHECK(trainer["max_epochs"]["anyOf"].dump() ==
        R"([{"type":["integer","null"],"minimum":-1},{"$ref":"#/definitions/reference"}])");
  CHECK(trainer["strategy"]["anyOf"][0]["anyOf"][0].dump() ==
        R"({"enum":["auto","single_device","dp","ddp","ddp_spawn","zero1","fsdp"]})");
  CHECK(trainer["strategy"]["default"]["class"] == "auto");
  CHECK(trainer["precision"]["anyOf"][0]["anyOf"][3].dump() == R"({"enum":[16,32,64,"16","32","64","bf16"]})");
  CHECK(trainer["precision"]["default"] == "32-true");
  CHECK(schema["definitions"]["strategy.fsdp"]["properties"]["shard"]["anyOf"][0].dump() ==
        R"({"enum":["all","gradients"]})");
  CHECK(trainer["launcher"]["anyOf"][0].dump() == R"({"enum":["auto","none"]})");
  CHECK(trainer["default_root_dir"].dump() ==
        R"({"description":"Folder that holds the runs' folders","default":".","type":"string"})");
  const Json& sgd = schema["definitions"]["optimizer.SGD"];
  CHECK(sgd["additionalProperties"] == false);
  CHECK(sgd["properties"]["class"]["const"] == "SGD");
  CHECK(sgd["properties"].contains("momentum"));
  CHECK(run_program({"config", "schema", "more"}).code == 2);
}

TEST_CASE("a config may have comments, and its values keep their lines") {
  const ConfigFile file(
      "// of the file\n{\n  /* two\n     lines */\n  \"seed\": 3, // behind\n  \"trainer\": {\"max_epochs\": 4},\n"
      "  \"name\": \"a // b\"\n}\n// at the end\n");
  const levin::cli::Config config = levin::cli::parse_config("run.json", read_bytes(file.path()));
  CHECK(config.values["seed"] == 3);
  CHECK(config.values["name"] == "a // b");
  CHECK(config.origins.at("seed") == "run.json:5");
  CHECK(config.origins.at("trainer.max_epochs") == "run.json:6");
}

TEST_CASE("a config overrides its bases, whose paths begin at its folder") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "parts");
  write_bytes(folder / "parts" / "all.json", kConfig);
  write_bytes(folder / "parts" / "long.json", R"({"base": "all.json", "trainer": {"max_epochs": 50, "seed": 9}})");
  write_bytes(folder / "parts" / "small.json", R"({"data": {"batch_size": 4}})");
  write_bytes(folder / "run.json",
              R"({"base": ["parts/long.json", "parts/small.json"], "model": {"optimizer": {"lr": 0.25}}})");
  const std::string path = (folder / "run.json").string();
  const Json config = shown({"--config", path, "--max-epochs", "60"});
  CHECK(config["trainer"]["max_epochs"] == 60);
  CHECK(config["seed"] == 9);
  CHECK(config["data"]["batch_size"] == 4);
  CHECK(config["model"]["optimizer"]["class"] == "AdamW");
  CHECK(config["model"]["optimizer"]["lr"] == 0.25);
  CHECK_FALSE(config.contains("base"));
  const ProgramRun explained = run_program({"config", "explain", "--config", path});
  CHECK(explained.out.find((folder / "parts" / "long.json").string() + ":1") != std::string::npos);

  const auto error = [&](const std::string& text) {
    write_bytes(folder / "run.json", text);
    const ProgramRun run = run_program({"config", "show", "--config", path});
    CHECK(run.code == 2);
    return levin::testing::replaced(run.err, folder.path().string() + "/", "");
  };
  CHECK(error(R"({"base": "none.json"})") == "levin: error: run.json:1: base: there is no file none.json\n");
  CHECK(error(R"({"base": [1]})")
            .find("run.json:1: base: expected the path of a config file, or a list of paths, got [1]") !=
        std::string::npos);
  write_bytes(folder / "parts" / "small.json", R"({"base": "../run.json"})");
  CHECK(error(R"({"base": "parts/small.json"})") ==
        "levin: error: run.json is a base of itself, through parts/small.json\n");
  write_bytes(folder / "parts" / "small.json", "{\n\"trainer\": {\"max_epoch\": 1}}");
  CHECK(error(R"({"base": "parts/small.json"})").find("parts/small.json:2: trainer.max_epoch") != std::string::npos);
}
