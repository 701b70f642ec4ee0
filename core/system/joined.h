#pragma once
#include <string>

namespace levin {

/// Returns texts with ", " between them, as messages list names.
template <class Texts>
std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace levin
