#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace levin {

/// Memory that other processes of the same user on this machine can map. It has no name in any file system, and it is
/// gone when the processes that map it have ended, however they end.
class SharedBlock {
 public:
  /// Makes one, filled with zeros. Throws levin::Error if the system has no such memory.
  explicit SharedBlock(size_t bytes);
  /// Maps the block that another process made and has not withdrawn. Throws levin::Error if it cannot be reached.
  SharedBlock(int64_t process, int64_t descriptor, size_t bytes);
  ~SharedBlock();
  SharedBlock(SharedBlock&& other) noexcept;
  SharedBlock& operator=(SharedBlock&&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Returns the descriptor by which others find it in this process.
  int64_t descriptor() const { return descriptor_; }
  /// From now on no other process can map it.
  void withdraw();

 private:
  void map(const std::string& what);

  size_t bytes_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
};

}  // namespace levin
