#pragma once
#include <filesystem>
#include <string>

namespace levin {

/// Writes a local file to a bucket: in one part, or in several if it is larger than 16 MB. The object is complete or
/// absent at every moment; one of the same name stays until the new one is complete. The server checks each part by its
/// SHA-256, and levin the ETag that comes back and the size. Parts are sent again after passing failures; a signal does
/// not end an upload. Throws levin::UsageError without permission and for a URL that is none of a bucket, levin::Error
/// if the server cannot be reached, fails or reports other bytes; what has been sent is then removed.
void upload_file(const std::filesystem::path& file, const std::string& url);

/// Throws as upload_file, beginning with `option`, unless objects can be written to the folder of a bucket. Nothing is
/// left there.
void check_can_upload(const std::string& option, const std::string& folder);

/// Returns whether an object of this name is in the bucket; false also if that may not be asked. Throws as upload_file.
bool is_in_bucket(const std::string& url);

/// Removes an object of a bucket, if it is there. Throws as upload_file.
void remove_remote_object(const std::string& url);

}  // namespace levin
