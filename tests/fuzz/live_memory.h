#pragma once
#include <cstddef>

namespace levin::testing {

/// The most memory that was held at once since this was made, beyond what was held then. Counted where a sanitizer
/// offers its hooks, by all threads; 0 elsewhere.
class LiveMemory {
 public:
  LiveMemory();
  size_t most() const;

 private:
  long long before_;
};

}  // namespace levin::testing
