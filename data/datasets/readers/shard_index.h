#pragma once
#include <string>
#include <vector>

namespace levin::data {

/// Returns whether a path or URL is that of an index of shards: it ends with .txt or .json.
bool is_shard_index(const std::string& place);

/// Returns the shards that an index names, relative to its own folder unless they are whole paths or URLs: lines of
/// text, of which empty ones and those with a # in front are skipped; in JSON a list of names, or the object
/// {"shardlist": [{"url": ...}, ...]} that WebDataset's tools write. Throws levin::UsageError that names the index for
/// another content and for more than 64 MB; for a URL as find_remote_object.
std::vector<std::string> names_in_index(const std::string& index);

}  // namespace levin::data
