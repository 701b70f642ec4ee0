#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace levin::testing {

/// While the object exists, an operator of this thread that is given a tensor of more than 2^22 elements throws
/// std::length_error: programs that take long are no finding. Sizes may be large without memory, by expand.
class WorkLimit {
 public:
  WorkLimit();

 private:
  c10::impl::IncludeDispatchKeyGuard key_;
};

}  // namespace levin::testing
