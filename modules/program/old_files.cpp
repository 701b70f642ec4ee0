#include <levin/modules/program/old_files.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>

#include <utility>
#include <variant>

namespace levin::program::old_files {
namespace {

/// Puts each number that is not finite into quotes, or takes it out of them.
std::string with_numbers(std::string text, bool in_quotes) {
  const std::string key = "\"as_float\":";
  for (const std::string number : {"-Infinity", "Infinity", "NaN"}) {
    const std::string plain = " " + number, quoted = '"' + number + '"';
    const std::string &before = in_quotes ? plain : quoted, &after = in_quotes ? quoted : plain;
    for (size_t at = 0; (at = text.find(key + before, at)) != std::string::npos; at += key.size())
      text.replace(at + key.size(), before.size(), after);
  }
  return text;
}

}  // namespace

std::string with_quotes(std::string text) { return with_numbers(std::move(text), /*in_quotes=*/true); }

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
  AtomicFile file(path);
  ZipWriter writer(/*folder=*/"", [&](const void* data, size_t bytes) { file.write(data, bytes); });
  writer.add(kModelRecord, with_numbers(contents.program, /*in_quotes=*/false));
  writer.add(kWeights, save_state_bytes(contents.weights, {.parameters = contents.parameters}));
  writer.add(kConstants, contents.constants);
  writer.add(kExample, contents.example);
  writer.add(kVersion, std::to_string(kSchemaMajor) + "." + std::to_string(kSchemaMinor));
  writer.finish();
  file.commit();
}

}  // namespace levin::program::old_files
