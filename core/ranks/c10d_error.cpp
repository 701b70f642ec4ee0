#include <levin/core/ranks/c10d_error.h>
#include <c10/util/Exception.h>
#include <levin/core/system/error.h>

#include <algorithm>

namespace levin {

std::string c10d_reason(const std::exception& error) {
  std::string text = message_of(error);
  text.resize(std::min({text.find('\n'), text.find(". This is typically"), text.size()}));
  const size_t end_of_file = text.find("] ");
  return text.rfind("[/", 0) == 0 && end_of_file != std::string::npos ? text.substr(end_of_file + 2) : text;
}

bool is_of_communication(const std::exception& error) {
  if (dynamic_cast<const c10::DistError*>(&error) != nullptr) return true;
  const std::string text = message_of(error);
  for (const char* part : {"gloo", "Gloo", "NCCL", "MPI", "Connection closed by peer", "Connection reset",
                           "Broken pipe", "pair closure", "Timed out", "timed out"})
    if (text.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace levin
