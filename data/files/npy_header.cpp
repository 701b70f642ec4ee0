#include <levin/data/files/npy_header.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace levin::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDims = 64;
/// Byte offset of the header's text in version 1 and in later versions, whose length field is two bytes longer.
constexpr int64_t kStart = 10, kLongStart = 12;

struct Kind {
  const char* code;
  at::ScalarType dtype;
};
constexpr std::array<Kind, 14> kKinds = {{{"b1", at::kBool},
                                          {"u1", at::kByte},
                                          {"u2", at::kUInt16},
                                          {"u4", at::kUInt32},
                                          {"u8", at::kUInt64},
                                          {"i1", at::kChar},
                                          {"i2", at::kShort},
                                          {"i4", at::kInt},
                                          {"i8", at::kLong},
                                          {"f2", at::kHalf},
                                          {"f4", at::kFloat},
                                          {"f8", at::kDouble},
                                          {"c8", at::kComplexFloat},
                                          {"c16", at::kComplexDouble}}};

/// A parser for the Python literals that headers use.
class Literals {
 public:
  /// `text` starts at byte `offset` of `name`.
  Literals(std::string_view text, int64_t offset, const std::string& name)
      : text_(text), offset_(offset), name_(name) {}

  [[noreturn]] void fail(const std::string& reason) const {
    throw UsageError(name_, ": byte ", offset_ + static_cast<int64_t>(position_), ": ", reason);
  }
  bool at_end() {
    skip_spaces();
    return position_ == text_.size();
  }
  char peek() {
    skip_spaces();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool take(char c) {
    if (at_end() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("the header is broken: expected ") + c);
  }
  std::string string() {
    const char quote = take('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    const size_t end = text_.find(quote, position_);
    if (end == text_.npos) fail("the header is broken: a text without an end");
    const size_t begin = std::exchange(position_, end + 1);
    return std::string(text_.substr(begin, end - begin));
  }
  bool boolean() {
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      skip_spaces();
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    fail("the header is broken: expected True or False");
  }
  int64_t whole_number() {
    const auto digit = [&] { return position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; };
    skip_spaces();
    if (!digit()) fail("the header is broken: expected a size");
    int64_t value = 0;
    for (; digit(); ++position_) {
      const int64_t next = text_[position_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - next) / 10) fail("the header asks for too large a size");
      value = value * 10 + next;
    }
    take('L');  // Python 2 writes it
    return value;
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> sizes;
    expect('(');
    while (!take(')')) {
      if (sizes.size() == kMostDims) fail("the header asks for more than 64 dimensions");
      sizes.push_back(whole_number());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

 private:
  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  std::string_view text_;
  int64_t offset_;
  const std::string& name_;
  size_t position_ = 0;
};

void read_dtype(Literals& literals, NpyHeader& header) {
  if (literals.peek() == '[') {
    literals.fail("the array has fields by name; save each field as an array of its own");
  }
  const std::string descr = literals.string();
  const char order = descr.empty() ? '\0' : descr.front();
  const std::string code = std::string_view("<>|=").find(order) == std::string_view::npos ? descr : descr.substr(1);
  const char kind = code.empty() ? '\0' : code.front();
  if (kind == 'O') literals.fail("the array holds Python objects, which needs pickle; save numbers");
  if (kind == 'U' || kind == 'S') literals.fail("the array holds text (" + descr + "); save numbers");
  if (kind == 'M' || kind == 'm') literals.fail("the array holds times (" + descr + "); save numbers");
  const auto found = std::ranges::find_if(kKinds, [&](const Kind& known) { return known.code == code; });
  if (found == kKinds.end()) literals.fail("no tensor has the dtype '" + descr + "'; save another");
  header.dtype = found->dtype;
  header.big_endian = order == '>' && c10::elementSize(header.dtype) > 1;
}

/// Returns the number of bytes of the array; nothing if that number, or a stride, does not fit into int64.
std::optional<int64_t> bytes_of(const NpyHeader& header) {
  auto with_ones = static_cast<int64_t>(c10::elementSize(header.dtype));
  bool any_zero = false;
  for (const int64_t size : header.shape) {
    any_zero |= size == 0;
    if (with_ones > std::numeric_limits<int64_t>::max() / std::max<int64_t>(size, 1)) return {};
    with_ones *= std::max<int64_t>(size, 1);
  }
  return any_zero ? 0 : with_ones;
}

void read_items(Literals& literals, NpyHeader& header) {
  bool dtype = false, order = false, shape = false;
  literals.expect('{');
  while (!literals.take('}')) {
    const std::string key = literals.string();
    literals.expect(':');
    if (key == "descr") {
      read_dtype(literals, header);
      dtype = true;
    } else if (key == "fortran_order") {
      header.fortran_order = literals.boolean();
      order = true;
    } else if (key == "shape") {
      header.shape = literals.shape();
      shape = true;
    } else {
      literals.fail("the header is broken: unknown key '" + key + "'");
    }
    if (!literals.take(',')) {
      literals.expect('}');
      break;
    }
  }
  if (!dtype || !order || !shape) literals.fail("the header is broken: it lacks descr, fortran_order or shape");
  if (!literals.at_end()) literals.fail("the header is broken: more behind its end");
}

}  // namespace

int64_t npy_data_offset(std::string_view bytes) {
  const auto byte = [&](size_t i) { return int64_t{static_cast<unsigned char>(bytes[i])}; };
  if (!bytes.starts_with(kMagic) || bytes.size() < size_t{kLongStart}) return 0;
  return byte(6) == 1 ? kStart + (byte(8) | byte(9) << 8)
                      : kLongStart + (byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24);
}

NpyHeader parse_npy_header(std::string_view bytes, const std::string& name, int64_t total) {
  if (!bytes.starts_with(kMagic)) {
    const bool zip = bytes.starts_with("PK");
    throw UsageError(name, ": not a .npy file", zip ? ", but a zip file: name it .npz" : "");
  }
  if (bytes.size() < size_t{kLongStart}) throw UsageError(name, ": the file is cut off inside its header");
  const int version = static_cast<unsigned char>(bytes[kMagic.size()]);
  if (version < 1 || version > 3) throw UsageError(name, ": byte 6: unknown version ", version, " of the .npy format");
  NpyHeader header;
  header.data_offset = npy_data_offset(bytes);
  if (header.data_offset > static_cast<int64_t>(bytes.size())) {
    throw UsageError(name, ": the file is cut off inside its header");
  }
  const int64_t begin = version == 1 ? kStart : kLongStart;
  Literals literals(bytes.substr(begin, header.data_offset - begin), begin, name);
  read_items(literals, header);
  const int64_t there = total - header.data_offset;
  const std::optional<int64_t> wanted = bytes_of(header);
  if (!wanted || *wanted != there) {
    throw UsageError(name, ": byte ", header.data_offset, ": the header asks for ",
                     wanted ? std::to_string(*wanted) : "more than 2^63", " bytes of values, but there are ", there);
  }
  header.data_bytes = *wanted;
  return header;
}

std::string npy_header(at::ScalarType dtype, const std::vector<int64_t>& shape) {
  const auto found = std::ranges::find(kKinds, dtype, &Kind::dtype);
  if (found == kKinds.end()) throw UsageError("write_npy: NumPy has no dtype ", c10::toString(dtype));
  std::string text = "{'descr': '";
  text +=
      (c10::elementSize(dtype) == 1 ? "|" : "<") + std::string(found->code) + "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : shape) text += std::to_string(size) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  text += "), }";
  constexpr size_t kBefore = 10, kAlignment = 64;
  text.append(kAlignment - 1 - (kBefore + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace levin::data
