#include <levin/data/datasets/readers/tar_shards.h>
#include <glob.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/shard_index.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_object.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace levin::data {
namespace {

constexpr size_t kMostNames = 1'000'000;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || stop != text.data() + text.size() || value < 0) return {};
  return value;
}

[[noreturn]] void refuse(const std::string& pattern, std::string_view inside) {
  throw UsageError("'", pattern, "': {", inside, "} is neither two numbers, {000..009}, nor a list, {a,b}");
}

/// Expands the text between two braces.
std::vector<std::string> choices(const std::string& pattern, std::string_view inside) {
  std::vector<std::string> words;
  if (const size_t dots = inside.find(".."); dots != inside.npos) {
    const std::string_view first_text = inside.substr(0, dots);
    const auto first = number(first_text), last = number(inside.substr(dots + 2));
    if (!first || !last || *last < *first) refuse(pattern, inside);
    if (*last - *first >= static_cast<int64_t>(kMostNames)) throw UsageError("'", pattern, "': too many names");
    const size_t width = first_text.starts_with('0') ? first_text.size() : 0;
    for (int64_t value = *first; value <= *last; ++value) {
      const std::string text = std::to_string(value);
      words.push_back(std::string(width > text.size() ? width - text.size() : 0, '0') + text);
    }
  } else {
    if (inside.find(',') == inside.npos) refuse(pattern, inside);
    for (size_t begin = 0, end = 0; end != inside.npos; begin = end + 1) {
      end = inside.find(',', begin);
      words.emplace_back(inside.substr(begin, end == inside.npos ? end : end - begin));
    }
  }
  return words;
}

struct Matches {
  ~Matches() { ::globfree(&list); }
  glob_t list = {};
};

std::vector<std::string> matching_files(const std::string& pattern) {
  Matches matches;
  if (::glob(pattern.c_str(), 0, nullptr, &matches.list) != 0) return {};
  return {matches.list.gl_pathv, matches.list.gl_pathv + matches.list.gl_pathc};
}

/// Returns the objects that a URL stands for: those of a bucket if its path has a pattern, which a query may not be
/// taken for.
std::vector<std::string> matching_urls(const std::string& url) {
  const size_t path = url.find('/', url.find("://") + 3), query = std::min(url.find('?'), url.size());
  if (path == url.npos || url.find_first_of("*[", path) >= query) return {url};
  std::vector<std::string> found;
  for (RemoteObject& object : list_remote_objects(url)) found.push_back(std::move(object.url));
  return found;
}

/// Returns the files that a name without braces stands for; none if no file matches. A plain name stands for itself.
std::vector<std::string> matching(const std::string& name, bool remote) {
  if (remote) return matching_urls(name);
  std::error_code ignored;
  const bool plain = name.find_first_of("*?[") == name.npos || std::filesystem::exists(name, ignored);
  return plain ? std::vector<std::string>{name} : matching_files(name);
}

/// Names may be those of servers.
std::vector<std::string> find_all(const std::vector<std::string>& patterns, const std::string& option) {
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> names;
    try {
      names = expand_braces(pattern);
    } catch (const UsageError& error) {
      throw UsageError(option, ": ", error.what());
    }
    for (const std::string& url_or_name : names) {
      std::error_code ignored;
      const bool remote = is_on_server(url_or_name);
      const auto shown = [&](const std::string& name) { return remote ? shown_url(name) : name; };
      const std::string name = remote ? url_or_name : local_path(url_or_name).string();
      const std::vector<std::string> found = matching(name, remote);
      if (found.empty()) throw UsageError(option, ": no file matches '", shown(name), "'");
      for (const std::string& file : found) {
        if (!remote && !std::filesystem::exists(file, ignored)) throw UsageError(option, ": no file ", file);
        if (!seen.insert(file).second) throw UsageError(option, ": ", shown(file), " comes twice");
        files.push_back(file);
      }
    }
  }
  if (files.empty())
    throw UsageError(option, ": not set; it names tar files, such as train-{000..009}.tar or data/*.tar");
  return files;
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& pattern) {
  std::vector<std::string> names = {""};
  size_t done = 0;
  while (true) {
    const size_t open = pattern.find('{', done), close = pattern.find('}', open);
    const std::string before = pattern.substr(done, open - done);
    if (open != pattern.npos && close == pattern.npos) refuse(pattern, pattern.substr(open + 1));
    for (std::string& name : names) name += before;
    if (open == pattern.npos) return names;
    const auto words = choices(pattern, std::string_view(pattern).substr(open + 1, close - open - 1));
    if (names.size() > kMostNames / words.size()) throw UsageError("'", pattern, "': too many names");
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& word : words) longer.push_back(name + word);
    }
    names = std::move(longer);
    done = close + 1;
  }
}

std::vector<std::string> find_shards(const std::vector<std::string>& patterns, const std::string& option) {
  std::vector<std::string> files = find_all(patterns, option);
  for (std::string& file : files) file = local_path(file).string();
  return files;
}

std::vector<std::string> find_tar_shards(const std::vector<std::string>& patterns, const std::string& option) {
  std::vector<std::string> expanded;
  for (const std::string& pattern : patterns) {
    if (!is_shard_index(pattern)) {
      expanded.push_back(pattern);
      continue;
    }
    for (std::string& name : names_in_index(pattern)) expanded.push_back(std::move(name));
    if (expanded.size() > kMostNames) throw UsageError(option, ": too many names in indices");
  }
  return find_all(expanded, option);
}

}  // namespace levin::data
