#include <levin/trainer/profilers/call_stack.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <string_view>
#include <unordered_map>

namespace levin {
namespace {

/// Beginnings of names of functions that are not the user's.
constexpr std::string_view kOthers[] = {
    "levin::", "at::", "c10::", "torch::", "caffe2::", "std::", "__", "_", "at_", "operator new"};

bool is_users(const std::string& name) {
  if (name.empty() || name == "??" || name == "main") return false;
  return std::ranges::none_of(kOthers, [&](std::string_view other) { return name.starts_with(other); });
}

bool is_of_a_library(const torch::unwind::Frame& frame) {
  const auto ends = [&](std::string_view part) { return frame.filename.find(part) != std::string::npos; };
  return ends("libtorch") || ends("libc10") || ends("libstdc++") || ends("libc.so") || ends("libgomp");
}

std::vector<torch::unwind::Frame> symbolized(const std::vector<void*>& addresses) {
  for (const auto mode : {torch::unwind::Mode::fast, torch::unwind::Mode::dladdr}) {
    try {
      return torch::unwind::symbolize(addresses, mode);
    } catch (const std::exception&) {
      // Debug information in a form that LibTorch cannot read: the names of exported functions are left.
    }
  }
  return {};
}

}  // namespace

std::vector<void*> call_stack() {
  static std::atomic<bool> can_read = true;
  if (!can_read) return {};
  try {
    return torch::unwind::unwind();
  } catch (const std::exception&) {
    can_read = false;
    return {};
  }
}

std::string plain_name(const std::string& function) {
  // Parameters begin at the first parenthesis outside of template arguments that is not "(anonymous namespace)".
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    const std::string_view rest = std::string_view(function).substr(i);
    if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      continue;
    }
    if (function[i] == '<') depth += 1;
    if (function[i] == '>' && depth > 0) depth -= 1;
    if (depth > 0) continue;
    if (function[i] == ' ' && !rest.starts_with(" const")) begin = i + 1;
    if (function[i] == '(') return function.substr(begin, i - begin);
  }
  return function.substr(begin);
}

std::vector<std::string> users_functions(const std::vector<std::vector<void*>>& stacks) {
  std::unordered_map<void*, size_t> index;
  std::vector<void*> addresses;
  for (const auto& stack : stacks)
    for (void* const address : stack)
      if (index.emplace(address, addresses.size()).second) addresses.push_back(address);
  const std::vector<torch::unwind::Frame> frames = symbolized(addresses);
  std::vector<std::string> result;
  for (const auto& stack : stacks) {
    std::string& found = result.emplace_back();
    for (void* const address : stack) {
      if (frames.size() != addresses.size()) break;
      const torch::unwind::Frame& frame = frames[index.at(address)];
      const std::string name = plain_name(frame.funcname);
      if (!is_users(name) || is_of_a_library(frame)) continue;
      found = name;
      if (frame.lineno > 0)
        found += c10::str(" (", std::filesystem::path(frame.filename).filename().string(), ":", frame.lineno, ")");
      break;
    }
  }
  return result;
}

}  // namespace levin
