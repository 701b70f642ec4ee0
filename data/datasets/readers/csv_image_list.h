#pragma once
#include <levin/core/options/choice.h>
#include <levin/core/options/option.h>
#include <levin/data/datasets/readers/image_list.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace levin {
namespace data {

/// What the targets of images are: one class each, any number of labels, or numbers.
enum class ImageTargetType : uint8_t { Class, Labels, Number };

}  // namespace data

template <>
inline constexpr auto kWords<data::ImageTargetType> =
    words_of<data::ImageTargetType>({{"class", data::ImageTargetType::Class},
                                     {"labels", data::ImageTargetType::Labels},
                                     {"number", data::ImageTargetType::Number}});

namespace data {

/// How a CSV list of images is read.
struct CsvImageListOptions {
  std::string root = LEVIN_OPTION(root, "", "Folder that the paths begin in; empty: that of the CSV file");
  std::string path = LEVIN_OPTION(path, "path", "Column of the images' paths");
  std::vector<std::string> target =
      LEVIN_OPTION(target, {"label"}, "Column of the target; or several, of 0 and 1 for labels, or of numbers");
  Choice<ImageTargetType> target_type = LEVIN_OPTION(
      target_type, ImageTargetType::Class, "What is learned of an image: one class, any number of labels, or numbers");
  std::string label_separator = LEVIN_OPTION(
      label_separator, " ", "With target_type labels and one column: the character between the labels of an image");
  std::vector<std::string> classes = LEVIN_OPTION(
      classes, {},
      "Names of the classes or labels, in the order of their numbers; empty: those of the training rows, sorted");
  std::string delimiter = LEVIN_OPTION(delimiter, ",", "The character between two fields");
  bool header = LEVIN_OPTION(header, true, "The first line names the columns; otherwise their names are 0, 1, ...");
};

/// Reads a CSV list of images: paths, and targets unless `has_targets` is false.
///
/// Targets are int64 [images], classes; float32 [images, labels], 1 for those that hold; or float32 [images] or
/// [images, columns], numbers. `options.classes`, or else the names in the file, order classes and labels; names that
/// are all whole numbers are sorted as numbers. Labels of several columns have the columns' names. Throws
/// levin::UsageError that names file, line and column: see CsvReader; also for an image that does not exist, a class
/// that `options.classes` lacks, a value that is no number or, of a label, neither 0 nor 1, and a file without rows.
ImageList read_csv_image_list(const std::filesystem::path& file, const CsvImageListOptions& options, bool has_targets);

}  // namespace data
}  // namespace levin
