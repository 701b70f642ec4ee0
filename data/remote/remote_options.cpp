#include <levin/data/remote/remote_options.h>
#include <levin/core/system/error.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace levin::data {
namespace {

int64_t number_of_environment(const char* name, int64_t otherwise, int64_t most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string_view digits = text;
  int64_t value = -1;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size() || value < 0 || value > most)
    throw UsageError(name, ": a number from 0 to ", most, " was expected, got \"", text, "\"");
  return value;
}

}  // namespace

double remote_timeout_seconds() { return static_cast<double>(number_of_environment("LEVIN_REMOTE_TIMEOUT", 30, 3600)); }

int64_t cache_bytes() { return number_of_environment("LEVIN_CACHE_BYTES", 50'000'000'000, int64_t{1} << 60); }

int64_t remote_retries() { return number_of_environment("LEVIN_REMOTE_RETRIES", 5, 1000); }

}  // namespace levin::data
