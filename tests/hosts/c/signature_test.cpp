// The inputs and outputs of models before any run.
#include <levin/levin.h>

#include "tests/hosts/c/host_arrays.h"
#include "tests/temporary_folder.h"

namespace {

using Texts = std::vector<std::string>;

/// "input 0 [-1, 3]": name, dtype and sizes; "x -1" if there is no shape.
std::string text_of(const levin_array& array) {
  std::string text = std::string(array.name) + " " + std::to_string(array.dtype);
  if (array.rank < 0) return text;
  for (int32_t i = 0; i < array.rank; ++i) text += (i == 0 ? " [" : ", ") + std::to_string(array.shape[i]);
  return text + "]";
}

std::string model_of(const std::string& model) { return R"({"model": )" + model + "}"; }

/// Describes all inputs, then all outputs, and checks that there is no data.
Texts described(const std::string& config_text) {
  const levin_config config = config_of(config_text.c_str());
  levin_model* model = nullptr;
  ok(levin_model_create(&config, nullptr, &model));
  Texts all;
  size_t inputs = 0, outputs = 0;
  ok(levin_model_input_count(model, &inputs));
  ok(levin_model_output_count(model, &outputs));
  for (size_t i = 0; i < inputs + outputs; ++i) {
    levin_array array = LEVIN_INIT(levin_array);
    ok(i < inputs ? levin_model_input(model, i, &array) : levin_model_output(model, i - inputs, &array));
    CHECK(array.data == nullptr);
    all.push_back(text_of(array));
  }
  levin_array array = LEVIN_INIT(levin_array);
  refused(levin_model_input(model, inputs, &array), "there is no array");
  levin_model_destroy(model);
  return all;
}

}  // namespace

TEST_CASE("A config tells what its model takes and returns") {
  const std::string numbers = "input 0 [-1, 3]";
  CHECK(described(model_of(R"({"class": "MLPRegressor", "features": 3, "outputs": 2})")) ==
        Texts{numbers, "input 0 [-1, 2]"});
  CHECK(
      described(model_of(R"({"class": "MLPClassifier", "features": 3, "category_sizes": [4, 5], "num_classes": 6})")) ==
      Texts{numbers, "category 3 [-1, 2]", "input 0 [-1, 6]"});
  CHECK(described(model_of(R"({"class": "ImageClassifier", "num_classes": 7})")) ==
        Texts{"input 0 [-1, 1, 28, 28]", "input 0 [-1, 7]"});
  CHECK(described(model_of(R"({"class": "ImageClassifier", "net": "resnet18", "image_shape": [3, 32, 32]})")) ==
        Texts{"input 0 [-1, 3, -1, -1]", "input 0 [-1, 10]"});
  CHECK(described(model_of(R"({"class": "LanguageModel", "vocab_size": 11, "embedding": 8})")) ==
        Texts{"input 3 [-1, -1]", "input 0 [-1, 11]"});
  const std::string open = model_of(R"({"class": "MLPRegressor"})");
  const levin_config config = config_of(open.c_str());
  levin_model* model = nullptr;
  ok(levin_model_create(&config, nullptr, &model));
  size_t count = 0;
  refused(levin_model_input_count(model, &count), "set model.features");
  levin_model_destroy(model);
}

TEST_CASE("An exported program tells its names, dtypes and sizes, and a TorchScript its names") {
  const TemporaryFolder folder;
  levin::nn::MLPRegressorOptions options;
  options.net.features = 3;
  options.net.category_sizes = {4};
  options.net.hidden = {8};
  const auto module = levin::make_module<levin::nn::MLPRegressor>(options);
  module->eval();
  const levin::Batch example({{"input", torch::randn({2, 3})}, {"category", torch::zeros({2, 1}, torch::kLong)}});
  const std::string program = (folder / "net.pt2").string(), script = (folder / "net.pt").string();
  levin::export_program(*module, example, {.function = module->export_functions().at("forward")}).save(program);
  CHECK(described(model_of(R"({"class": "ProgramModule", "program": ")" + program + R"("})")) ==
        Texts{"input 0 [-1, 3]", "category 3 [-1, 1]", "input 0 [-1, 1]"});

  torch::jit::Module net("net");
  net.register_parameter("weight", torch::ones({2}), false);
  net.define("def forward(self, x, mask):\n    return x * self.weight + mask\n");
  net.save(script);
  CHECK(described(model_of(R"({"class": "ScriptModule", "file": ")" + script + R"("})")) ==
        Texts{"x -1", "mask -1", "input -1"});
}
