#pragma once
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/temporary_folder.h"

/// A process of Python that runs the script LEVIN_PYTHON_REFERENCE as often as it is asked to: to import torch takes
/// longer than most answers. It ends with this process.
class ReferenceServer {
 public:
  explicit ReferenceServer(const std::string& python) {
    const char* const script = std::getenv("LEVIN_PYTHON_REFERENCE");
    const char* const server = std::getenv("LEVIN_REFERENCE_SERVER");
    if (!script || !server)
      throw std::runtime_error("LEVIN_PYTHON_REFERENCE names no script of Python; run the test by ctest");
    const std::string answers = (folder_ / "answers").string();
    if (::mkfifo(answers.c_str(), 0600) != 0) throw std::runtime_error("cannot make " + answers);
    const std::string command = "'" + python + "' '" + server + "' '" + script + "' > '" + answers + "'";
    requests_ = ::popen(command.c_str(), "we");
    if (requests_) answers_ = std::fopen(answers.c_str(), "re");
    if (!answers_) throw std::runtime_error("cannot run " + command);
  }
  ~ReferenceServer() {
    ::pclose(requests_);
    std::fclose(answers_);
  }
  ReferenceServer(const ReferenceServer&) = delete;
  ReferenceServer& operator=(const ReferenceServer&) = delete;

  /// Returns what the script prints, which is JSON.
  nlohmann::ordered_json ask(const nlohmann::ordered_json& arguments) const {
    const std::string request = arguments.dump() + "\n";
    std::fputs(request.c_str(), requests_);
    std::fflush(requests_);
    std::string line;
    for (int c = 0; (c = std::fgetc(answers_)) != EOF && c != '\n';) line.push_back(static_cast<char>(c));
    const auto answer = nlohmann::ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (answer.is_discarded() || answer[0] != 0) throw std::runtime_error("failed: " + request);
    return nlohmann::ordered_json::parse(answer[1].get<std::string>());
  }

 private:
  TemporaryFolder folder_ = {};
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
};

/// Returns the output of LEVIN_PYTHON_REFERENCE for `cases`; nothing, with a warning, if LEVIN_TEST_PYTHON is not set.
inline std::optional<nlohmann::ordered_json> python_reference(const std::string& what,
                                                              const nlohmann::ordered_json& cases,
                                                              const std::string& folder = "") {
  const char* const python = std::getenv("LEVIN_TEST_PYTHON");
  if (!python || !*python) {
    WARN("SKIPPED: configure with -DLEVIN_TEST_PYTHON=<a Python with torch>");
    return std::nullopt;
  }
  static const ReferenceServer server(python);
  return server.ask({what, cases.dump(), folder});
}
