#include <levin/core/device/out_of_memory.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>

namespace levin {

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) || dynamic_cast<const std::bad_alloc*>(&error)) return true;
  // The text has no backtrace, which may name allocation functions for any error.
  const std::string text = message_of(error);
  constexpr std::array kSigns = {"out of memory", "DefaultCPUAllocator", "std::bad_alloc", "CUBLAS_STATUS_ALLOC_FAILED",
                                 "CUDNN_STATUS_ALLOC_FAILED"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](const char* sign) { return text.find(sign) != std::string::npos; });
}

}  // namespace levin
