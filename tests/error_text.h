#pragma once
#include <levin/core/system/error.h>

#include <string>

/// Returns the message of the levin::Error (of class `E`) that `function` throws, or "no error".
template <class E = levin::Error, class Function>
std::string error_text(Function function) {
  try {
    function();
  } catch (const E& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
