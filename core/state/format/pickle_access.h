#pragma once
#include <levin/core/state/format/pickle_reader.h>
#include <levin/core/system/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace levin {

/// Reads parts of a pickle's objects. Throws levin::UsageError with the file and the byte if an object is not as
/// expected.
class PickleAccess {
 public:
  explicit PickleAccess(std::string file) : file_(std::move(file)) {}

  template <class... Parts>
  [[noreturn]] void fail(const PickleNode& node, const Parts&... parts) const {
    throw UsageError(file_, ": ", parts..., " (byte ", node.offset, " of its data.pkl)");
  }

  /// Returns the class or function that made an object; "" if no named one did.
  const std::string& callable(const PickleNode& object) const;
  const PickleNode& argument(const PickleNode& object, size_t index) const;
  /// Returns nullptr if the object was made with fewer arguments.
  const PickleNode* argument_or_null(const PickleNode& object, size_t index) const;
  const PickleNode& item(const PickleNode& tuple, size_t index) const;
  int64_t integer(const PickleNode& node) const;
  const std::string& text(const PickleNode& node) const;
  /// Reads the integers of a tuple, a list or a torch.Size.
  std::vector<int64_t> integers(const PickleNode& node) const;
  /// Reads a bytes object, also in protocol 2's form: text with a call to encode it as Latin-1.
  std::string bytes(const PickleNode& node) const;

 private:
  std::string file_;
};

}  // namespace levin
