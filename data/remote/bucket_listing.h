#pragma once
#include <levin/data/remote/remote_object.h>

#include <span>
#include <string>

namespace levin {

/// Returns the objects below a folder of a bucket, sorted by URL; none if there is no such folder. A process lists a
/// folder once, and folders in it not at all: it reads one version of the files. The objects stay. Thread-safe. Throws
/// as list_remote_objects.
std::span<const RemoteObject> objects_below(const std::string& folder);

/// Returns the object of this URL in the listings so far; null if none of them has it.
const RemoteObject* listed_object(const std::string& url);

/// Returns an object of a listing, or else asks the server, once for the life of the process. Thread-safe. Throws as
/// find_remote_object.
RemoteObject known_object(const std::string& url);

}  // namespace levin
