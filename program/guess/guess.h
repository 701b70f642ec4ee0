#pragma once
#include <levin/program/guess/commented_config.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin::cli {

/// What is wrong with data, with its place, and what to do about it; the advice is empty if `what` has it.
struct Fault {
  std::string what = {}, advice = {};
};

/// What was seen of data, and the config that trains on them.
struct Guess {
  std::string kind = {};
  std::vector<std::string> seen = {};  ///< one line each
  std::vector<Fault> broken = {};      ///< the config trains in spite of these
  std::vector<Fault> stops = {};       ///< nothing trains before these are repaired
  CommentedConfig config = {};         ///< empty if there are `stops`
};

struct GuessOptions {
  std::string target = {};  ///< the column or the file of the targets; empty: guessed
  bool all = false;         ///< look at every image and sample; otherwise at no more than kMostLooks of each part
};

inline constexpr int64_t kMostLooks = 2000;

/// Looks at a folder or a file: images in folders of their classes, a table (CSV, Parquet, HDF5, JSON
/// lines), a text, arrays (.npy, .npz), or tar
/// files. Throws UsageError, which says what to do, if it is missing, empty, or of no such kind.
Guess guess(const std::filesystem::path& path, const GuessOptions& options);

}  // namespace levin::cli
