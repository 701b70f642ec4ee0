#pragma once
#include <levin/program/guess/guess.h>

#include <filesystem>
#include <string>
#include <vector>

/// The kinds of data that `guess` tells apart; each looks by the readers that train. What they cannot read becomes a
/// fault.
namespace levin::cli {

using Paths = std::vector<std::filesystem::path>;

/// A folder with one subfolder for each class, or with train, val and test.
Guess guess_images(const std::filesystem::path& root, const GuessOptions& options);
/// CSV files: one, or one for each part (train.csv, val.csv, test.csv).
Guess guess_table(const Paths& files, const GuessOptions& options);
Guess guess_text(const std::filesystem::path& file, const GuessOptions& options);
/// .npy files, inputs and targets, or .npz files with both; of one or more parts.
Guess guess_arrays(const Paths& files, const GuessOptions& options);
/// Returns, of the arrays in a file's folder, that file and those that go with it: its targets or its inputs, and other
/// parts.
Paths beside_array(const std::filesystem::path& file, const Paths& all);
/// Tar files of one or more parts.
Guess guess_shards(const Paths& files, const GuessOptions& options);

}  // namespace levin::cli
