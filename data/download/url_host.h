#pragma once
#include <string>

namespace levin::data {

/// Returns the host of a URL, or the URL itself if it has none.
std::string host_of(const std::string& url);

}  // namespace levin::data
