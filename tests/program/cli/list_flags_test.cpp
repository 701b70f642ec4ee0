#include <levin/core/options/option.h>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/program/cli/config_files.h"
#include "tests/program/cli/program.h"

using levin::Json;
using levin::testing::ConfigFile;
using levin::testing::Environment;
using levin::testing::ProgramRun;
using levin::testing::replaced;
using levin::testing::run_program;

namespace {

using Arguments = std::vector<std::string>;

constexpr const char* kWithCallbacks = R"({
  "trainer": {"callbacks": [{"class": "EarlyStopping", "monitor": "val_loss"}]},
  "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "AdamW"}}})";

ProgramRun show(Arguments arguments) {
  arguments.insert(arguments.begin(), {"config", "show"});
  return run_program(arguments);
}

Json trainer_of(const Arguments& arguments) {
  const ProgramRun run = show(arguments);
  INFO(run.err);
  REQUIRE(run.code == 0);
  return Json::parse(run.out)["trainer"];
}

std::vector<std::string> classes_of(const Json& list) {
  std::vector<std::string> names;
  for (const Json& part : list) names.push_back(part["class"]);
  return names;
}

std::string error_of(const Arguments& arguments) {
  const ProgramRun run = show(arguments);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  return run.err;
}

}  // namespace

TEST_CASE("a flag of a list that stands again adds to it, and replaces what files say") {
  const ConfigFile file(kWithCallbacks);
  const Arguments two = {"--config", file.path(), "--callbacks", "Timer", "--trainer.callbacks=ModelSummary"};
  CHECK(classes_of(trainer_of(two)["callbacks"]) == Arguments{"Timer", "ModelSummary"});
  const Json objects = trainer_of({"--callbacks", R"({"class": "EarlyStopping", "monitor": "a"})", "--callbacks",
                                   R"([{"class": "EarlyStopping", "monitor": "b"}, "Timer"])"})["callbacks"];
  CHECK(classes_of(objects) == Arguments{"EarlyStopping", "EarlyStopping", "Timer"});
  CHECK(objects[1]["monitor"] == "b");
  CHECK(classes_of(trainer_of({"--logger", "CSVLogger", "--logger", "JSONLinesLogger"})["logger"]) ==
        Arguments{"CSVLogger", "JSONLinesLogger"});
  CHECK(trainer_of({"--logger", "CSVLogger", "--logger", "false"})["logger"] == false);
  CHECK(trainer_of({"--max-epochs", "3", "--max-epochs", "4"})["max_epochs"] == 4);
}

TEST_CASE("a flag with += adds to what files say") {
  const ConfigFile file(kWithCallbacks);
  for (const Arguments& flags :
       {Arguments{"--callbacks+=Timer"}, Arguments{"--callbacks+", "Timer"}, Arguments{"--trainer.callbacks+=Timer"}}) {
    Arguments arguments = {"--config", file.path()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    CHECK(classes_of(trainer_of(arguments)["callbacks"]) == Arguments{"EarlyStopping", "Timer"});
  }
  CHECK(classes_of(trainer_of({"--callbacks+=Timer"})["callbacks"]) == Arguments{"Timer"});
  CHECK(error_of({"--max-epochs+=3"}) == "levin: error: --max-epochs+: no such flag (did you mean --max-epochs?)\n");
  CHECK(error_of({"--logger+=CSVLogger"}) ==
        "levin: error: --logger+: trainer.logger+=: only a list has items and can be added to; it is unset here: write "
        "the whole list\n");
}

TEST_CASE("flags reach the items of lists, and may choose another class for one") {
  const ConfigFile file(kWithCallbacks);
  const Json callbacks = trainer_of({"--config", file.path(), "--callbacks.0.class", "ModelCheckpoint",
                                     "--callbacks.0.save_last", "true"})["callbacks"];
  CHECK(classes_of(callbacks) == Arguments{"ModelCheckpoint"});
  CHECK(callbacks[0]["save_last"] == true);
}

TEST_CASE("flags and variables reach the items of lists") {
  const ConfigFile file(kWithCallbacks);
  const Environment patience("LEVIN__TRAINER__CALLBACKS__0__PATIENCE", "7");
  const Json callbacks =
      trainer_of({"--config", file.path(), "--callbacks.0.monitor", "val_acc", "--trainer.callbacks.0.mode", "max",
                  "--callbacks+=EarlyStopping", "--callbacks.1.monitor=loss"})["callbacks"];
  REQUIRE(classes_of(callbacks) == Arguments{"EarlyStopping", "EarlyStopping"});
  CHECK(callbacks[0]["monitor"] == "val_acc");
  CHECK(callbacks[0]["mode"] == "max");
  CHECK(callbacks[0]["patience"] == 7);
  CHECK(callbacks[1]["monitor"] == "loss");
}

TEST_CASE("items of plain lists and of lists by default can be set alone") {
  const ConfigFile file(kWithCallbacks);
  const ProgramRun run = show({"--config", file.path(), "--model.optimizer.betas.1", "0.5"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(Json::parse(run.out)["model"]["optimizer"]["betas"].dump() == "[0.9,0.5]");
}

TEST_CASE("errors in the items of a list suggest the nearest right name") {
  const ConfigFile file(kWithCallbacks);
  const auto error = [&](const Arguments& flags) {
    Arguments arguments = {"--config", file.path()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return replaced(error_of(arguments), file.path(), "run.json");
  };
  CHECK(error({"--callbacks.0.montior", "x"}) ==
        "levin: error: --callbacks.0.montior: no such flag (did you mean --callbacks.0.monitor?)\n");
  CHECK(error({"--callbacks.0.patience", "x"}) ==
        "levin: error: --callbacks.0.patience: trainer.callbacks[0].patience: expected a whole number, got \"x\"\n");
  CHECK(error({"--callbacks", "Timr"}) ==
        "levin: error: --callbacks: trainer.callbacks[0].class: no callback 'Timr' (did you mean Timer?); `levin list "
        "callbacks` shows them\n");
  const Environment third("LEVIN__TRAINER__CALLBACKS__3__MONITOR", "x");
  CHECK(error({}) ==
        "levin: error: LEVIN__TRAINER__CALLBACKS__3__MONITOR: trainer.callbacks[3]: no such item; the list has 1 item, "
        "counted from 0\n");
}

TEST_CASE("a key with += in a file adds to the list of earlier files") {
  const ConfigFile file(kWithCallbacks);
  const ConfigFile more(
      "{\"trainer\": {\n\"callbacks+=\": [\"Timer\", {\"class\": \"ModelCheckpoint\",\n\"save_last\": true}]}}");
  const ConfigFile one(R"({"trainer": {"callbacks+=": {"class": "ModelSummary"}}})");
  const Json callbacks = trainer_of({"--config", file.path(), more.path(), one.path()})["callbacks"];
  CHECK(classes_of(callbacks) == Arguments{"EarlyStopping", "Timer", "ModelCheckpoint", "ModelSummary"});
  CHECK(classes_of(trainer_of({"--config", more.path()})["callbacks"]) == Arguments{"Timer", "ModelCheckpoint"});
  const ProgramRun explained = run_program({"config", "explain", "--config", file.path(), more.path()});
  CHECK(replaced(explained.out, more.path(), "more.json").find("more.json:3") != std::string::npos);
  const ConfigFile wrong("{\"trainer\": {\n\"max_epochs+=\": 3}}");
  CHECK(replaced(error_of({"--config", wrong.path()}), wrong.path(), "wrong.json") ==
        "levin: error: wrong.json:2: trainer.max_epochs+=: only a list has items and can be added to; the option takes "
        "a whole number\n");
  const ConfigFile mistaken("{\"trainer\": {\n\"callbacks+=\": \"Timr\"}}");
  CHECK(replaced(error_of({"--config", mistaken.path()}), mistaken.path(), "wrong.json") ==
        "levin: error: wrong.json:2: trainer.callbacks[0].class: no callback 'Timr' (did you mean Timer?); `levin list "
        "callbacks` shows them\n");
}

TEST_CASE("one class alone is a list of it") {
  for (const char* callbacks : {R"("Timer")", R"({"class": "Timer"})", R"(["Timer"])"}) {
    const ConfigFile file(std::string(R"({"trainer": {"callbacks": )") + callbacks + "}}");
    CHECK(classes_of(trainer_of({"--config", file.path()})["callbacks"]) == Arguments{"Timer"});
    CHECK(classes_of(trainer_of({"--config", file.path(), "--callbacks+=ModelSummary"})["callbacks"]) ==
          Arguments{"Timer", "ModelSummary"});
  }
  const ConfigFile wrong("{\"trainer\": {\"callbacks\": {\"class\": \"Timer\",\n\"durations\": 1}}}");
  CHECK(replaced(error_of({"--config", wrong.path()}), wrong.path(), "wrong.json") ==
        "levin: error: wrong.json:2: trainer.callbacks.durations: no such option (did you mean duration?)\n");
}

TEST_CASE("a part that a flag chooses as a whole has its flags") {
  const ProgramRun run =
      show({"--model.class", "ImageClassifier", "--model.optimizer", "SGD", "--model.optimizer.momentum", "0.5"});
  INFO(run.err);
  CHECK(run.code == 0);
}

TEST_CASE("flags with the wrong prefix or letters name the nearest, in the spelling that was meant") {
  const auto flag = [](const std::string& name) { return error_of({name, "3"}); };
  CHECK(flag("--trainer.max_epoch") ==
        "levin: error: --trainer.max_epoch: no such flag (did you mean --trainer.max_epochs?)\n");
  CHECK(flag("--bucket-cap-mb") ==
        "levin: error: --bucket-cap-mb: no such flag (an option of ddp, ddp_spawn, zero1: --strategy ddp "
        "--strategy.bucket_cap_mb)\n");
  CHECK(flag("--max_epoch") == "levin: error: --max_epoch: no such flag (did you mean --max_epochs?)\n");
}

TEST_CASE("help of fit groups the trainer's options, and the other commands leave out those of training") {
  const std::string fit = run_program({"fit", "--help"}).out, predict = run_program({"predict", "--help"}).out;
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(fit, "Trainer: length of the run:\n"));
  CHECK(has(fit, "Trainer: early spellings:\n"));
  CHECK_FALSE(has(fit, "Trainer:\n"));  // each option has its group
  CHECK(has(fit, "  --max-epochs INT"));
  CHECK_FALSE(has(fit, "--callbacks+"));
  CHECK_FALSE(has(predict, "--max-epochs"));
  CHECK_FALSE(has(predict, "--accumulate-grad-batches"));
  CHECK(has(predict, "  --limit-predict-batches"));
  CHECK(has(predict, "  --output FILE"));
  CHECK_FALSE(has(fit, "  --output FILE"));
  CHECK(run_program({"predict", "--help", "--max-epochs", "3"}).code == 0);
}
