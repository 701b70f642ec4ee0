#pragma once
#include <ATen/core/Tensor.h>
#include <levin/data/files/image_codecs.h>

#include <filesystem>
#include <string>
#include <vector>

namespace levin::data {

/// Images and their folders lie in folders of this machine or of a bucket, or are files of a web server. The functions
/// below take paths and URLs alike; those of a bucket throw as objects_below.

/// Returns the path in a file URL, and other places as they are.
std::filesystem::path image_place(const std::filesystem::path& given);
bool is_image_folder(const std::filesystem::path& place);
/// Returns whether there is a file or a folder. The files of a web server, and of a bucket's folder that was not
/// listed, are taken to be there: whether they are is seen when they are read.
bool image_place_exists(const std::filesystem::path& place);

/// Reads an image as read_image. One of a server is fetched to the cache folder that streams use, once for each version
/// and for all processes of a machine. Throws as read_image, find_remote_object and fetch_remote_object.
at::Tensor read_placed_image(const std::filesystem::path& place, const ImageOptions& options = {});

/// Returns the images that a text names: a folder's, a file, or several of these with commas between. Throws
/// levin::UsageError that begins with `option` for a place that does not exist.
std::vector<std::string> images_named(const std::string& text, const std::string& option);

}  // namespace levin::data
