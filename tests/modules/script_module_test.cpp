// Models that Python saved as TorchScript, trained by levin and by Python from one start.
#include <levin/modules/script_module.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <levin/modules/weights.h>
#include <levin/trainer/trainer.h>
#include <torch/torch.h>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/modules/python_models.h"
#include "tests/temporary_folder.h"

using levin::ScriptModule;
using levin::ScriptModuleOptions;
using levin::UsageError;

namespace {

using Json = nlohmann::ordered_json;

using Scripts = PythonModels;

ScriptModuleOptions options_of(const std::string& file) {
  return {.file = file, .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.1, .momentum = 0.9}}};
}

levin::Metrics fit(ScriptModule& module, const Scripts& scripts, bool validate = false) {
  std::vector<levin::Batch> batches;
  for (int64_t i = 0; i < 40; i += 8)
    batches.emplace_back(scripts.input.slice(0, i, i + 8).clone(), scripts.target.slice(0, i, i + 8).clone());
  levin::TrainerOptions options;
  options.max_epochs = 2;
  options.barebones = !validate;
  options.default_root_dir = (scripts.folder / "runs").string();
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  levin::Trainer trainer(options);
  const levin::data::BatchListLoader loader(batches);
  return (validate ? trainer.fit(module, loader, loader) : trainer.fit(module, loader)).metrics;
}

bool all_same_mode(const ScriptModule& module, bool training) {
  for (const auto& part : module.modules(/*include_self=*/false))
    if (part->is_training() != training) return false;
  return module.is_training() == training;
}

}  // namespace

TEST_CASE("TorchScript trained by levin has Python's weights") {
  const Scripts scripts;
  if (!scripts.made) return;
  const std::vector<std::string> names = {"net", "loss", "tied"};
  const auto expected = python_reference("train", Json(names), scripts.folder.path().string());
  Json saved = Json::array();
  std::vector<at::Tensor> outputs;
  for (size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    ScriptModule module(options_of(scripts.file(names[i] + ".ts")));
    std::vector<std::string> keys;
    const levin::State state = levin::module_state_dict(module);
    for (const auto& item : state.to_dict()) keys.push_back(levin::to_text(item.first));
    auto python_keys = scripts.names.at(names[i]).get<std::vector<std::string>>();
    CHECK(std::is_permutation(keys.begin(), keys.end(), python_keys.begin(), python_keys.end()));
    fit(module, scripts);
    CHECK(difference(module, expected->at(i)) < 1e-6);
    module.save_script(scripts.file(names[i] + "_trained.ts"));
    saved.push_back(scripts.file(names[i] + "_trained.ts"));
    module.eval();
    outputs.push_back(module.forward(scripts.input).detach());
  }
  const auto opened = python_reference("open", saved);
  for (size_t i = 0; i < names.size(); ++i) {
    INFO(names[i]);
    const Json& file = opened->at(i);
    CHECK(file.at("trains") == true);
    CHECK(file.at("training") == true);
    ScriptModule again(options_of(saved[i].get<std::string>()));
    CHECK(difference(again, file.at("values")) == 0);
    CHECK(difference(again, expected->at(i)) < 1e-6);
    const at::Tensor output = torch::tensor(file.at("output").get<std::vector<double>>(), at::kDouble);
    CHECK((outputs[i].to(at::kDouble).flatten() - output).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("a script's modes, tensors and devices are those of the module") {
  const Scripts scripts;
  if (!scripts.made) return;
  ScriptModule module(options_of(scripts.file("net.ts")));
  CHECK(all_same_mode(module, true));
  module.forward(scripts.input);
  const auto calls = [&] { return module.named_buffers()["calls"].item<float>(); };
  CHECK(calls() == 1);
  module.on_validation_model_eval();
  module.forward(scripts.input);
  CHECK(calls() == 1);
  module.on_validation_model_train();
  CHECK(all_same_mode(module, true));
  module.forward(scripts.input);
  CHECK(calls() == 2);

  // A buffer that the script replaced can be moved and loaded as before.
  const at::Tensor before = module.forward(scripts.input).detach();
  module.to(at::kDouble);
  CHECK(module.forward(scripts.input.to(at::kDouble)).scalar_type() == at::kDouble);
  CHECK(calls() == 4);
  module.named_buffers()["calls"].fill_(10);
  const at::Tensor loss = module.loss(scripts.input.to(at::kDouble), scripts.target);
  CHECK(calls() == 11);
  loss.backward();
  for (const at::Tensor& parameter : module.parameters()) CHECK(parameter.grad().defined());
  module.to(at::kFloat);
  module.eval();
  module.save_script(scripts.file("saved.ts"));
  ScriptModule again(options_of(scripts.file("saved.ts")));
  CHECK(again.named_buffers()["calls"].item<float>() == 11);
}

TEST_CASE("a script logs what its loss allows, and is written when fit ends") {
  const Scripts scripts;
  if (!scripts.made) return;
  ScriptModuleOptions options = options_of(scripts.file("net.ts"));
  options.save_to = scripts.file("trained.ts");
  ScriptModule module(options);
  const levin::Metrics metrics = fit(module, scripts, /*validate=*/true);
  CHECK(metrics.count("train_loss") == 1);
  CHECK(metrics.count("val_loss") == 1);
  CHECK(metrics.count("val_acc") == 1);
  ScriptModule trained(options_of(scripts.file("trained.ts")));
  CHECK(torch::equal(trained.parameters()[0], module.parameters()[0]));

  ScriptModule with_loss(options_of(scripts.file("loss.ts")));
  CHECK(with_loss.options.loss == levin::NamedLoss::Script);
  const levin::Metrics own = fit(with_loss, scripts, /*validate=*/true);
  CHECK(own.count("val_loss") == 1);
  CHECK(own.count("val_acc") == 0);
  ScriptModule traced(options_of(scripts.file("traced.ts")));
  fit(traced, scripts);
}

TEST_CASE("weights load into a script, and its losses are chosen by name") {
  const Scripts scripts;
  if (!scripts.made) return;
  const auto& registry = levin::ModuleKind::registry();
  const auto options = registry.at("ScriptModule", "model").schema().make();
  registry.at("ScriptModule", "model")
      .schema()
      .set(options.get(), "model",
           Json{{"file", scripts.file("net.ts")}, {"weights", scripts.file("state_dict.pt")}, {"loss", "mse_loss"}});
  const auto module = registry.entry("ScriptModule", "model")(options.get());
  const levin::State expected = levin::load_state(scripts.file("state_dict.pt"));
  CHECK(torch::equal(module->named_parameters()["head.weight"], expected.at("head.weight").to_tensor()));
  auto& script = dynamic_cast<ScriptModule&>(*module);
  const at::Tensor goal = torch::ones({40, 3});
  script.eval();
  CHECK(torch::equal(script.loss(scripts.input, goal), torch::mse_loss(script.forward(scripts.input), goal)));
  CHECK(error_text<UsageError>([&] { script.loss(scripts.input, torch::ones({40})); }) ==
        "model.loss: mse_loss compares tensors of one shape; the model makes [40, 3], the target is [40]");
}

TEST_CASE("a file that is no TorchScript is refused with what it is") {
  const auto refused = [](const ScriptModuleOptions& options) {
    return error_text<UsageError>([&] { ScriptModule{options}; });
  };
  CHECK(refused({}) == "model.file: missing; name a TorchScript file with --model.file");
  CHECK(refused({.file = "none.ts"}) == "none.ts: there is no such file");
  CHECK(contains(refused({.file = "/"}), "a file was expected"));
  const TemporaryFolder folder;
  torch::nn::Linear linear(2, 2);
  levin::save_weights(*linear, folder / "a.pt");
  CHECK(contains(refused({.file = (folder / "a.pt").string()}),
                 "a.pt: holds what torch.save wrote (a state dict or a checkpoint), no TorchScript; save the model "
                 "itself in Python by torch.jit.script(model).save(path)"));
  levin::save_weights(*linear, folder / "a.safetensors");
  CHECK(contains(refused({.file = (folder / "a.safetensors").string()}), "holds weights alone (safetensors)"));
  torch::save(linear, (folder / "cpp.pt").string());
  CHECK(contains(refused({.file = (folder / "cpp.pt").string()}), "C++'s torch::save writes such files"));
  write_bytes(folder / "text", "hello");
  CHECK(contains(refused({.file = (folder / "text").string()}), "not a TorchScript file"));

  const Scripts scripts;
  if (!scripts.made) return;
  CHECK(contains(refused({.file = scripts.file("frozen.ts")}), "has no parameters to train"));
  CHECK(contains(refused({.file = scripts.file("net.ts"), .loss = "script"}), "has no method loss(input, target)"));
  CHECK(contains(refused({.file = scripts.file("net.ts"), .loss = "hinge"}), "model.loss"));
  ScriptModule assigning(options_of(scripts.file("assigning.ts")));
  CHECK(contains(error_text<UsageError>([&] { assigning.forward(scripts.input); }),
                 "the script assigns a new tensor to its parameter w"));
  const std::string whole = read_bytes(scripts.file("net.ts"));
  write_bytes(folder / "cut.ts", whole.substr(0, whole.size() / 2));
  CHECK(contains(refused({.file = (folder / "cut.ts").string()}), "damaged, or no TorchScript file"));
}
