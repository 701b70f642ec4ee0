#pragma once
#include <string>

namespace levin::data {

/// Returns a text as a field of a CSV record, quoted where RFC 4180 asks for it.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace levin::data
