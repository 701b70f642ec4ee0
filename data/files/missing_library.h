#pragma once
#include <levin/core/system/error.h>

namespace levin::data {

/// This levin is built without what the files of a format need; the text says what that is, and how to get it.
class MissingLibrary : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace levin::data
