#include <ATen/ATen.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/system/error.h>
#include <levin/core/system/version.h>
#include <levin/trainer/compiled/machine.h>
#include <levin/trainer/compiled/step_description.h>
#include <levin/trainer/compiled/step_package.h>

#include <nlohmann/json.hpp>

#include "tests/core/state/zip_builder.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/live_memory.h"

namespace levin::testing {
namespace {

using namespace compiled;
using Json = nlohmann::json;

/// A linear layer's parameters, a buffer, and a batch.
const std::vector<StepInput>& inputs_of_module() {
  static const std::vector<StepInput> inputs = {{"weight", InputKind::Parameter, at::ones({3, 2})},
                                                {"bias", InputKind::Frozen, at::ones({3})},
                                                {"mean", InputKind::Buffer, at::ones({3}, at::kDouble)},
                                                {"input", InputKind::Batch, at::ones({4, 2})}};
  return inputs;
}

/// What a run asks of a description before it loads the code.
void use(const StepDescription& description) {
  for (const StepDescription::Input& input : description.inputs)
    for (const int64_t samples : {int64_t{0}, description.least_samples, description.most_samples}) {
      input.to_text(samples);
      for (const StepInput& given : inputs_of_module())
        if (input.takes(given.tensor, samples) && !input.has_strides(given.tensor, samples))
          expect(given.tensor.equal(input.copy_of(given.tensor, samples)), "a copy has the values of its tensor");
    }
  check_machine(description, "input");
  check_inputs(description, inputs_of_module(), "input");
  expect(description.inputs.size() == inputs_of_module().size(), "inputs that fit are as many");
}

void check_package(const std::string& bytes) try {
  constexpr size_t kMost = 64 << 20;
  const LiveMemory memory;
  StepDescription description;
  try {
    description = read_step_description(copy_file_bytes(bytes, "input"));
  } catch (const UsageError&) {
  }
  expect(memory.most() <= kMost + 2 * bytes.size(), "a package asks for no more memory than 64 MB and its size");
  use(description);
} catch (const UsageError&) {
} catch (const c10::Error&) {  // strides that no tensor has, when a batch is copied
}

std::string package_of(const std::string& description) {
  std::string bytes;
  ZipWriter writer("step", [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); });
  writer.add("extra/levin_step.json", description);
  writer.add("data/aotinductor/model/model.so",
             "\x7f"
             "ELF");
  writer.finish();
  return bytes;
}

Json input(const std::string& name, const std::string& kind, const std::string& dtype, const Json& shape,
           const Json& strides) {
  return {{"name", name}, {"kind", kind}, {"dtype", dtype}, {"shape", shape}, {"strides", strides}};
}

Json description_of(const Json& batch) {
  const Json samples = {{"s", {1, 0}}};
  return {
      {"torch", torch_version()},
      {"levin", "0"},
      {"model", "Linear"},
      {"precision", "32-true"},
      {"digest", "00"},
      {"cpu", Json::array()},
      {"inputs",
       {input("weight", "parameter", "float32", {3, 2}, {2, 1}), input("bias", "frozen", "float32", {3}, {1}),
        input("mean", "buffer", "float64", {3}, {1}), input("input", "batch", "float32", {samples, 2}, {1, samples})}},
      {"logged", {"loss"}},
      {"has_weight", false},
      {"gradients", {0}},
      {"batch_size", 4},
      {"batch", batch},
      {"threads", 0},
      {"draws", Json::array()}};
}

}  // namespace

void fuzz_compiled_package(const std::string& input) { check_package(input); }

void fuzz_compiled_description(const std::string& input) { check_package(package_of(input)); }

const std::vector<std::string>& compiled_package_seeds() {
  static const std::vector<std::string> seeds = [] {
    const std::string text = description_of({4, 4}).dump();
    const ZipBuilder deflated{{{.name = "any/extra/levin_step.json", .contents = text, .is_deflated = true}}};
    const ZipBuilder bare{{{.name = "levin_step.json", .contents = text}}};
    const ZipBuilder twice{
        {{.name = "a/extra/levin_step.json", .contents = text}, {.name = "b/extra/levin_step.json", .contents = text}}};
    const ZipBuilder foreign{{{.name = "net/data.pkl", .contents = "\x80\x02}."}}};
    return std::vector<std::string>{package_of(text), deflated.build(), bare.build(), twice.build(), foreign.build()};
  }();
  return seeds;
}

const std::vector<std::string>& compiled_description_seeds() {
  static const std::vector<std::string> seeds = [] {
    Json other_torch = description_of({4, 4}), other_cpu = description_of({4, 4}), large = description_of({2, 1 << 20});
    other_torch["torch"] = "1.0";
    other_cpu["cpu"] = {"avx1024"};
    large["inputs"][3]["shape"][0] = {{"s", {int64_t{1} << 40, -(int64_t{1} << 40)}}};
    return std::vector<std::string>{description_of({4, 4}).dump(),
                                    description_of({2, 1 << 20}).dump(),
                                    other_torch.dump(),
                                    other_cpu.dump(),
                                    large.dump(),
                                    std::string(2000, '[')};
  }();
  return seeds;
}

}  // namespace levin::testing
