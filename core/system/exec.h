#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace levin {

/// Returns the environment of this process, as exec takes it, with `values` in place of its own.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& values);
/// Returns pointers for exec, with a null at the end. `texts` must outlive them.
std::vector<char*> exec_pointers(std::vector<std::string>& texts);
/// In a forked process: gives it a group of its own, and lets the system kill it when its parent ends, `parent`. Like
/// all between fork and exec it allocates nothing, since another thread may have held a lock.
void follow_parent(::pid_t parent);

}  // namespace levin
