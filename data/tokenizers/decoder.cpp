#include <levin/data/tokenizers/decoder.h>
#include <levin/core/system/error.h>
#include <levin/data/files/utf8.h>
#include <levin/data/tokenizers/byte_level.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace levin::data::tokenizers {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

class ByteLevelDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string all, bytes;
    for (const std::string& token : tokens) all += bytes_of_token(token, bytes) ? bytes : token;
    tokens.assign(1, text_of_bytes(all));
  }
  bool is_byte_level() const override { return true; }
};

/// Makes characters of tokens "<0xHH>" that stand beside each other.
class ByteFallbackDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes;
    const auto end_bytes = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), std::string(kReplacement));
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const std::optional<char> byte = byte_of(token)) {
        bytes += *byte;
      } else {
        end_bytes();
        out.push_back(std::move(token));
      }
    }
    end_bytes();
    tokens = std::move(out);
  }

 private:
  static std::optional<char> byte_of(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    const auto digit = [](char c) {
      return c >= '0' && c <= '9'   ? c - '0'
             : c >= 'A' && c <= 'F' ? c - 'A' + 10
             : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                    : -1;
    };
    // The package takes a number with a sign too.
    if (token[3] == '+' && digit(token[4]) >= 0) return static_cast<char>(digit(token[4]));
    if (digit(token[3]) < 0 || digit(token[4]) < 0) return std::nullopt;
    return static_cast<char>(digit(token[3]) * 16 + digit(token[4]));
  }
};

class FuseDecoder final : public Decoder {
 public:
  void decode(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, std::move(all));
  }
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> steps) : steps_(std::move(steps)) {}
  void decode(std::vector<std::string>& tokens) const override {
    for (const DecoderPtr& step : steps_) step->decode(tokens);
  }

 private:
  std::vector<DecoderPtr> steps_;
};

constexpr int64_t kDeepestDecoder = 20;

DecoderPtr read_nested_decoder(const Json& json, const std::string& place, int64_t depth) {
  const JsonFields fields(json, place);
  const std::string type = fields.text("type");
  if (type == "ByteLevel") {
    fields.allow({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelDecoder>();
  }
  if (type == "ByteFallback" || type == "Fuse") {
    fields.allow({"type"});
    if (type == "Fuse") return std::make_unique<FuseDecoder>();
    return std::make_unique<ByteFallbackDecoder>();
  }
  if (DecoderPtr decoder = read_token_decoder(type, fields)) return decoder;
  if (type != "Sequence") fields.fail("levin does not know the decoder '" + type.substr(0, 100) + "'");
  fields.allow({"type", "decoders"});
  if (depth > kDeepestDecoder) fields.fail("sequences are nested too deeply");
  std::vector<DecoderPtr> steps;
  for (const Json& step : fields.list("decoders")) {
    steps.push_back(read_nested_decoder(step, fields.place_of("decoders", steps.size()), depth + 1));
  }
  return std::make_unique<DecoderSequence>(std::move(steps));
}

/// Returns how many bytes at a place are a beginning of a character, of which the rest is wrong or missing; at least 1.
size_t bytes_of_beginning(std::string_view bytes, size_t position) {
  const auto at = [&](size_t i) {
    return position + i < bytes.size() ? static_cast<unsigned char>(bytes[position + i]) : 0U;
  };
  const auto continues = [&](size_t i) { return (at(i) & 0xC0U) == 0x80; };
  const unsigned first = at(0), second = at(1);
  const bool three = first >= 0xE0 && first <= 0xEF, four = first >= 0xF0 && first <= 0xF4;
  if (!(three || four) || !continues(1)) return 1;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F)) {
    return 1;
  }
  return four && continues(2) ? 3 : 2;
}

}  // namespace

DecoderPtr read_decoder(const Json& json, const std::string& place) { return read_nested_decoder(json, place, 0); }

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  size_t good = 0;  // from here on, what has not been written yet
  for (size_t position = 0; position < bytes.size();) {
    if (static_cast<unsigned char>(bytes[position]) < 0x80) {
      ++position;
    } else if (const size_t before = position; next_code_point(bytes, position) == kInvalidUtf8) {
      text.append(bytes.substr(good, before - good)).append(kReplacement);
      position = good = before + bytes_of_beginning(bytes, before);
    }
  }
  return text.append(bytes.substr(good));
}

}  // namespace levin::data::tokenizers
