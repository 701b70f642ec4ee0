#pragma once
#include <levin/core/system/counted.h>
#include <levin/core/system/error.h>
#include <levin/program/guess/guess.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

/// What the kinds of data share.
namespace levin::cli {

inline constexpr int64_t kGuessedBatch = 32;  ///< samples of a batch
inline constexpr int64_t kGuessedTableEpochs = 50, kGuessedArrayEpochs = 20;
inline constexpr int64_t kMostSide = 224;  ///< pixels of an image that a network is made for

/// The parts of data that files are named after.
enum class Part { Train, Val, Test };

/// The words of a file's name, in lower case: "X_train.npy" has "x" and "train".
std::vector<std::string> words_of_name(const std::filesystem::path& file);
/// Returns the extension of a file, in lower case: ".jpg", ".tar.gz".
std::string extension_of(const std::filesystem::path& file);
/// Returns the part that a word of the file's name tells: train; val, valid, validation, dev; test. Otherwise Train.
Part part_of(const std::filesystem::path& file);

/// Returns whether a file cannot be read because this levin is built without a library; `error` then says what to do.
bool lacks_library(const UsageError& error);
/// Returns the fault of a file that cannot be read, with the advice unless the error has its own.
Fault fault_of(const UsageError& error, const std::string& advice);

/// Returns "cat 3, dog 4"; of many entries the first, and how many more there are.
std::string listed(const std::vector<std::pair<std::string, int64_t>>& counts);
/// Returns the texts with commas; of many the first, and how many more there are.
std::string listed(const std::vector<std::string>& texts);

/// Returns at most `most` indices below `count`, evenly spread.
std::vector<size_t> spread(size_t count, size_t most);
/// Returns as many as the options ask for.
std::vector<size_t> to_look_at(size_t count, const GuessOptions& options);

/// Returns the side of the squares that images are resized to, near the median of their shorter sides: from 32 to
/// kMostSide; small images that are all alike keep theirs. There is at least one.
int64_t common_side(std::vector<int64_t> shorter_sides);

/// Sets the top of the config and the length of the training.
void set_training(CommentedConfig& config, const std::string& name, int64_t epochs);
/// Sets a callback that keeps the checkpoint with the least validation loss.
void set_best_checkpoint(CommentedConfig& config);
/// Sets the part of `samples` that is drawn for validation, if there are enough, and keeps the best checkpoint.
void set_val_fraction(CommentedConfig& config, int64_t samples);
/// Sets the optimizer of the model.
void set_optimizer(CommentedConfig& config);
/// Sets a network for images of this shape (channels, height, width). Returns its name.
std::string set_image_model(CommentedConfig& config, const std::vector<int64_t>& shape, int64_t classes);

}  // namespace levin::cli
