#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::nn {

/// Most bytes of the weights in one file.
inline constexpr uint64_t kMostShardBytes = 5'000'000'000;

/// A module that can be written as a folder for transformers: CausalLM, SequenceClassifier and its like.
class SavesPretrained {
 public:
  /// Writes a folder that transformers' from_pretrained opens, with the present weights in their dtype, to which the
  /// adapters are added, the config.json that was read, and the tokenizer's files if the folder had them. More than
  /// `most_bytes` of weights are divided into several files. In a run whose ranks have parts of the module (fsdp,
  /// trainer.mesh.tensor) all ranks call it, and the first writes. Throws levin::UsageError if the folder cannot be
  /// written.
  virtual void save_pretrained(const std::filesystem::path& folder, uint64_t most_bytes = kMostShardBytes) = 0;
  /// Gives the classes the names that the data have; names that the module's options or its folder say stay. Does
  /// nothing in a module without classes.
  virtual void name_classes(const std::vector<std::string>& /*names*/) {}

 protected:
  ~SavesPretrained() = default;
};

}  // namespace levin::nn
