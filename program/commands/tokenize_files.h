#pragma once
#include <c10/core/ScalarType.h>
#include <levin/data/datasets/readers/sample_encoder.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace levin::cli {

struct TokenizeJob {
  data::SampleEncoderOptions encoder = {};
  std::vector<std::string> files = {};  ///< .jsonl: a document in each line; others: one text each
  std::filesystem::path out = {};
  std::optional<at::ScalarType> dtype = {};  ///< kUInt16 or kUInt32; unset: what the vocabulary needs
  int64_t threads = 1;
  int64_t part_bytes = int64_t{4} << 20;  ///< text that one thread makes tokens of at a time
};

struct TokenizeSummary {
  at::ScalarType dtype = at::kUInt16;
  int64_t tokens = 0;       ///< in the file
  int64_t new_tokens = 0;   ///< made now, and not taken from an earlier process
  int64_t taken_parts = 0;  ///< parts that an earlier process has left
  double seconds = 0;
};

/// Makes tokens of files by several threads and writes them as one file; see TokenParts for how it is continued after a
/// kill. Throws levin::UsageError that names file and line.
TokenizeSummary tokenize_files(const TokenizeJob& job);

}  // namespace levin::cli
