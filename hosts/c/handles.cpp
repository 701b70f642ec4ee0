#include <levin/hosts/c/handles.h>

#include <atomic>

namespace levin::c {

uintptr_t next_handle_number() {
  static std::atomic<uintptr_t> newest = 0;
  return ++newest;
}

}  // namespace levin::c
