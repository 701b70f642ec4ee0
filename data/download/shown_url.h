#pragma once
#include <string>
#include <string_view>

namespace levin::data {

/// Returns a URL for messages: without user and password, and without the query, which may hold a signature. A URL of a
/// bucket (s3, gs) has no query: there `?` is a letter of the key. Other texts come back as they are.
std::string shown_url(std::string_view url);

}  // namespace levin::data
