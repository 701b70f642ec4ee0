#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace levin::data {

/// A file of a public dataset: its name after the dataset's URL, its size in bytes and its SHA-256.
struct PublicFile {
  std::string name = {};
  int64_t size = 0;
  std::string sha256 = {};
};

/// Downloads `file` from `url` (with or without a slash at its end) into `folder`; see download.
void download(const PublicFile& file, const std::string& url, const std::filesystem::path& folder);

}  // namespace levin::data
