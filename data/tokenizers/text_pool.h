#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data::tokenizers {

/// Bytes [begin, end) of a text.
struct Span {
  uint32_t begin = 0, end = 0;
};

/// A part of the text on its way through the tokenizer.
struct Piece {
  uint32_t begin = 0, end = 0;  ///< its bytes in the pool
  uint32_t shift = 0;           ///< the byte of the text given where it began when it was cut off
  int32_t id = -1;              ///< the added token that it is; -1: it is text

  uint32_t size() const { return end - begin; }
};

/// The text given, and all that it becomes: positions below `original().size()` are those of the text given, and what
/// is rewritten follows. For each byte of the latter the pool knows which bytes of the text given it comes from.
///
/// Throws levin::UsageError for 1 GB of text and more, and if that becomes more than 3 GB, or 256 times as much and 16
/// MB.
class TextPool {
 public:
  /// `tracks`: false saves the time to keep track of where bytes come from; spans are then (0, 0).
  TextPool(std::string_view original, bool tracks);

  std::string_view original() const { return original_; }
  bool tracks() const { return tracks_; }
  /// Returns a piece's text, valid until the pool is written to.
  std::string_view text(const Piece& piece) const {
    const size_t given = original_.size();
    if (piece.begin < given) return original_.substr(piece.begin, piece.size());
    return std::string_view(rewritten_).substr(piece.begin - given, piece.size());
  }
  /// Returns the bytes of the text given that the byte at a position comes from: for the text given itself, its
  /// character.
  Span span(uint32_t position) const;
  /// Returns the part [begin, end) of a piece, which is not empty.
  Piece slice(const Piece& piece, size_t begin, size_t end) const;
  /// Returns where the bytes [begin, end) of a piece come from, as the package finds it.
  Span source(const Piece& piece, uint32_t begin, uint32_t end) const;

 private:
  friend class Rewriter;

  std::string_view original_;
  std::string rewritten_ = {};
  std::vector<Span> spans_ = {};  // of each byte of rewritten_, if it tracks
  bool tracks_;
};

/// Writes what a piece becomes into its pool, character by character, in the terms of the package: a character replaces
/// the next one of the piece, or is new, or replaces the next one and removes others behind it.
class Rewriter {
 public:
  /// `removed_bytes` of the piece's beginning have no counterpart.
  Rewriter(TextPool& pool, const Piece& piece, size_t removed_bytes = 0);

  /// Writes a character. `change` is 0 if it replaces the next one, 1 if it is new, and -n if n more are removed.
  void put(char32_t code, int64_t change);
  /// Writes bytes that all come from the next `consumed` bytes of the piece, as the first of these does.
  void put_text(std::string_view text, size_t consumed);
  /// Writes the whole text that the piece becomes. `from`: for each byte, and for the end, the byte of the piece that
  /// it comes from, in ascending order; a byte reaches to the one that the next byte comes from.
  void put_mapped(std::string_view text, const std::vector<uint32_t>& from);
  /// Writes the piece's next bytes as they are.
  void copy(size_t bytes);
  /// Writes ASCII in place of the next ASCII character.
  void put_ascii(char c) {
    text_.push_back(c);
    if (pool_.tracks_) spans_.push_back(span(at_));
    ++at_;
  }
  /// Leaves out bytes of the piece.
  void skip(size_t bytes) { at_ += static_cast<uint32_t>(bytes); }
  /// Writes new text that comes from where the last byte before the next one does.
  void insert(std::string_view text);

  /// Returns the piece that has been written; the piece given is unchanged.
  Piece finish();

 private:
  Span span(uint32_t offset) const { return pool_.span(piece_.begin + offset); }
  void put_code(char32_t code, Span from);
  void grow_to(size_t bytes) const;

  TextPool& pool_;
  Piece piece_;
  uint32_t at_ = 0;  // the next byte of the piece
  std::string text_ = {};
  std::vector<Span> spans_ = {};
};

}  // namespace levin::data::tokenizers
