#include <levin/data/datasets/readers/image_places.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/readers/image_files.h>
#include <levin/data/datasets/readers/shard_cache.h>
#include <levin/data/download/cache_folder.h>
#include <levin/data/download/shown_url.h>
#include <levin/data/files/image_file.h>
#include <levin/data/remote/bucket_listing.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/remote_options.h>
#include <levin/data/remote/remote_url.h>

#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

namespace levin::data {
namespace {

namespace fs = std::filesystem;

bool is_of_bucket(const fs::path& place) { return is_on_server(place) && parse_remote_url(place.native()).is_bucket(); }

/// Returns a copy of an object in the cache, which stays as long as it is held.
MappedFilePtr cached_image(const std::string& url) {
  static ShardCache cache(cache_folder() / "streams", cache_bytes());
  return cache.get(known_object(url), shown_url(url), /*urgent=*/true, [] { return false; });
}

}  // namespace

fs::path image_place(const fs::path& given) { return is_on_server(given) ? given : local_path(given); }

bool is_image_folder(const fs::path& place) {
  if (is_of_bucket(place)) return !objects_below(place.native()).empty();
  std::error_code ignored;
  return !is_on_server(place) && fs::is_directory(place, ignored);
}

bool image_place_exists(const fs::path& place) {
  std::error_code ignored;
  if (!is_on_server(place)) return fs::exists(place, ignored);
  return !is_of_bucket(place) || listed_object(place.native()) != nullptr || is_image_folder(place);
}

at::Tensor read_placed_image(const fs::path& place, const ImageOptions& options) {
  if (!is_on_server(place)) return read_image(place, options);
  const MappedFilePtr file = cached_image(place.native());
  return decode_image(file->text(), file->path().string(), options);
}

std::vector<std::string> images_named(const std::string& text, const std::string& option) {
  std::error_code ignored;
  std::vector<std::string> places;
  if (fs::exists(text, ignored)) {
    places.push_back(text);
  } else {
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) places.push_back(image_place(part).string());
  }
  std::vector<std::string> images;
  for (std::string& place : places) {
    if (is_image_folder(place)) {
      std::ranges::move(find_images(place), std::back_inserter(images));
    } else if (is_on_server(place) || fs::exists(place, ignored)) {
      images.push_back(std::move(place));
    } else {
      throw UsageError(option, ": no folder or file ", place, "; give the images, or the folder with them");
    }
  }
  return images;
}

}  // namespace levin::data
