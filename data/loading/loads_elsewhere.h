#pragma once

namespace levin::data {

/// A dataset whose batches other processes make: the threads that load them wait, and need no core.
class LoadsElsewhere {
 public:
  virtual ~LoadsElsewhere() = default;
};

}  // namespace levin::data
