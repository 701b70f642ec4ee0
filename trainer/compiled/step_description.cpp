#include <levin/trainer/compiled/step_description.h>
#include <ATen/ops/empty_strided.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/state/json_depth.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>
#include <levin/core/system/version.h>
#include <levin/data/remote/output_place.h>
#include <levin/trainer/compiled/machine.h>
#include <levin/trainer/compiled/step_package.h>

#include <algorithm>

namespace levin::compiled {
namespace {

constexpr std::string_view kOption = "trainer.compiled_step: ";

[[noreturn]] void refuse_package(const std::filesystem::path& path, const std::string& why) {
  throw UsageError(kOption, path.string(), ": ", why, recompile_advice(path));
}

InputKind kind_named(const std::string& name) {
  for (const InputKind kind : {InputKind::Parameter, InputKind::Frozen, InputKind::Buffer, InputKind::Batch})
    if (name == to_string(kind)) return kind;
  throw UsageError("no kind of input is called ", name);
}

constexpr int64_t kMostThreads = 1 << 16;
constexpr int64_t kMost = int64_t{1} << 40;         ///< of sizes and strides
constexpr int64_t kMostSamples = int64_t{1} << 22;  ///< in a batch: a size for it fits in 64 bits

int64_t integer_of(const nlohmann::json& json, int64_t least, int64_t most) {
  if (!json.is_number_integer() || json < least || json > most)
    throw UsageError(json.dump(), " is no whole number from ", least, " to ", most);
  return json.get<int64_t>();
}

std::vector<StepDescription::Size> sizes_of(const nlohmann::json& json) {
  std::vector<StepDescription::Size> sizes;
  for (const nlohmann::json& item : json)
    sizes.push_back(item.is_object() ? StepDescription::Size{integer_of(item.at("s").at(0), 0, kMost),
                                                             integer_of(item.at("s").at(1), -kMost, kMost)}
                                     : StepDescription::Size{0, integer_of(item, 0, kMost)});
  return sizes;
}

StepDescription::Input input_of(const nlohmann::json& json) {
  const PythonDtype* const dtype = find_dtype_by_name(json.at("dtype").get<std::string>());
  if (dtype == nullptr) throw UsageError("there is no dtype ", json.at("dtype").dump());
  return {.name = json.at("name"),
          .kind = kind_named(json.at("kind")),
          .dtype = dtype->type,
          .shape = sizes_of(json.at("shape")),
          .strides = sizes_of(json.at("strides"))};
}

StepDescription parse(const nlohmann::json& json) {
  StepDescription description = {.torch = json.at("torch"),
                                 .levin = json.at("levin"),
                                 .model = json.at("model"),
                                 .precision = json.at("precision"),
                                 .digest = json.at("digest"),
                                 .cpu = json.at("cpu"),
                                 .inputs = {},
                                 .logged = json.at("logged"),
                                 .has_weight = json.at("has_weight"),
                                 .gradients = {},
                                 .batch_size = integer_of(json.at("batch_size"), 0, kMostSamples),
                                 .least_samples = integer_of(json.at("batch").at(0), 0, kMostSamples),
                                 .most_samples = integer_of(json.at("batch").at(1), 0, kMostSamples),
                                 .threads = integer_of(json.at("threads"), 0, kMostThreads),
                                 .draws = json.at("draws"),
                                 .optimizer = json.value("optimizer", nlohmann::json())};
  for (const nlohmann::json& input : json.at("inputs")) {
    description.inputs.push_back(input_of(input));
    if (description.inputs.back().shape.size() != description.inputs.back().strides.size())
      throw UsageError("the shape and the strides of an input differ in length");
  }
  for (const nlohmann::json& gradient : json.at("gradients")) {
    const auto index = static_cast<size_t>(integer_of(gradient, 0, kMost));
    if (index >= description.inputs.size() || description.inputs[index].kind != InputKind::Parameter ||
        (!description.gradients.empty() && index <= description.gradients.back()))
      throw UsageError("a gradient is of no parameter, or of one that has one already");
    description.gradients.push_back(index);
  }
  return description;
}

bool are(const std::vector<StepDescription::Size>& sizes, at::IntArrayRef values, int64_t samples) {
  if (sizes.size() != values.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i].of(samples) != values[i]) return false;
  return true;
}

std::vector<int64_t> values_of(const std::vector<StepDescription::Size>& sizes, int64_t samples) {
  std::vector<int64_t> values;
  for (const StepDescription::Size& size : sizes) values.push_back(size.of(samples));
  return values;
}

std::string tensor_text(const at::Tensor& tensor) {
  const PythonDtype* const dtype = find_dtype(tensor.scalar_type());
  return c10::str(dtype != nullptr ? dtype->name : toString(tensor.scalar_type()), ' ', tensor.sizes());
}

}  // namespace

bool StepDescription::Input::takes(const at::Tensor& tensor, int64_t samples) const {
  return tensor.scalar_type() == dtype && are(shape, tensor.sizes(), samples) && tensor.is_cpu();
}

bool StepDescription::Input::has_strides(const at::Tensor& tensor, int64_t samples) const {
  return are(strides, tensor.strides(), samples);
}

at::Tensor StepDescription::Input::copy_of(const at::Tensor& tensor, int64_t samples) const {
  at::Tensor copy = at::empty_strided(values_of(shape, samples), values_of(strides, samples), tensor.options());
  copy.copy_(tensor);
  return copy;
}

std::string StepDescription::Input::to_text(int64_t samples) const {
  return c10::str(find_dtype(dtype)->name, ' ', at::IntArrayRef(values_of(shape, samples)));
}

StepDescription read_step_description(const std::filesystem::path& path) {
  require_local("trainer.compiled_step", path.string());
  FileBytes file;
  try {
    file = map_file_bytes(path);
  } catch (const UsageError& error) {
    throw UsageError(kOption, error.what(), recompile_advice(path));
  }
  return read_step_description(file);
}

StepDescription read_step_description(const FileBytes& file) {
  const std::filesystem::path path = file.name;
  std::string text;
  try {
    text = StepPackage(file).description();
  } catch (const UsageError& error) {
    throw UsageError(kOption, error.what(), recompile_advice(path));
  }
  if (text.empty()) refuse_package(path, "holds no compiled step");
  if (is_nested_deeper(text)) refuse_package(path, "its description is nested too deeply");
  try {
    return parse(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    refuse_package(path, std::string("its description is not one that this levin reads (") + error.what() + ")");
  } catch (const UsageError& error) {
    refuse_package(path, std::string("its description is not one that this levin reads (") + error.what() + ")");
  }
}

void check_machine(const StepDescription& description, const std::filesystem::path& path) {
  if (description.torch != torch_version())
    refuse_package(path,
                   "was compiled for LibTorch " + description.torch + ", and this program has " + torch_version());
  const std::vector<std::string> missing = missing_features(description.cpu);
  if (missing.empty()) return;
  const std::string names = joined(missing);
  refuse_package(path, "was compiled for another CPU; this one lacks " + names);
}

void check_inputs(const StepDescription& description, const std::vector<StepInput>& inputs,
                  const std::filesystem::path& path) {
  const std::string of = "was compiled for another module (" + description.model + "): ";
  for (size_t i = 0; i < std::max(description.inputs.size(), inputs.size()); ++i) {
    if (i >= description.inputs.size()) refuse_package(path, of + "it has no '" + inputs[i].name + "'");
    const StepDescription::Input& expected = description.inputs[i];
    if (i >= inputs.size()) refuse_package(path, of + "it takes '" + expected.name + "', which is not there");
    const StepInput& given = inputs[i];
    if (expected.name != given.name)
      refuse_package(path, of + "it takes '" + expected.name + "' where '" + given.name + "' stands");
    if (expected.kind != given.kind)
      refuse_package(path, of + "'" + given.name + "' is a " + std::string(to_string(given.kind)) + ", and was a " +
                               std::string(to_string(expected.kind)));
    if (given.kind == InputKind::Batch) continue;
    if (!expected.takes(given.tensor, 0) || !expected.has_strides(given.tensor, 0))
      refuse_package(path,
                     of + "'" + given.name + "' is " + tensor_text(given.tensor) + ", and was " + expected.to_text(0));
  }
}

std::string recompile_advice(const std::filesystem::path& path) {
  return "; make it again: levin compile --config <config of the run> --out " + path.string();
}

}  // namespace levin::compiled
