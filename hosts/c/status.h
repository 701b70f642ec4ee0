#pragma once
#include <levin/core/system/error.h>
#include <levin/hosts/c/c_api.h>

#include <exception>
#include <new>
#include <string>

namespace levin::c {

/// Keeps the text that levin_error returns in this thread.
levin_status fail(levin_status status, const std::string& text) noexcept;

/// Runs a function of the interface: what it throws becomes a status with a text.
template <class Function>
levin_status guarded(const char* name, const Function& function) noexcept {
  const auto failed = [&](levin_status status, const std::string& why) {
    return fail(status, std::string(name) + ": " + why);
  };
  try {
    try {
      function();
      return LEVIN_OK;
    } catch (const UsageError& error) {
      return failed(LEVIN_INVALID, message_of(error));
    } catch (const std::bad_alloc&) {
      return failed(LEVIN_NO_MEMORY, "there is not enough memory");
    } catch (const std::exception& error) {
      return failed(LEVIN_FAILED, message_of(error));
    } catch (...) {
      return failed(LEVIN_FAILED, "an exception that is no std::exception");
    }
  } catch (...) {  // no memory for the text
    return fail(LEVIN_NO_MEMORY, {});
  }
}

/// Throws levin::UsageError for a null pointer.
template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw UsageError(what, " is null");
  return *pointer;
}

/// Throws levin::UsageError for a struct whose struct_size is less than what version 1 has: it was not set.
template <class T>
T& sized(T* pointer, const char* what) {
  if (given(pointer, what).struct_size < sizeof(T))
    throw UsageError(what, ".struct_size is ", pointer->struct_size, ", expected sizeof the struct, ", sizeof(T),
                     "; begin with LEVIN_INIT");
  return *pointer;
}

/// Returns "" for null.
inline std::string text_of(const char* text) { return text == nullptr ? "" : text; }

/// Throws levin::Error if a function of the host's failed.
inline void check_host(levin_status status, const char* what) {
  if (status != LEVIN_OK) throw Error("the host's function ", what, " returned the status ", status);
}

}  // namespace levin::c
