#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace levin::data {

/// What the pixels of a mask mean.
struct ClassMaskOptions {
  /// The colours of the classes, in their order, as numbers 0xrrggbb; empty: a mask holds the numbers of classes.
  std::vector<int64_t> colours = {};
  std::optional<int64_t> ignored = {};  ///< the class that does not count
  std::optional<int64_t> classes = {};  ///< how many there are; unset: any number
};

/// Returns colours written as "#rrggbb". Throws levin::UsageError that begins with `option` for other texts.
std::vector<int64_t> parse_colours(const std::vector<std::string>& texts, const std::string& option);

/// Reads a mask: the class of each pixel, int64 [height, width], and kIgnoredTarget where the class is ignored.
///
/// A PNG or TIFF of gray or of a palette holds numbers of classes, of 1 to 16 bits. A mask of colours needs `colours`,
/// and then a palette's colours count too. Throws levin::UsageError that names the file: as read_image; for a format
/// that is lossy; for colours without a class; and for a class beyond `classes`.
at::Tensor read_class_mask(const std::filesystem::path& path, const ClassMaskOptions& options);
/// Decodes the bytes of such a file; `name` is used in messages.
at::Tensor decode_class_mask(std::string_view bytes, const std::string& name, const ClassMaskOptions& options);
/// Returns a mask of numbers, int64 [height, width] and contiguous, with kIgnoredTarget where the class is ignored; in
/// place. Throws levin::UsageError that begins with `name` for a class below 0 or beyond `classes`.
at::Tensor checked_class_mask(at::Tensor mask, const ClassMaskOptions& options, const std::string& name);

}  // namespace levin::data
