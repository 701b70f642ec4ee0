#include <levin/modules/program/old_files.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>

#include <variant>

namespace levin::program::old_files {

namespace {

const std::string kNumber = "\"as_float\":";

/// Replaces what stands behind "as_float": for each number that is not finite.
void replace_numbers(std::string& text, const std::string& before, const std::string& after) {
  for (size_t at = 0; (at = text.find(kNumber + before, at)) != std::string::npos; at += kNumber.size())
    text.replace(at + kNumber.size(), before.size(), after);
}

}  // namespace

std::string with_quotes(std::string text) {
  for (const char* number : {"-Infinity", "Infinity", "NaN"})
    replace_numbers(text, std::string(" ") + number, '"' + std::string(number) + '"');
  return text;
}

std::map<std::string, StoredTensor> describe(const State& tensors, const ExportedProgram& program) {
  std::set<std::string> parameters;
  for (const Input& input : program.inputs)
    if (input.kind == InputKind::Parameter) parameters.insert(input.target);
  std::map<std::string, StoredTensor> described;
  std::map<const void*, size_t> memories;
  std::set<std::string> memories_of_parameters;  // a tied one is an input by one of its names alone
  for (const auto& [key, value] : tensors.to_dict()) {
    const auto* const name = std::get_if<std::string>(&key);
    if (name == nullptr || !value.is_tensor()) continue;  // an object of a class of the user's
    const at::Tensor tensor = value.to_tensor();
    if (tensor.layout() != at::kStrided) throw UsageError("'", *name, "' is no dense tensor");
    const size_t memory = memories.emplace(tensor.storage().unsafeGetStorageImpl(), memories.size()).first->second;
    StoredTensor stored{"memory_" + std::to_string(memory), parameters.contains(*name), meta_of(tensor)};
    stored.meta.storage_offset = tensor.storage_offset();
    stored.meta.requires_grad = stored.is_parameter && tensor.is_floating_point();
    if (stored.is_parameter) memories_of_parameters.insert(stored.record);
    described[*name] = std::move(stored);
  }
  for (auto& [name, stored] : described)
    if (!stored.is_parameter && memories_of_parameters.contains(stored.record))
      stored.is_parameter = stored.meta.requires_grad = true;
  return described;
}

void write(const std::filesystem::path& path, const Contents& contents) {
  std::string text = contents.program;
  for (const char* number : {"-Infinity", "Infinity", "NaN"})
    replace_numbers(text, '"' + std::string(number) + '"', std::string(" ") + number);
  AtomicFile file(path);
  ZipWriter writer(/*folder=*/"", [&](const void* data, size_t bytes) { file.write(data, bytes); });
  writer.add(kModelRecord, text);
  writer.add(kWeights, save_state_bytes(contents.weights, {.parameters = contents.parameters}));
  writer.add(kConstants, contents.constants);
  writer.add(kExample, contents.example);
  writer.add(kVersion, std::to_string(kSchemaMajor) + "." + std::to_string(kSchemaMinor));
  writer.finish();
  file.commit();
}

}  // namespace levin::program::old_files
