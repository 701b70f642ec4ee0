#include <levin/program/commands/token_pieces.h>
#include <levin/data/datasets/readers/split_text.h>
#include <levin/data/files/decompress.h>
#include <levin/data/files/utf8.h>

#include <filesystem>

namespace levin::cli {
namespace {

bool is_json_lines(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.find(".jsonl") != name.npos || name.find(".ndjson") != name.npos;
}

}  // namespace

TokenPieces::TokenPieces(const std::vector<std::string>& files, const data::SampleEncoder& encoder, int64_t part_bytes)
    : files_(files) {
  for (size_t file = 0; file < files_.size(); ++file) {
    if (!is_json_lines(files_[file])) {
      add_text(file, encoder, static_cast<size_t>(part_bytes));
      continue;
    }
    const data::LineFile& lines = lines_.emplace_back(files_[file]);
    for (int64_t i = 0; i < lines.size(); ++i)
      pieces_.push_back({.text = lines.line(i), .lines = &lines, .index = i, .file = file});
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    bytes += static_cast<int64_t>(pieces_[i].text.size());
    if (bytes < part_bytes && i + 1 < pieces_.size()) continue;
    part_ends_.push_back(i + 1);
    bytes = 0;
  }
}

void TokenPieces::add_text(size_t file, const data::SampleEncoder& encoder, size_t piece_bytes) {
  const FileBytes& mapped = mapped_.emplace_back(map_file_bytes(files_[file]));
  if (mapped.size == 0) return;
  std::string_view text = mapped.text();
  if (data::is_compressed(text)) text = unpacked_.emplace_back(data::decompress(mapped));
  if (text.starts_with(data::kByteOrderMark)) text.remove_prefix(data::kByteOrderMark.size());
  size_t begin = 0;
  for (const size_t end : data::split_text(text, piece_bytes, encoder.tokenizer())) {
    pieces_.push_back({.text = text.substr(begin, end - begin),
                       .index = static_cast<int64_t>(begin),
                       .file = file,
                       .is_last = end == text.size()});
    begin = end;
  }
}

std::string TokenPieces::place(const Piece& piece) const {
  if (piece.lines) return piece.lines->place(piece.index);
  return piece.index == 0 ? files_[piece.file] : files_[piece.file] + ": from byte " + std::to_string(piece.index);
}

std::vector<int32_t> TokenPieces::encode(int64_t part, const data::SampleEncoder& encoder) const {
  std::vector<int32_t> ids;
  const auto at = static_cast<size_t>(part);
  for (size_t i = at == 0 ? 0 : part_ends_[at - 1]; i < part_ends_[at]; ++i) {
    const Piece& piece = pieces_[i];
    const auto tokens = piece.lines ? encoder.encode_line(piece.text, place(piece))
                                    : encoder.encode_piece(piece.text, piece.index == 0, piece.is_last, place(piece));
    for (const data::MarkedToken token : tokens) ids.push_back(data::id_of(token));
  }
  return ids;
}

}  // namespace levin::cli
