#pragma once
#include <cstdint>
#include <filesystem>

namespace levin {

/// Writes the model of the folder `base`, of transformers, with a LoRA adapter of PEFT in its weights to the folder
/// `out`, which transformers and CausalLM open. The arithmetic is float32, the weights keep their dtype; any kind of
/// model will do. More than `most_bytes` of weights are divided into several files. Returns the number of layers that
/// the adapter changes.
///
/// Throws levin::UsageError that names the file if one is missing or damaged, if the adapter names layers that the
/// model lacks or is of other sizes, and for adapters that load_adapter refuses.
int64_t merge_adapter(const std::filesystem::path& base, const std::filesystem::path& adapter,
                      const std::filesystem::path& out, uint64_t most_bytes = 5'000'000'000);

}  // namespace levin
