#pragma once
#include <levin/trainer/core/system/error.h>

#include <string>

/// The message of the levin::Error (of the class `E`) that `function` throws; "no error" where it throws none.
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
