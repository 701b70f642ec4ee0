#pragma once
#include <levin/core/system/error.h>

namespace levin {

/// The system does not read a file that may well be whole: a device fails, too many files are open.
class UnreadFileError : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace levin
