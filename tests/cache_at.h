#pragma once
#include <cstdlib>
#include <filesystem>

/// While it lives, this folder is the cache folder for datasets and downloads.
class CacheAt {
 public:
  explicit CacheAt(const std::filesystem::path& folder) { setenv("LEVIN_CACHE", folder.c_str(), 1); }
  ~CacheAt() { unsetenv("LEVIN_CACHE"); }
  CacheAt(const CacheAt&) = delete;
  CacheAt& operator=(const CacheAt&) = delete;
};
