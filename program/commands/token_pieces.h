#pragma once
#include <levin/core/state/file_bytes.h>
#include <levin/data/datasets/readers/line_file.h>
#include <levin/data/datasets/readers/sample_encoder.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace levin::cli {

/// Files that are made to tokens, opened, and divided into parts of about as many bytes. Each line of a .jsonl or
/// .ndjson file is a document; any other file is one, which is divided where that changes no token (see split_text).
class TokenPieces {
 public:
  /// Throws levin::UsageError that names the file if it cannot be read or unpacked. Empty files have no document.
  TokenPieces(const std::vector<std::string>& files, const data::SampleEncoder& encoder, int64_t part_bytes);

  int64_t parts() const { return static_cast<int64_t>(part_ends_.size()); }
  /// Returns the tokens of a part; throws as SampleEncoder. May be called from several threads at a time.
  std::vector<int32_t> encode(int64_t part, const data::SampleEncoder& encoder) const;

 private:
  /// A line, or a piece of a text.
  struct Piece {
    std::string_view text = {};
    const data::LineFile* lines = nullptr;  // or null
    int64_t index = 0;                      // of the line; of the piece's first byte
    size_t file = 0;
    bool is_last = true;
  };

  void add_text(size_t file, const data::SampleEncoder& encoder, size_t piece_bytes);
  std::string place(const Piece& piece) const;

  std::vector<std::string> files_;
  std::deque<data::LineFile> lines_ = {};
  std::vector<FileBytes> mapped_ = {};
  std::deque<std::string> unpacked_ = {};
  std::vector<Piece> pieces_ = {};
  std::vector<size_t> part_ends_ = {};
};

}  // namespace levin::cli
