#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace levin {

/// Writes the opcodes of a pickle of protocol 2, only those that Python's `torch.load(weights_only=True)` allows.
///
/// A tuple is `write_mark()`, the items, `write_tuple()`; a list or dict starts with an empty one:
/// `write_empty_list()`, `write_mark()`, the items, `append_items()`.
class PickleWriter {
 public:
  PickleWriter() { bytes_ = "\x80\x02"; }

  void write_none() { bytes_ += 'N'; }
  void write_bool(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void write_int(int64_t value);
  void write_float(double value);
  /// Throws levin::Error for text of 4 GiB or more.
  void write_text(std::string_view text);
  void write_bytes(std::string_view bytes);
  void write_global(std::string_view module, std::string_view name);

  void write_mark() { bytes_ += '('; }
  void write_tuple() { bytes_ += 't'; }
  void write_empty_tuple() { bytes_ += ')'; }
  void write_empty_list() { bytes_ += ']'; }
  void append_items() { bytes_ += 'e'; }
  void write_empty_dict() { bytes_ += '}'; }
  void set_items() { bytes_ += 'u'; }
  /// Calls the global below the tuple on top with that tuple.
  void call() { bytes_ += 'R'; }
  /// Sets the attributes of the object below the dict on top.
  void set_attributes() { bytes_ += 'b'; }
  /// Replaces the tuple on top with a reference to a storage.
  void write_persistent() { bytes_ += 'Q'; }

  /// Ends the pickle and returns its bytes.
  std::string finish() &&;

 private:
  void write_little_endian(uint64_t value, size_t width);
  void write_raw_text(std::string_view utf8);

  std::string bytes_ = {};
};

}  // namespace levin
