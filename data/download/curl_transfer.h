#pragma once
#include <levin/data/download/part_file.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin::data {

/// The result of one attempt to fetch the rest of a file.
struct TransferEnd {
  bool done = false;
  bool may_retry = false;
  bool unreachable = false;  ///< there was no answer
  std::string reason = {};   ///< set unless `done`
};

/// Fetches the missing bytes of `part` from `url` with libcurl and appends them. If the server does not support ranges,
/// the transfer restarts. `size` is the size of the whole file, if known; a server that reports another size ends the
/// transfer. Throws levin::Error if the part cannot be written, and on a signal.
TransferEnd fetch_rest(const std::string& url, PartFile& part, std::optional<int64_t> size, double timeout_seconds);

}  // namespace levin::data
