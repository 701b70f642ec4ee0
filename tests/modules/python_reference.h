#pragma once
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

/// Returns the output of python_reference.py for `cases`; nothing, with a warning, if LEVIN_TEST_PYTHON is not set.
inline std::optional<nlohmann::ordered_json> python_reference(const std::string& what,
                                                              const nlohmann::ordered_json& cases,
                                                              const std::string& folder = "") {
  const char* python = std::getenv("LEVIN_TEST_PYTHON");
  if (!python || !*python) {
    WARN("SKIPPED: configure with -DLEVIN_TEST_PYTHON=<a Python with torch>");
    return std::nullopt;
  }
  const char* script = std::getenv("LEVIN_PYTHON_REFERENCE");
  if (!script) throw std::runtime_error("LEVIN_PYTHON_REFERENCE names no python_reference.py; run the test by ctest");
  const std::string command =
      std::string("'") + python + "' '" + script + "' " + what + " '" + cases.dump() + "' '" + folder + "'";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) text.append(buffer.data(), n);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return nlohmann::ordered_json::parse(text);
}
