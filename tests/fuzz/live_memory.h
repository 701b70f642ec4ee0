#pragma once
#include <cstddef>

namespace levin::testing {

/// The peak memory of all threads since construction, beyond the memory in use at construction. 0 unless a sanitizer
/// with allocation hooks is used.
class LiveMemory {
 public:
  LiveMemory();
  size_t most() const;

 private:
  long long before_;
};

}  // namespace levin::testing
