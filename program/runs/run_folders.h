#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace levin::runs {

/// The files of a run that hold its metrics.
inline constexpr const char *kMetricLines = "metrics.jsonl", *kMetricTable = "metrics.csv";

/// Returns whether levin wrote the folder of a run here.
bool is_run_folder(const std::filesystem::path& folder);

/// Throws levin::UsageError, which begins with `who` ("levin ls: "), if there is no such folder on this machine.
void require_folder(const std::string& who, const std::filesystem::path& folder);

/// Throws levin::UsageError if the folder is none of a run.
void require_run_folder(const std::filesystem::path& folder);

/// Returns the folders of runs in `root` and below, or `root` itself; sorted, versions by number. Folders that cannot
/// be read are left out.
std::vector<std::filesystem::path> find_run_folders(const std::filesystem::path& root);

/// Returns the folder of a run, and those of all runs below it.
std::vector<std::filesystem::path> run_folders_inside(const std::filesystem::path& folder);

}  // namespace levin::runs
