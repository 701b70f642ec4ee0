#include <levin/program/config/config_text.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <cctype>
#include <iterator>

namespace levin::cli {
namespace {

constexpr size_t kMaxLevels = 64;

/// Iterates over a text and counts the bytes that the JSON library has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* taken_;
};

/// Returns "file:3:12" for the byte at position `byte`, counted from 1.
std::string place(const std::string& name, const std::string& text, size_t byte) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), byte == 0 ? 0 : byte - 1));
  const auto line = 1 + std::count(text.begin(), end, '\n');
  const auto line_begin = std::find(std::make_reverse_iterator(end), text.rend(), '\n').base();
  return c10::str(name, ":", line, ":", end - line_begin + 1);
}

/// Returns the JSON library's message without its code, place and last bytes.
std::string reason(std::string what) {
  if (const size_t begin = what.find(" - "); begin != std::string::npos) what = what.substr(begin + 3);
  if (const size_t end = what.find("; last read"); end != std::string::npos) what.resize(end);
  return what;
}

/// Returns the letters from `at` on.
std::string word_at(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end]))) ++end;
  return text.substr(at, end - at);
}

/// Explains common mistakes at the last byte that was read in plain words; otherwise returns the library's reason.
std::string plain_reason(const std::string& text, size_t byte, const std::string& what) {
  if (what.find("UTF-8") != std::string::npos) return "this is not UTF-8 text";
  if (byte > text.size()) return "the file ends too early: " + reason(what);
  const size_t at = byte == 0 ? 0 : byte - 1;
  const char found = text[at];
  if (found == '/' || found == '#' || found == '*') return "a comment stands behind // or between /* and */";
  if (found == '\'') return "texts stand in double quotes";
  const size_t before = at == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", at - 1);
  if ((found == '}' || found == ']') && before != std::string::npos && text[before] == ',')
    return c10::str("no comma may stand before ", found);
  const std::string word = word_at(text, at);
  if (word == "NaN" || word == "Infinity") return "JSON has no " + word + " (an infinite number is written \"inf\")";
  if (word == "True" || word == "False" || word == "None")
    return "Python's " + word + " is true, false or null in JSON";
  return reason(what);
}

/// Builds the config from the library's events.
class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(const std::string& name, const std::string& text, const size_t& taken)
      : name_(name), text_(text), taken_(taken) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // does not occur in JSON text
  bool start_object(size_t /*size*/) override { return open(Json::object()); }
  bool start_array(size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Frame& frame = frames_.back();
    frame.key = key;
    const auto [first, is_new] = frame.lines_of_keys.emplace(key, line());
    if (is_new) return true;
    throw UsageError(name_, ":", line(), ": the key \"", key, "\" stands twice in one object, first in line ",
                     first->second);
  }

  bool parse_error(size_t byte, const std::string& token, const nlohmann::detail::exception& error) override {
    const std::string what = error.what();
    if (what.find("number overflow") != std::string::npos)
      throw UsageError(name_, ":", line(), ": ", token, " is too large for a number");
    throw UsageError(place(name_, text_, byte), ": broken JSON: ", plain_reason(text_, byte, what));
  }

  Config config = {};

 private:
  struct Frame {
    Json* value;
    std::string path;
    std::string key = {};
    std::map<std::string, int64_t> lines_of_keys = {};
  };

  /// Returns the line of the current value or key. After a number the library has also read the next byte, so the last
  /// byte does not count.
  int64_t line() {
    const size_t end = taken_ == 0 ? 0 : taken_ - 1;
    line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                        text_.begin() + static_cast<std::ptrdiff_t>(std::max(counted_, end)), '\n');
    counted_ = std::max(counted_, end);
    return line_;
  }

  /// Inserts the value at the current position and returns a pointer to it and its path.
  std::pair<Json*, std::string> put(Json value) {
    Json* added = &config.values;
    std::string path;
    if (frames_.empty()) {
      config.values = std::move(value);
    } else if (Frame& outer = frames_.back(); outer.value->is_array()) {
      path = item_path(outer.path, outer.value->size());
      outer.value->push_back(std::move(value));
      added = &outer.value->back();
    } else {
      path = join_path(outer.path, outer.key);
      added = &((*outer.value)[outer.key] = std::move(value));
    }
    config.origins[path] = c10::str(name_, ":", line());
    return {added, path};
  }

  bool add(Json value) {
    put(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (frames_.size() == kMaxLevels)
      throw UsageError(name_, ":", line(), ": expected at most ", kMaxLevels, " levels of lists and objects");
    const auto [added, path] = put(std::move(value));
    frames_.push_back({added, path});
    return true;
  }

  bool close() {
    frames_.pop_back();
    return true;
  }

  const std::string& name_;
  const std::string& text_;
  const size_t& taken_;
  std::vector<Frame> frames_ = {};
  size_t counted_ = 0;
  int64_t line_ = 1;
};

}  // namespace

Config parse_config(const std::string& name, const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw UsageError(name, ": the file is empty; expected an object with trainer, model and data");
  size_t taken = 0;
  Reader reader(name, text, taken);
  Json::sax_parse(CountingIterator(text.data(), &taken), CountingIterator(text.data() + text.size(), &taken), &reader,
                  Json::input_format_t::json, /*strict=*/true, /*ignore_comments=*/true);
  if (!reader.config.values.is_object())
    throw_unexpected(name, "an object with trainer, model and data", reader.config.values);
  reader.config.erase("$schema");
  return std::move(reader.config);
}

}  // namespace levin::cli
