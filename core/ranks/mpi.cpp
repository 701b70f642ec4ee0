#include <levin/core/ranks/mpi.h>
#include <dlfcn.h>
#include <levin/core/ranks/c_ranks.h>
#include <levin/core/system/error.h>
#include <levin/core/system/open_library.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace levin {
namespace {

constexpr const char* kLibrary = "liblevin_mpi.so";
constexpr const char* kHowToGetMpi =
    "build levin where CMake finds MPI (Debian's libopenmpi-dev or libmpich-dev), or compile levin_mpi.c (hosts/mpi, "
    "or share/levin/mpi) with mpicc -shared -fPIC; the variable LEVIN_MODULES names the library's folder";

/// The functions of liblevin_mpi.so (levin_mpi.h).
struct MpiLibrary {
  levin_status (*start)(int32_t rank, int32_t size, levin_ranks* ranks) = nullptr;
  void (*finish)() = nullptr;
  const char* (*error)() = nullptr;
};

template <class Function>
void find_function(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr)
    throw UsageError("process_group_backend mpi: ", kLibrary, " has no ", name, ": it belongs to another levin; ",
                     kHowToGetMpi);
}

MpiLibrary open_mpi_library() {
  void* const library = open_library(kLibrary, kHowToGetMpi);
  if (library == nullptr)
    throw UsageError("process_group_backend mpi: there is no ", kLibrary, " beside this levin; ", kHowToGetMpi,
                     "; or leave it at auto: ranks that mpirun has started communicate without MPI too");
  MpiLibrary found;
  find_function(library, "levin_mpi_start", found.start);
  find_function(library, "levin_mpi_finish", found.finish);
  find_function(library, "levin_mpi_error", found.error);
  return found;
}

const MpiLibrary& mpi_library() {
  static const MpiLibrary opened = open_mpi_library();
  return opened;
}

void finish_at_exit(int status, void*) {
  if (status == 0) mpi_library().finish();
}

/// Throws levin::UsageError with the ranks that have not come within the timeout.
void meet_at_store(const BackendOptions& options) {
  std::vector<std::string> places;
  for (int64_t rank = 0; rank < options.world_size; ++rank) places.push_back("starts_mpi/" + std::to_string(rank));
  options.store->set(places[static_cast<size_t>(options.rank)], std::vector<uint8_t>{1});
  try {
    options.store->wait(places, options.timeout);
  } catch (const std::exception&) {
    std::string missing;
    for (int64_t rank = 0; rank < options.world_size; ++rank)
      if (!options.store->check({places[static_cast<size_t>(rank)]})) missing += " " + std::to_string(rank);
    throw UsageError("rank ", options.rank, " of ", options.world_size, " has waited ", options.timeout.count(),
                     " ms for all ranks to start MPI; these did not come:", missing);
  }
}

}  // namespace

std::shared_ptr<HostTransport> join_mpi(const BackendOptions& options) {
  const MpiLibrary& mpi = mpi_library();
  meet_at_store(options);
  levin_ranks ranks = LEVIN_INIT(levin_ranks);
  if (mpi.start(static_cast<int32_t>(options.rank), static_cast<int32_t>(options.world_size), &ranks) != LEVIN_OK)
    throw UsageError("process_group_backend mpi: ", mpi.error());
  static const int registered = ::on_exit(finish_at_exit, nullptr);
  static_cast<void>(registered);
  return c::transport_of(ranks);
}

}  // namespace levin
