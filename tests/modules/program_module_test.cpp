// Models that Python exported by torch.export, trained by levin and by Python from one start.
#include <levin/modules/program_module.h>
#include <levin/core/state/state_file.h>
#include <levin/modules/activation_checkpoint.h>
#include <levin/modules/optim/optimizers/sgd.h>
#include <levin/modules/registry.h>
#include <levin/modules/summary.h>
#include <levin/modules/weights.h>
#include <levin/trainer/trainer.h>
#include <torch/torch.h>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/modules/python_models.h"
#include "tests/temporary_folder.h"

#include <algorithm>
#include <map>

using levin::ProgramModule;
using levin::ProgramModuleOptions;
using levin::UsageError;

namespace {

using Json = nlohmann::ordered_json;

using Programs = PythonModels;

const Programs& programs() {
  static const Programs made;
  return made;
}

ProgramModuleOptions options_of(const std::string& file) {
  return {.program = programs().file(file), .optimizer = {"SGD", levin::optim::SGDOptions{.lr = 0.1, .momentum = 0.9}}};
}

levin::Batch batch_of(int64_t begin, int64_t end) {
  return {programs().input.slice(0, begin, end).clone(), programs().target.slice(0, begin, end).clone()};
}

/// With the inputs of the model that takes nested ones.
levin::Batch nested_batch_of(int64_t begin, int64_t end) {
  levin::Batch batch = batch_of(begin, end);
  const at::Tensor x = batch.input();
  batch.set("pair.0", x + 1);
  batch.set("pair.1", torch::cat({x, x.slice(1, 0, 2)}, 1));
  batch.set("mask", x.select(1, 0) > 0);
  return batch;
}

levin::TrainerOptions quiet() {
  levin::TrainerOptions options;
  options.max_epochs = 2;
  options.barebones = true;
  options.seed = 5;
  options.default_root_dir = (programs().folder / "runs").string();
  return options;
}

levin::data::BatchListLoader batches() {
  std::vector<levin::Batch> list;
  for (int64_t i = 0; i < 40; i += 8) list.push_back(batch_of(i, i + 8));
  return levin::data::BatchListLoader(list);
}

void fit(ProgramModule& module, const levin::TrainerOptions& options = quiet()) {
  levin::Trainer(options).fit(module, batches());
}

std::vector<at::Tensor> inputs_of(const ProgramModule& module, const levin::Batch& batch) {
  std::vector<at::Tensor> inputs;
  for (const std::string& name : module.input_names()) {
    const std::string entry = name == "x" ? "input" : name == "y" ? "target" : name.substr(name.find('.') + 1);
    inputs.push_back(batch[entry]);
  }
  return inputs;
}

/// Two epochs by hand, with dropout's numbers as Python draws them.
void train_by_hand(ProgramModule& module) {
  at::set_num_threads(1);  // as Python here
  std::vector<at::Tensor> trained;
  for (const at::Tensor& parameter : module.parameters())
    if (parameter.requires_grad() &&
        std::ranges::none_of(trained, [&](auto& other) { return other.is_same(parameter); }))
      trained.push_back(parameter);
  torch::optim::SGD optimizer(trained, torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::manual_seed(11);
  for (int epoch = 0; epoch < 2; ++epoch)
    for (int64_t i = 0; i < 40; i += 8) {
      const levin::Batch batch = nested_batch_of(i, i + 8);
      optimizer.zero_grad();
      module.loss(inputs_of(module, batch), batch.target()).backward();
      optimizer.step();
    }
}

std::string refusal(const ProgramModuleOptions& options) {
  return error_text<UsageError>([&] { ProgramModule module(options); });
}

}  // namespace

TEST_CASE("programs of torch.export train as their models do in Python, bit for bit") {
  if (!programs().made) return;
  const Json cases = {"net", "nested", "loss", "layers", "frozen", "no_grad", "normed"};
  const auto trained = python_reference("train", cases, programs().folder.path().string());
  REQUIRE(trained);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto name = cases[i].get<std::string>();
    INFO(name);
    ProgramModuleOptions options = options_of(name + ".pt2");
    if (name == "nested") options.output = "logits";
    if (name != "loss") options.loss = "cross_entropy";
    ProgramModule module(options);
    const levin::State state = levin::module_state_dict(module);
    CHECK(state.size() == programs().names.at(name).size());
    for (const auto& key : programs().names.at(name)) CHECK(state.contains(key.get<std::string>()));
    train_by_hand(module);
    CHECK(difference(module, trained->at(i).at("values")) == 0);
    module.eval();
    const c10::NoGradGuard no_grad;
    const levin::Batch batch = nested_batch_of(0, 16);
    CHECK(module.loss(inputs_of(module, batch), batch.target()).item<double>() ==
          trained->at(i).at("loss").get<double>());
  }
}

TEST_CASE("a program that was exported in eval mode trains: dropout and batch norm follow the mode") {
  if (!programs().made) return;
  const Json cases = {"evaluated", "normed_evaluated"};
  const auto trained = python_reference("train", cases, programs().folder.path().string());
  REQUIRE(trained);
  for (size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i]);
    ProgramModuleOptions options = options_of(cases[i].get<std::string>() + ".pt2");
    options.loss = "cross_entropy";
    ProgramModule module(options);
    train_by_hand(module);
    CHECK(difference(module, trained->at(i).at("values")) == 0);
  }
}

TEST_CASE("validation changes no buffer that a program writes by itself, and its loading says which it writes") {
  if (!programs().made) return;
  const CapturedStderr captured;
  ProgramModule alone(options_of("learning.pt2")), validated(options_of("learning.pt2"));
  CHECK(contains(captured.text(), "forward writes buffers by itself (body.weight_u, body.weight_v, mean)"));
  std::map<std::string, at::Tensor> before;
  const levin::State begun_with = levin::module_state_dict(alone);
  for (const auto& [key, value] : begun_with.to_dict()) before[levin::to_text(key)] = value.to_tensor().clone();
  levin::TrainerOptions options = quiet();
  fit(alone, options);
  levin::Trainer(options).fit(validated, batches(), batches());
  const levin::State a = levin::module_state_dict(alone), b = levin::module_state_dict(validated);
  for (const auto& [key, value] : a.to_dict()) {
    INFO(levin::to_text(key));
    CHECK(torch::equal(value.to_tensor(), b.at(levin::to_text(key)).to_tensor()));
    CHECK_FALSE(torch::equal(value.to_tensor(), before.at(levin::to_text(key))));
  }
}

TEST_CASE("a part of a program that is in eval mode behaves so, as in Python") {
  if (!programs().made) return;
  ProgramModule module(options_of("net.pt2"));
  const at::Tensor mean = module.named_buffers()["block.1.running_mean"].clone();
  module.named_modules("", false)["block.1"]->eval();
  module.forward(programs().input.slice(0, 0, 8));
  CHECK(torch::equal(module.named_buffers()["block.1.running_mean"], mean));
  CHECK(module.named_buffers()["block.1.num_batches_tracked"].item<int64_t>() == 0);
  module.named_modules("", false)["block.1"]->train();
  module.forward(programs().input.slice(0, 0, 8));
  CHECK_FALSE(torch::equal(module.named_buffers()["block.1.running_mean"], mean));
  CHECK(module.named_buffers()["block.1.num_batches_tracked"].item<int64_t>() == 1);
}

TEST_CASE("fit trains a program, and Python opens what it writes") {
  if (!programs().made) return;
  ProgramModuleOptions options = options_of("net.pt2");
  options.save_to = programs().file("trained.pt2");
  ProgramModule module(options);
  fit(module);
  const auto opened = python_reference("open", Json::array({options.save_to}), programs().folder.path().string());
  REQUIRE(opened);
  CHECK(difference(module, opened->at(0).at("values")) == 0);
  module.eval();
  const c10::NoGradGuard no_grad;
  const at::Tensor output = module.forward(programs().input.slice(0, 0, 16)).to(at::kDouble).flatten();
  const auto expected = opened->at(0).at("output").get<std::vector<double>>();
  CHECK(torch::equal(output, torch::tensor(expected, at::kDouble)));
  // What was written trains on, in levin.
  ProgramModule again({.program = options.save_to, .optimizer = options.optimizer});
  fit(again);
  CHECK(again.named_buffers()["block.1.num_batches_tracked"].item<int64_t>() == 20);
}

TEST_CASE("a fit of a program with dropout that is cut inside an epoch resumes to the bit") {
  if (!programs().made) return;
  levin::TrainerOptions options = quiet();
  options.barebones = false;
  options.enable_progress_bar = false;
  options.enable_model_summary = false;
  ProgramModule whole(options_of("net.pt2")), cut(options_of("net.pt2")), resumed(options_of("net.pt2"));
  options.name = "whole";
  fit(whole, options);
  options.name = "cut";
  options.max_steps = 7;
  levin::Trainer trainer(options);
  trainer.fit(cut, batches());
  trainer.save_checkpoint(programs().folder / "cut.ckpt");
  options.max_steps = -1;
  levin::Trainer(options).fit(resumed, batches(), {}, (programs().folder / "cut.ckpt").string());
  const levin::State a = levin::module_state_dict(whole), b = levin::module_state_dict(resumed);
  for (const auto& [key, value] : a.to_dict()) {
    INFO(levin::to_text(key));
    CHECK(torch::equal(value.to_tensor(), b.at(levin::to_text(key)).to_tensor()));
  }
  CHECK_FALSE(torch::equal(whole.parameters()[0], cut.parameters()[0]));
}

TEST_CASE("replicas of a program on two devices train as one does on one") {
  if (!programs().made) return;
  ProgramModuleOptions model = options_of("nested.pt2");
  model.output = "logits";
  model.loss = "cross_entropy";
  std::vector<levin::Batch> list;
  for (int64_t i = 0; i < 40; i += 8) list.push_back(nested_batch_of(i, i + 8));
  levin::TrainerOptions options = quiet();
  options.precision = "64-true";
  std::vector<std::vector<at::Tensor>> weights;
  for (const char* strategy : {"auto", "dp"}) {
    options.strategy = strategy;
    options.accelerator = "cpu";
    options.devices = std::string(strategy) == "dp" ? 2 : 1;
    const auto module = levin::make_module<ProgramModule>(model);
    levin::Trainer(options).fit(*module, levin::data::BatchListLoader(list));
    weights.push_back(module->parameters());
  }
  for (size_t i = 0; i < weights[0].size(); ++i)
    CHECK((weights[0][i] - weights[1][i]).abs().max().item<double>() < 1e-12);
}

TEST_CASE("weights of Python's state dict fit a program") {
  if (!programs().made) return;
  ProgramModule module(options_of("static.pt2"));
  levin::load_weights(module, programs().file("state_dict.pt"));
  ProgramModule same(options_of("net.pt2"));
  CHECK(torch::equal(module.parameters()[0], same.parameters()[0]));
}

TEST_CASE("a program in the registry has the names and classes of its parts in its summary") {
  if (!programs().made) return;
  ProgramModule module(options_of("nested.pt2"));
  const std::string text = levin::summarize(module, -1).to_text();
  CHECK(contains(text, "first"));
  CHECK(contains(text, "Linear"));
  CHECK(module.named_parameters()["first.weight"].is_same(module.named_parameters()["second.weight"]));
  CHECK_FALSE(module.named_parameters()["frozen"].requires_grad());
  CHECK(module.input_names() == std::vector<std::string>{"x", "features.pair.0", "features.pair.1", "mask"});
  CHECK(module.output_names() == std::vector<std::string>{"hidden", "logits", "size"});
}

TEST_CASE("backward computes the activations of a program's blocks again, with the same bits") {
  if (!programs().made) return;
  ProgramModule plain(options_of("layers.pt2")), again(options_of("layers.pt2"));
  CHECK(levin::set_checkpoint_activations(again, true) == 3);
  const at::Tensor x = programs().input.slice(0, 0, 8);
  for (ProgramModule* module : {&plain, &again}) {
    torch::manual_seed(1);
    module->forward(x).square().sum().backward();
  }
  for (size_t i = 0; i < plain.parameters().size(); ++i)
    CHECK(torch::equal(plain.parameters()[i].grad(), again.parameters()[i].grad()));
  // Batch norm would count its batch twice.
  ProgramModule with_statistics(options_of("net.pt2"));
  CHECK(levin::set_checkpoint_activations(with_statistics, true) == 0);
}

TEST_CASE("precisions of the trainer reach the constants of a program") {
  if (!programs().made) return;
  for (const char* precision : {"64-true", "bf16-true", "bf16-mixed"}) {
    INFO(precision);
    ProgramModule module(options_of("net.pt2"));
    levin::TrainerOptions options = quiet();
    options.precision = precision;
    fit(module, options);
    const at::Tensor first = module.parameters()[0];
    CHECK(torch::isfinite(first).all().item<bool>());
    CHECK(module.forward(programs().input.slice(0, 0, 4).to(first.scalar_type())).scalar_type() == first.scalar_type());
  }
}

TEST_CASE("inputs that a program was not exported for are refused by name") {
  if (!programs().made) return;
  ProgramModule module(options_of("net.pt2")), fixed(options_of("static.pt2"));
  const at::Tensor x = programs().input;
  const auto refused = [](ProgramModule& program, const std::vector<at::Tensor>& inputs) {
    return error_text<UsageError>([&] { program.forward(inputs); });
  };
  CHECK(contains(refused(module, {x, x}), "takes 1 tensors, and was given 2"));
  CHECK(contains(refused(module, {x.slice(1, 0, 4)}), "input 'x'"));
  CHECK(contains(refused(module, {x.flatten()}), "another number of dimensions"));
  CHECK(contains(refused(module, {x.to(at::kLong)}), "exported as Float"));
  CHECK(contains(refused(module, {x.repeat({13, 1})}), "from 0 to 512"));
  CHECK(contains(refused(fixed, {x}), "size 0 was fixed at export"));
  ProgramModule nested(options_of("nested.pt2"));
  const std::string structure = error_text<UsageError>([&] { nested.training_step(batch_of(0, 8), 0); });
  CHECK(contains(structure, "takes x, features.pair.0, features.pair.1, mask"));
  CHECK(contains(structure, "name its entries in forward's order with --model.inputs"));
  module.eval();
  CHECK(module.forward(x.slice(0, 0, 1)).size(0) == 1);  // a bound of 2 is of tracing, not of the model
}

TEST_CASE("files that are no programs, and programs that cannot be trained, are refused by name") {
  if (!programs().made) return;
  CHECK(contains(refusal(options_of("missing.pt2")), "missing.pt2"));
  CHECK(contains(refusal({}), "--model.program"));
  CHECK(contains(refusal(options_of("script.ts")), "TorchScript; train it as ScriptModule"));
  CHECK(contains(refusal(options_of("state_dict.pt")), "no program"));
  CHECK(contains(refusal(options_of("decomposed.pt2")), "decomposed for inference"));
  CHECK(contains(refusal(options_of("branch.pt2")), "torch.where"));
  ProgramModuleOptions wrong_output = options_of("nested.pt2");
  wrong_output.output = "scores";
  CHECK(contains(refusal(wrong_output), "it has hidden, logits, size"));
  const std::string bytes = read_bytes(programs().file("net.pt2"));
  write_bytes(programs().file("short.pt2"), bytes.substr(0, bytes.size() / 2));
  CHECK(contains(refusal(options_of("short.pt2")), "damaged"));
}
