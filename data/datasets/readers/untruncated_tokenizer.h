#pragma once
#include <levin/data/tokenizer.h>

#include <filesystem>

namespace levin::data {

/// Reads a tokenizer.json, or that of a folder, without the truncation that its file may ask for: a data set has
/// lengths of its own, and transformers leaves that truncation out too. Throws levin::UsageError as
/// Tokenizer::from_file.
Tokenizer untruncated_tokenizer(const std::filesystem::path& path);

}  // namespace levin::data
