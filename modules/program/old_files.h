#pragma once
#include <levin/core/state/state.h>
#include <levin/modules/program/exported_program.h>
#include <levin/modules/program/program_json.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

/// Files of torch.export.save of PyTorch 2.6 and 2.7: a zip without a folder that has the program's text and three
/// files of torch.save: the parameters and persistent buffers, the constants, and an example of the inputs.
namespace levin::program::old_files {

inline constexpr const char *kModelRecord = "serialized_exported_program.json", *kWeights = "serialized_state_dict.pt",
                            *kConstants = "serialized_constants.pt", *kExample = "serialized_example_inputs.pt",
                            *kVersion = "version";
/// The schema that PyTorch 2.6 writes.
inline constexpr int64_t kSchemaMinor = 2;

/// Returns a program's text with numbers that are not finite as newer files have them, in quotes: JSON has no other
/// form.
std::string with_quotes(std::string text);

/// Describes the tensors of a dict as a newer file would. Throws levin::UsageError for what is no dense tensor.
std::map<std::string, StoredTensor> describe(const State& tensors, const ExportedProgram& program);

struct Contents {
  std::string program = {};                  ///< its text, as with_quotes returns it
  State weights = {};                        ///< a dict
  std::set<std::string> parameters = {};     ///< names of those among the weights
  std::string constants = {}, example = {};  ///< files of torch.save
};

/// Writes a file, which appears whole or not at all. Throws as AtomicFile.
void write(const std::filesystem::path& path, const Contents& contents);

}  // namespace levin::program::old_files
