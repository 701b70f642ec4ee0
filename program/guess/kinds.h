#pragma once
#include <levin/data/datasets/readers/mask_pairs.h>
#include <levin/program/guess/guess.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The kinds of data that `guess` tells apart; each looks by the readers that train. What they cannot read becomes a
/// fault.
namespace levin::cli {

using Paths = std::vector<std::filesystem::path>;

/// A folder with one subfolder for each class, or with train, val and test.
Guess guess_images(const std::filesystem::path& root, const GuessOptions& options);
/// Files of COCO's format for object detection, one for each part, and the folders of their images, which lie in or
/// beside them: `train2017` for `annotations/instances_train2017.json`.
Guess guess_boxes(const Paths& files, const GuessOptions& options);
/// Returns the files of this format in a folder and in `annotations` below it.
Paths coco_files(const std::filesystem::path& folder);
bool is_coco_file(const std::filesystem::path& file);
/// Returns where the images and masks below a folder are, if it has folders with usual names for them.
std::optional<data::MaskFolders> mask_folders(const std::filesystem::path& root);
Guess guess_masks(const data::MaskFolders& folders, const GuessOptions& options);
/// Returns whether a CSV file lists images: a column of their paths, and others.
bool is_image_list(const std::filesystem::path& file);
Guess guess_image_list(const std::filesystem::path& file, const GuessOptions& options);
/// CSV files: one, or one for each part (train.csv, val.csv, test.csv).
Guess guess_table(const Paths& files, const GuessOptions& options);
/// Files of tables that the data module `format` reads, Parquet, Hdf5 or JsonLines: those of the training, and other
/// parts.
Guess guess_columns(const Paths& files, const std::string& format, const GuessOptions& options);
Guess guess_text(const std::filesystem::path& file, const GuessOptions& options);
/// .npy files, inputs and targets, or .npz files with both; of one or more parts.
Guess guess_arrays(const Paths& files, const GuessOptions& options);
/// Returns, of the arrays in a file's folder, that file and those that go with it: its targets or its inputs, and other
/// parts.
Paths beside_array(const std::filesystem::path& file, const Paths& all);
/// Tar files of one or more parts.
Guess guess_shards(const Paths& files, const GuessOptions& options);

}  // namespace levin::cli
