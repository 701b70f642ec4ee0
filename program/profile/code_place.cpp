#include <levin/program/profile/code_place.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <vector>

namespace levin {
namespace {

struct Place {
  std::string function = {}, file_and_line = {};
};

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// Returns the function's name without return type, template arguments and parameters.
std::string short_name(const std::string& demangled) {
  std::string name;
  int depth = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (demangled.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20 + (demangled.compare(i + 21, 2, "::") == 0 ? 2 : 0);
      continue;
    }
    if (c == '<') depth += 1;
    if (depth == 0 && c == '(') break;
    if (depth == 0 && c == ' ') name.clear();
    if (depth == 0 && c != ' ') name += c;
    if (c == '>' && depth > 0) depth -= 1;
  }
  return name;
}

bool is_foreign(const std::string& function) {
  for (const char* begin : {"at::", "c10::", "torch::", "std::", "caffe2::", "__gnu_cxx::"})
    if (function.starts_with(begin)) return true;
  // The frames of the watch itself are on top of the stack.
  return function.empty() || function == "??" || function.starts_with("levin::StepWatch::");
}

/// Returns the places of one address, those of inlined functions first, by addr2line.
std::vector<Place> places_by_debug_information(const char* library, uintptr_t address) {
  std::ostringstream command;
  command << "addr2line -C -f -i -e " << quoted(library) << " 0x" << std::hex << address << " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.str().c_str(), "r"), &::pclose);
  std::vector<Place> places;
  if (!pipe) return places;
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) text.append(buffer.data(), read);
  std::istringstream lines(text);
  for (std::string function, place; std::getline(lines, function) && std::getline(lines, place);) {
    place = place.substr(0, place.find(' '));  // " (discriminator 3)"
    if (place.starts_with("??") || place.ends_with(":?") || place.ends_with(":0")) place.clear();
    if (!place.empty()) place = std::filesystem::path(place).filename().string();
    places.push_back({short_name(function), place});
  }
  return places;
}

std::string symbol_of(const Dl_info& info) {
  if (info.dli_sname == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status),
                                                    &std::free);
  return short_name(name ? name.get() : info.dli_sname);
}

}  // namespace

std::string code_place(void* const* frames, int number) {
  std::error_code ignored;
  for (int i = 0; i < number && frames[i] != nullptr; ++i) {
    Dl_info info = {};
    link_map* map = nullptr;
    // Return addresses: the call is before.
    void* const call = static_cast<char*>(frames[i]) - 1;
    if (::dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || info.dli_fname == nullptr)
      continue;
    const std::string library = std::filesystem::path(info.dli_fname).filename().string();
    if (library.starts_with("libtorch") || library.starts_with("libc10") || library.starts_with("libstdc++")) continue;
    // The program itself has no name in the list.
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    std::vector<Place> places =
        places_by_debug_information(map != nullptr && map->l_name[0] != '\0' ? map->l_name : program.c_str(),
                                    reinterpret_cast<uintptr_t>(call) - (map != nullptr ? map->l_addr : 0));
    if (places.empty()) places.push_back({symbol_of(info), ""});
    for (const Place& place : places) {
      if (is_foreign(place.function)) continue;
      return place.file_and_line.empty() ? place.function : place.file_and_line + ", " + place.function;
    }
  }
  return "";
}

bool is_own_place(const std::string& place) {
  const size_t comma = place.find(", ");
  return place.compare(comma == std::string::npos ? 0 : comma + 2, 7, "levin::") == 0;
}

}  // namespace levin
