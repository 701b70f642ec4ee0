#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/charsmap.h>
#include <levin/data/tokenizers/normalizer.h>
#include <levin/data/tokenizers/unicode.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace levin::data::tokenizers {
namespace {

int64_t characters_in(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

/// Replaces by SentencePiece's map, as the package does it: clusters of less than 6 bytes as a whole, and characters.
class PrecompiledNormalizer final : public Normalizer {
 public:
  explicit PrecompiledNormalizer(Charsmap map) : map_(std::move(map)) {
    for (size_t i = 1; i < ascii_.size(); ++i) ascii_[i] = map_.replacement(std::string(1, static_cast<char>(i)));
  }

  Piece normalize(TextPool& pool, const Piece& piece) const override {
    const std::string_view text = pool.text(piece);
    thread_local std::vector<std::pair<char32_t, int64_t>> written;
    written.clear();
    bool changed = false;
    for (size_t position = 0; position < text.size();) {
      if (is_ascii_alone(text, position)) {
        const auto byte = static_cast<unsigned char>(text[position]);
        changed |= write(text.substr(position, 1), ascii_[byte], written);
        ++position;
        continue;
      }
      const std::string_view cluster = text.substr(position, bytes_of_cluster(text.substr(position)));
      position += cluster.size();
      if (cluster.size() < 6) {
        if (const auto replacement = map_.replacement(cluster)) {
          changed |= write(cluster, replacement, written);
          continue;
        }
      }
      for (size_t at = 0; at < cluster.size();) {
        const size_t begin = at;
        next_code_point(cluster, at);
        const std::string_view character = cluster.substr(begin, at - begin);
        changed |= write(character, map_.replacement(character), written);
      }
    }
    if (!changed) return piece;
    Rewriter out(pool, piece);
    for (const auto& [code, change] : written) out.put(code, change);
    return out.finish();
  }

 private:
  static bool is_ascii_alone(std::string_view text, size_t position) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
    return at(position) < 0x80 && at(position + 1) < 0x80 && !(at(position) == '\r' && at(position + 1) == '\n');
  }

  static size_t bytes_of_cluster(std::string_view text) {
    GraphemeBreaks breaks;
    size_t position = 0;
    breaks.begins(next_code_point(text, position));
    while (position < text.size()) {
      const size_t begin = position;
      if (breaks.begins(next_code_point(text, position))) return begin;
    }
    return position;
  }

  /// Adds what a part becomes. Where it becomes shorter, the last character written takes what is missing.
  static bool write(std::string_view part, const std::optional<std::string_view>& replacement,
                    std::vector<std::pair<char32_t, int64_t>>& written) {
    const std::string_view text = replacement.value_or(part);
    const size_t before = written.size();
    for (size_t position = 0; position < text.size();) written.emplace_back(next_code_point(text, position), 0);
    if (!replacement) return false;
    const int64_t more = static_cast<int64_t>(written.size() - before) - characters_in(part);
    for (int64_t i = 0; i < more; ++i) written[written.size() - 1 - static_cast<size_t>(i)].second = 1;
    if (more < 0 && !written.empty()) written.back().second += more;
    return true;
  }

  Charsmap map_;
  std::array<std::optional<std::string_view>, 128> ascii_ = {};
};

}  // namespace

NormalizerPtr read_precompiled(const JsonFields& fields) {
  fields.allow({"type", "precompiled_charsmap"});
  const std::string place = fields.place_of("precompiled_charsmap");
  const std::optional<std::string> bytes = decode_base64(fields.text("precompiled_charsmap"));
  if (!bytes) fields.fail("'precompiled_charsmap' is no base64");
  return std::make_unique<PrecompiledNormalizer>(Charsmap(*bytes, place));
}

}  // namespace levin::data::tokenizers
