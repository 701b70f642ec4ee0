#pragma once
#include <levin/core/ranks/process_group.h>

#include <cstdint>
#include <memory>

namespace levin {

/// The processes of a run as a mesh of two dimensions: those that follow each other are a tensor group, whose members
/// hold parts of the same layers and compute the same batches; and those with the same place in their tensor groups are
/// the data-parallel ranks, which compute different batches.
class RankMesh {
 public:
  /// `tensor`: processes of a tensor group. `all` must outlive the mesh. Collective: all processes call it. Throws
  /// levin::UsageError if tensor groups of that size do not divide the processes.
  RankMesh(ProcessGroup& all, int64_t tensor);
  ~RankMesh();

  ProcessGroup& all() const { return all_; }
  /// Returns this process's data-parallel ranks.
  ProcessGroup& data() const { return *data_; }
  /// Returns this process's tensor group; layers keep it beyond the run.
  const std::shared_ptr<ProcessGroup>& tensor() const { return tensor_; }
  /// Returns the collectives of the data-parallel ranks, for a run: a maximum, a minimum and what rank 0 broadcasts are
  /// the same on all processes.
  Comm& comm() const;

 private:
  class MeshComm;
  ProcessGroup& all_;
  std::unique_ptr<ProcessGroup> data_;
  std::shared_ptr<ProcessGroup> tensor_;
  std::unique_ptr<MeshComm> comm_;
};

}  // namespace levin
