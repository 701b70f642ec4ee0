#pragma once
#include <cstdint>
#include <string_view>

namespace levin::data {

inline constexpr int64_t kUpright = 1;  ///< the orientation of an image that is shown as it is stored

/// Returns the EXIF orientation of a JPEG, PNG, WebP or TIFF file, 1 to 8; kUpright for files that tell none.
/// Format: Exif 2.3, section 4.6.4; PNG third edition, section 11.3.4.3; the WebP container's EXIF chunk.
int64_t exif_orientation(std::string_view file);

}  // namespace levin::data
