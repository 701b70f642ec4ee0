#include <levin/data/tokenizers/text_pool.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>

#include <algorithm>

namespace levin::data::tokenizers {
namespace {

constexpr size_t kMostGiven = size_t{1} << 30, kMostRewritten = size_t{3} << 30;
// What a normalizer may make of a text: far more than any that is meant well.
constexpr size_t kMostGrowth = 256, kAlwaysAllowed = size_t{1} << 24;

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

TextPool::TextPool(std::string_view original, bool tracks) : original_(original), tracks_(tracks) {
  if (original.size() >= kMostGiven) {
    throw UsageError("Tokenizer: a text of ", original.size(), " bytes is too long; split it (1 GB is the most)");
  }
}

Span TextPool::span(uint32_t position) const {
  if (!tracks_) return {};
  if (position >= original_.size()) return spans_[position - original_.size()];
  uint32_t begin = position;
  while (begin > 0 && continues_character(original_[begin])) --begin;
  return {begin, begin + static_cast<uint32_t>(bytes_of_character(original_[begin]))};
}

Piece TextPool::slice(const Piece& piece, size_t begin, size_t end) const {
  const auto first = piece.begin + static_cast<uint32_t>(begin);
  return {first, piece.begin + static_cast<uint32_t>(end), span(first).begin};
}

Span TextPool::source(const Piece& piece, uint32_t begin, uint32_t end) const {
  if (begin == end) return {piece.shift + begin, piece.shift + end};
  if (begin > end || end > piece.size()) return {begin, end};
  return {span(piece.begin + begin).begin, span(piece.begin + end - 1).end};
}

Rewriter::Rewriter(TextPool& pool, const Piece& piece, size_t removed_bytes)
    : pool_(pool), piece_(piece), at_(static_cast<uint32_t>(removed_bytes)) {
  const size_t room = piece.size() + piece.size() / 4 + 16;
  text_.reserve(room);
  if (pool.tracks_) spans_.reserve(room);
}

void Rewriter::put_code(char32_t code, Span from) {
  const size_t before = text_.size();
  append_utf8(text_, code);
  if (pool_.tracks_) spans_.insert(spans_.end(), text_.size() - before, from);
}

void Rewriter::put(char32_t code, int64_t change) {
  if (change > 0) {
    put_code(code, at_ == 0 ? Span{piece_.shift, piece_.shift} : span(at_ - 1));
    return;
  }
  const std::string_view text = pool_.text(piece_);
  put_code(code, at_ < text.size() ? span(at_) : Span{piece_.shift, piece_.shift});
  for (int64_t i = 0; i <= -change && at_ < text.size(); ++i)
    at_ += static_cast<uint32_t>(bytes_of_character(text[at_]));
}

void Rewriter::put_text(std::string_view text, size_t consumed) {
  if (pool_.tracks_) spans_.insert(spans_.end(), text.size(), span(at_));
  text_.append(text);
  at_ += static_cast<uint32_t>(consumed);
}

void Rewriter::put_mapped(std::string_view text, const std::vector<uint32_t>& from) {
  text_.append(text);
  if (!pool_.tracks_) return;
  for (size_t i = 0; i < text.size(); ++i) spans_.push_back({piece_.shift + from[i], piece_.shift + from[i + 1]});
}

void Rewriter::copy(size_t bytes) {
  text_.append(pool_.text(piece_).substr(at_, bytes));
  if (pool_.tracks_) {
    const size_t given = pool_.original_.size();
    if (piece_.begin >= given) {
      const auto from = pool_.spans_.begin() + static_cast<int64_t>(piece_.begin + at_ - given);
      spans_.insert(spans_.end(), from, from + static_cast<int64_t>(bytes));
    } else {
      for (uint32_t i = 0; i < bytes; ++i) spans_.push_back(span(at_ + i));
    }
  }
  at_ += static_cast<uint32_t>(bytes);
}

void Rewriter::insert(std::string_view text) {
  grow_to(text_.size() + text.size());
  text_.append(text);
  if (pool_.tracks_) {
    spans_.insert(spans_.end(), text.size(), at_ == 0 ? Span{piece_.shift, piece_.shift} : span(at_ - 1));
  }
}

void Rewriter::grow_to(size_t bytes) const {
  const size_t given = pool_.original_.size(), most = std::min(kMostRewritten, given * kMostGrowth + kAlwaysAllowed);
  if (given + pool_.rewritten_.size() + bytes > most) {
    throw UsageError("Tokenizer: a text of ", given, " bytes becomes more than ", most,
                     " bytes; split it, or look at the tokenizer's normalizer");
  }
}

Piece Rewriter::finish() {
  grow_to(text_.size());
  const size_t begin = pool_.original_.size() + pool_.rewritten_.size();
  if (pool_.rewritten_.empty()) {
    pool_.rewritten_ = std::move(text_);
    pool_.spans_ = std::move(spans_);
  } else {
    pool_.rewritten_.append(text_);
    pool_.spans_.insert(pool_.spans_.end(), spans_.begin(), spans_.end());
  }
  Piece written = piece_;
  written.begin = static_cast<uint32_t>(begin);
  written.end = static_cast<uint32_t>(pool_.original_.size() + pool_.rewritten_.size());
  return written;
}

}  // namespace levin::data::tokenizers
