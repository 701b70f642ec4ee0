#include <levin/trainer/run_folder/read_run_json.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

namespace levin {

nlohmann::json read_run_json(const std::filesystem::path& file) {
  std::string text;
  if (const int error = read_file(file, text); is_of_system(error))
    throw UsageError(file.string(), ": cannot be read: ", std::generic_category().message(error));
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace levin
