#pragma once
#include <levin/data/download/part_file.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin::data {

/// How one try to fetch the rest of a file ended.
struct TransferEnd {
  bool done = false;
  bool may_retry = false;
  bool unreachable = false;  ///< there was no answer at all
  std::string reason = {};   ///< unless done
};

/// Fetches what `part` lacks of the file at `url` and appends it, by libcurl. A server that knows no ranges makes it
/// begin again. `size`: of the whole file, where known; a server that says otherwise ends it.
/// Throws levin::Error where the part cannot be written, and where a signal came.
TransferEnd fetch_rest(const std::string& url, PartFile& part, std::optional<int64_t> size, double timeout_seconds);

}  // namespace levin::data
