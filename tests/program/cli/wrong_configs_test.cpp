#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/program/cli/config_files.h"
#include "tests/program/cli/program.h"

using levin::testing::ConfigFile;
using levin::testing::Environment;
using levin::testing::ProgramRun;
using levin::testing::replaced;
using levin::testing::run_program;

namespace {

struct WrongConfig {
  std::string text;
  /// The whole message after "levin: error: "; "run.json" stands for the file's path.
  std::string message;
  std::vector<std::string> flags = {};
  std::string variable = {}, value = {};
};

/// Returns a config that is right except for the model's `options`.
std::string model(const std::string& options) { return R"({"model": {"class": "ImageClassifier", )" + options + "}}"; }

void check(const WrongConfig& wrong) {
  const ConfigFile file(wrong.text);
  const Environment variable(wrong.variable, wrong.value);
  std::vector<std::string> arguments = {"fit", "--config", file.path()};
  arguments.insert(arguments.end(), wrong.flags.begin(), wrong.flags.end());
  const ProgramRun run = run_program(arguments);
  INFO(wrong.text);
  CHECK(replaced(run.err, file.path(), "run.json") == "levin: error: " + wrong.message + "\n");
  CHECK(run.code == 2);
  CHECK(run.out.empty());
}

}  // namespace

TEST_CASE("unknown options name the nearest, the file and the line") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {R"({"trainr": {}})", "run.json:1: trainr: no such option (did you mean trainer?)"},
           {"{\n\"zzzzzzzz\": 1}", "run.json:2: zzzzzzzz: no such option"},
           {"{\"trainer\": {\n\n\"max_epoch\": 1}}",
            "run.json:3: trainer.max_epoch: no such option (did you mean max_epochs?)"},
           {R"({"trainer": {"qqqqqqqqqqqqqqqqqqqq": 1}})", "run.json:1: trainer.qqqqqqqqqqqqqqqqqqqq: no such option"},
           {model(R"("nett": "mlp")"), "run.json:1: model.nett: no such option (did you mean net?)"},
           {model("\"optimizer\": {\"class\": \"AdamW\",\n\"weight_dcay\": 0}"),
            "run.json:2: model.optimizer.weight_dcay: no such option (did you mean weight_decay?)"},
           {R"({"data": {"class": "SyntheticDigits", "batchsize": 3}})",
            "run.json:1: data.batchsize: no such option (did you mean batch_size?)"},
           {R"({"": 1})", "an option has an empty name"},
       })
    check(wrong);
}

TEST_CASE("values of another type say what was expected") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {R"({"trainer": {"max_epochs": "many"}})",
            "run.json:1: trainer.max_epochs: expected a whole number, got \"many\""},
           {R"({"trainer": {"max_epochs": 1.5}})", "run.json:1: trainer.max_epochs: expected a whole number, got 1.5"},
           {R"({"trainer": {"max_epochs": 99999999999999999999}})",
            "run.json:1: trainer.max_epochs: expected a whole number, got 1e+20"},
           {R"({"trainer": {"barebones": "yes"}})",
            "run.json:1: trainer.barebones: expected true or false, got \"yes\""},
           {R"({"name": 3})", "run.json:1: name: expected text, got 3"},
           {R"({"trainer": 3})", "run.json:1: trainer: expected an object, got 3"},
           {R"({"trainer": null})", "run.json:1: trainer: expected an object, got null"},
           {R"({"model": 3})", "run.json:1: model: expected the name of a module or an object with \"class\", got 3"},
           {R"({"model": {"class": 3}})", "run.json:1: model.class: expected a name, got 3"},
           {model(R"("optimizer": {"class": "AdamW", "lr": "fast"})"),
            "run.json:1: model.optimizer.lr: expected a number, got \"fast\""},
           {model("\"optimizer\": {\"class\": \"AdamW\", \"betas\": [0.9,\n\"x\"]}"),
            "run.json:2: model.optimizer.betas[1]: expected a number, got \"x\""},
           {R"({"trainer": {"devices": "two"}})",
            "run.json:1: trainer.devices: expected a count, a list of different device numbers, \"auto\" or -1, got "
            "\"two\""},
           {R"({"trainer": {"precision": 17}})",
            "run.json:1: trainer.precision.class: no precision '17'; `levin list precisions` shows them"},
           {R"({"trainer": {"precision": "bf16-mixd"}})",
            "run.json:1: trainer.precision.class: no precision 'bf16-mixd' (did you mean bf16-mixed?); `levin list "
            "precisions` shows them"},
           {R"({"trainer": {"precision": [16]}})",
            "run.json:1: trainer.precision: expected 16, 32, 64 or the name of a precision or an object with "
            "\"class\", got [16]"},
           {R"({"trainer": {"limit_train_batches": 1.5}})",
            "run.json:1: trainer.limit_train_batches: expected a number of batches or a fraction from 0.0 to 1.0, got "
            "1.5"},
           {R"({"trainer": {"val_check_interval": 0}})",
            "run.json:1: trainer.val_check_interval: expected a number of batches from 1, a fraction of the epoch up "
            "to "
            "1.0, or \"DD:HH:MM:SS\", got 0"},
           {R"({"trainer": {"max_time": "1h"}})",
            "run.json:1: trainer.max_time: expected \"DD:HH:MM:SS\" or a number of seconds, got \"1h\""},
           {R"({"trainer": {"fast_dev_run": "yes"}})",
            "run.json:1: trainer.fast_dev_run: expected true, false or a number of batches, got \"yes\""},
           {R"({"trainer": {"callbacks": 3}})",
            "run.json:1: trainer.callbacks: expected a list, each the name of a callback or an object with \"class\", "
            "got 3"},
       })
    check(wrong);
}

TEST_CASE("values out of their limits and choices are refused with what is allowed") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {R"({"trainer": {"max_epochs": -3}})", "run.json:1: trainer.max_epochs: expected at least -1, got -3"},
           {R"({"seed": -1})", "run.json:1: seed: expected at least 0, got -1"},
           {R"({"name": ""})", "run.json:1: name: expected a name, got \"\""},
           {R"({"data": {"class": "SyntheticDigits", "batch_size": 0}})",
            "run.json:1: data.batch_size: expected at least 1, got 0"},
           {model(R"("optimizer": {"class": "AdamW", "lr": -0.5})"),
            "run.json:1: model.optimizer.lr: expected at least 0, got -0.5"},
           {R"({"trainer": {"strategy": "dpp"}})",
            "run.json:1: trainer.strategy.class: no strategy 'dpp' (did you mean dp?); `levin list strategies` shows "
            "them"},
           {R"({"trainer": {"gradient_clip_algorithm": "x"}})",
            "run.json:1: trainer.gradient_clip_algorithm: expected one of norm, value, got \"x\""},
       })
    check(wrong);
}

TEST_CASE("classes that are unknown, missing, or have other options are named") {
  const std::string missing =
      "model.class: missing; name the module with --model.class (`levin list models` shows them)";
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {R"({"model": {"class": "ImageClasifier"}})",
            "run.json:1: model.class: no module 'ImageClasifier' (did you mean ImageClassifier?); `levin list models` "
            "shows them"},
           {R"({"model": "Nothing"})", "run.json:1: model.class: no module 'Nothing'; `levin list models` shows them"},
           {model(R"("optimizer": "Addam")"),
            "run.json:1: model.optimizer.class: no optimizer 'Addam' (did you mean Adam?); `levin list optimizers` "
            "shows "
            "them"},
           {R"({"model": {"net": "mlp"}})", "run.json:1: model.class: missing; name one of the module classes"},
           {"{}", missing},
           {R"({"model": null})", missing},
           {model(R"("optimizer": {"class": "SGD", "betas": [0.9, 0.99]})"),
            "run.json:1: model.optimizer.betas: no such option"},
           {R"({"trainer": {"callbacks": [{"class": "Nope"}]}})",
            "run.json:1: trainer.callbacks[0].class: no callback 'Nope'; `levin list callbacks` shows them"},
           {"{}",
            "--model.class: model.class: no module 'Nothing'; `levin list models` shows them",
            {"--model.class", "Nothing", "--model.lr", "1"}},
       })
    check(wrong);
}

TEST_CASE("files that are no JSON object are refused with the place") {
  std::string deep;
  for (int i = 0; i < 70; ++i) deep += "[";
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {"", "run.json: the file is empty; expected an object with trainer, model and data"},
           {" \n", "run.json: the file is empty; expected an object with trainer, model and data"},
           {"[1]", "run.json: expected an object with trainer, model and data, got [1]"},
           {"{\n  \"a\": 1,\n  \"b\" 2\n}", "run.json:3:7: broken JSON: unexpected number literal; expected ':'"},
           {"{\"a\": 1", "run.json:1:8: broken JSON: the file ends too early: unexpected end of input; expected '}'"},
           {"{\"a\": 1}}", "run.json:1:9: broken JSON: unexpected '}'; expected end of input"},
           {"{\"a\": 1,\n}", "run.json:2:1: broken JSON: no comma may stand before }"},
           {"{\"a\": [1,\n]}", "run.json:2:1: broken JSON: no comma may stand before ]"},
           {"{\"a\": 1 # one\n}", "run.json:1:9: broken JSON: a comment stands behind // or between /* and */"},
           {"{'a': 1}", "run.json:1:2: broken JSON: texts stand in double quotes"},
           {"{\"a\": NaN}", "run.json:1:7: broken JSON: JSON has no NaN (an infinite number is written \"inf\")"},
           {"{\"a\": -Infinity}",
            "run.json:1:8: broken JSON: JSON has no Infinity (an infinite number is written \"inf\")"},
           {"{\"a\": True}", "run.json:1:7: broken JSON: Python's True is true, false or null in JSON"},
           {"{\"a\":\n 1e400}", "run.json:2: 1e400 is too large for a number"},
           {"{\"a\": \"\xff\"}", "run.json:1:8: broken JSON: this is not UTF-8 text"},
           {"{\"trainer\": {\"max_steps\": 1,\n\n\"max_steps\": 2}}",
            "run.json:3: the key \"max_steps\" stands twice in one object, first in line 1"},
           {deep, "run.json:1: expected at most 64 levels of lists and objects"},
       })
    check(wrong);
}

TEST_CASE("files that cannot be read are named") {
  const ProgramRun nowhere = run_program({"fit", "--config", "nowhere/run.json"});
  CHECK(nowhere.err == "levin: error: --config: cannot read nowhere/run.json: No such file or directory\n");
  CHECK(nowhere.code == 2);
  const TemporaryFolder folder;
  const ProgramRun directory = run_program({"fit", "--config", folder.path().string()});
  CHECK(directory.err == "levin: error: --config: " + folder.path().string() + " is a folder, not a file\n");
  CHECK(directory.code == 2);
  const ProgramRun none = run_program({"fit", "--config"});
  CHECK(none.err == "levin: error: --config: expected a value\n");
  CHECK(none.code == 2);
}

TEST_CASE("flags that are unknown, or lack their value, are named") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {"{}", "--max-epoch: no such flag (did you mean --max-epochs?)", {"--max-epoch", "3"}},
           {"{}", "--zzzzzzzzzzzzzzzzzzzzzz: no such flag", {"--zzzzzzzzzzzzzzzzzzzzzz"}},
           {"{}", "--max-epochs: expected a value", {"--max-epochs"}},
           {"{}", "--max-epochs: expected a value, got --seed", {"--max-epochs", "--seed", "3"}},
           {"{}", "unexpected argument 'stray'; flags begin with --", {"--max-epochs", "3", "stray"}},
           {"{}", "unexpected argument 'a.json'; a config is given by --config a.json", {"--seed", "1", "a.json"}},
           {"{}", "--data: no such flag (did you mean --data.class?)", {"--data", "MNIST"}},
           {model("\"optimizer\": \"SGD\""),
            "--lr: no such flag (did you mean --model.optimizer.lr?)",
            {"--lr", "0.1"}},
           {"{}",
            "--quiet: trainer.quiet: expected true or false, got \"True\" (did you mean true?)",
            {"--quiet=True"}},
           {R"({"model": {"class_path": "ImageClassifier"}})",
            "run.json:1: model.class_path: no such option; the name of a class is \"class\""},
           {R"({"model": {"class": "ImageClassifier", "init_args": {"net": "mlp"}}})",
            "run.json:1: model.init_args: no such option; the options of a class stand beside its \"class\""},
           {"{}", "--max-epochs: trainer.max_epochs: expected a whole number, got \"x\"", {"--max-epochs", "x"}},
           {"{}", "--max_epochs: trainer.max_epochs: expected a whole number, got \"x\"", {"--max_epochs=x"}},
           {"{}",
            "--gradient-clip-val: trainer.gradient_clip_val: expected a number, got \"1e400\"",
            {"--gradient-clip-val", "1e400"}},
           {"{}",
            "--gradient-clip-val: trainer.gradient_clip_val: expected a number, got \"nan\"",
            {"--gradient-clip-val=nan"}},
           {"{}", "--name: expected UTF-8 text, got other bytes", {"--name", "\xff"}},
           {model("\"net\": \"mlp\""),
            "--model.optimizer: the key \"lr\" stands twice in one object",
            {"--model.optimizer", "{\"class\": \"SGD\", \"lr\": 1, \"lr\": 2}"}},
           {"{}",
            "2 mistakes:\n  --max-epoch: no such flag (did you mean --max-epochs?)\n  --limit: no such flag",
            {"--max-epoch", "3", "--limit"}},
       })
    check(wrong);
}

TEST_CASE("variables of the environment with a wrong name or value are named") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {"{}",
            "LEVIN__TRAINER__MAX_EPOCH: trainer.max_epoch: no such option (did you mean max_epochs?)",
            {},
            "LEVIN__TRAINER__MAX_EPOCH",
            "7"},
           {"{}",
            "LEVIN__TRAINER__MAX_EPOCHS: trainer.max_epochs: expected a whole number, got \"\"",
            {},
            "LEVIN__TRAINER__MAX_EPOCHS",
            ""},
           {"{}", "LEVIN__SEED: seed: expected at least 0, got -4", {}, "LEVIN__SEED", "-4"},
           {"{}", "LEVIN__MODEL__LR: choose the module with model.class first", {}, "LEVIN__MODEL__LR", "1"},
       })
    check(wrong);
}

TEST_CASE("two variables for one value contradict each other") {
  const Environment seed("LEVIN__SEED", "1");
  check({"{}",
         "LEVIN__SEED and LEVIN__TRAINER__SEED contradict each other: both set seed",
         {},
         "LEVIN__TRAINER__SEED",
         "2"});
}

TEST_CASE("references that lead nowhere are refused with their place") {
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {"{\"trainer\": {\n\"max_epochs\": \"${trainer.min_epoch}\"}}",
            "run.json:2: trainer.max_epochs: ${trainer.min_epoch}: trainer.min_epoch: no such option (did you mean "
            "min_epochs?)"},
           {R"({"trainer": {"max_epochs": "${trainer.min_epochs}", "min_epochs": "${trainer.max_epochs}"}})",
            "run.json:1: trainer.min_epochs: ${trainer.max_epochs} refers to itself: trainer.max_epochs -> "
            "trainer.min_epochs -> trainer.max_epochs"},
           {R"({"name": "${name}"})", "run.json:1: name: ${name} refers to itself: name -> name"},
           {R"({"name": "${env:LEVIN_TEST_NOTHING}"})",
            "run.json:1: name: ${env:LEVIN_TEST_NOTHING}: the environment has no such variable"},
           {R"({"name": "a ${trainer}"})", "run.json:1: name: ${trainer} is an object and cannot stand inside a text"},
           {R"({"name": "a ${seed}"})", "run.json:1: name: ${seed} is unset and cannot stand inside a text"},
           {R"({"name": "a ${seed"})", "run.json:1: name: expected a } after ${seed (a literal ${ is written $${)"},
           {R"({"": "${nothing}"})",
            "2 mistakes:\n  : ${nothing}: nothing: no such option\n  an option has an empty name"},
           {R"({"name": "${}"})", "run.json:1: name: ${}: expected the path of an option between ${ and }"},
           {R"({"name": "x", "trainer": {"max_epochs": "${name}"}})",
            "run.json:1: trainer.max_epochs: expected a whole number, got \"x\", from ${name}"},
           // What the environment says may be a password, and is not repeated.
           {R"({"trainer": {"max_epochs": "${env:LEVIN_TEST_SECRET}"}})",
            "run.json:1: trainer.max_epochs: expected a whole number, from ${env:LEVIN_TEST_SECRET}",
            {},
            "LEVIN_TEST_SECRET",
            "hunter2"},
           {R"({"name": "ImageClassifier", "model": {"class": "${name}"}})",
            "run.json:1: model.class: a class can refer to the environment only (${env:NAME}), got ${name}"},
       })
    check(wrong);
}

TEST_CASE("options that contradict each other are named as they were written") {
  const std::string both = " contradict each other: ";
  for (const WrongConfig& wrong : std::vector<WrongConfig>{
           {"{\"trainer\": {\"min_epochs\": 3,\n\"max_epochs\": 2}}",
            "trainer.min_epochs (run.json:1) and trainer.max_epochs (run.json:2)" + both +
                "at least 3 epochs, at most 2"},
           {R"({"trainer": {"devices": 1}})",
            "--gpus and trainer.devices (run.json:1)" + both + "both say which devices; keep devices",
            {"--gpus", "1"}},
           {"{}",
            "LEVIN__TRAINER__USE_AMP and --precision" + both + "16 bit and 64-true",
            {"--precision", "64"},
            "LEVIN__TRAINER__USE_AMP",
            "true"},
           {R"({"trainer": {"barebones": true, "logger": true, "fast_dev_run": 1}})",
            "2 mistakes:\n  trainer.barebones (run.json:1) and trainer.logger (run.json:1)" + both +
                "barebones runs without it; leave logger unset\n  trainer.barebones (run.json:1) and "
                "trainer.fast_dev_run (run.json:1)" +
                both + "barebones runs without it; leave fast_dev_run unset"},
           {R"({"trainer": {"accelerator": "cpu", "auto_lr_find": true}})",
            "--devices and trainer.auto_lr_find (run.json:1)" + both +
                "ddp trains on several ranks: look for the rate on one device",
            {"--devices", "2"}},
           {R"({"seed": 1, "trainer": {"seed": 2}})",
            "run.json:1: seed and trainer.seed contradict each other: 1 and 2"},
       })
    check(wrong);
}

TEST_CASE("all mistakes are reported, each with its place") {
  check(
      {"{\"trainer\": {\"max_epoch\": 1,\n\"max_steps\": \"x\"},\n\"data\": {\"class\": \"SyntheticDigits\",\n"
       "\"batch_size\": 0}}",
       "4 mistakes:\n"
       "  --max-epoch: no such flag (did you mean --max-epochs?)\n"
       "  run.json:1: trainer.max_epoch: no such option (did you mean max_epochs?)\n"
       "  run.json:2: trainer.max_steps: expected a whole number, got \"x\"\n"
       "  run.json:4: data.batch_size: expected at least 1, got 0",
       {"--max-epoch", "3"}});
}
