#pragma once
#include <exception>
#include <string>

namespace levin::data {

/// Calls `function` and returns null; of an exception the text, which stays valid until the thread's next call.
template <class Function>
const char* text_of_exception(const Function& function) noexcept {
  thread_local std::string text;
  try {
    function();
    return nullptr;
  } catch (const std::bad_alloc&) {
    return "there is not enough memory to read it";
  } catch (const std::exception& error) {
    try {
      text = error.what();
      return text.c_str();
    } catch (...) {
      return "an error without a text";
    }
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace levin::data
