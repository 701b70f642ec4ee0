#pragma once
#include <levin/core/ranks/process_group.h>
#include <levin/modules/parallel/sharding/watched_memory.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace levin::parallel {

struct ShardedConstructionOptions {
  /// Bytes of new tensors that are whole at a time, beside those that an operation uses.
  size_t whole_bytes = size_t{64} << 20;
  /// Smaller tensors stay whole.
  size_t least_bytes = size_t{64} << 10;
};

/// Builds a model that would not fit on one rank. Each rank runs the same operations, such as those of the constructors
/// of layers; of the tensors that they make, each rank keeps a slice of as many bytes as the others, with the values
/// that rank 0 has computed. An operation that uses such a tensor again finds it whole.
///
///     levin::parallel::ShardedConstruction construction(group);
///     const levin::parallel::WatchScope watched;
///     {
///       const levin::parallel::NewTensorsScope scope(construction);
///       net = register_module("net", MyNet());
///     }
///     construction.divide();
///     levin::parallel::ShardedModule sharded(*this, group);
///     construction.make_whole();  // what is no parameter: large buffers
class ShardedConstruction final : public NewTensors {
 public:
  /// `group` must outlive the object, which must outlive the tensors unless they are made whole or part of a
  /// ShardedModule.
  explicit ShardedConstruction(ProcessGroup& group, ShardedConstructionOptions options = {});
  /// Tensors that are still divided have no memory afterwards.
  ~ShardedConstruction() override;
  ShardedConstruction(const ShardedConstruction&) = delete;
  ShardedConstruction& operator=(const ShardedConstruction&) = delete;

  void made(const at::Tensor& tensor) override;
  /// Leaves no more than its slice of each tensor on each rank. Collective: all ranks call it.
  void divide();
  /// Gives the tensors that still live whole memory of their own, for good. Collective: all ranks call it.
  void make_whole();

 private:
  class Slices;

  /// Divides tensors until `bytes` more fit among those that are whole. Collective.
  void make_room(size_t bytes);
  void forget_unused();

  ProcessGroup& group_;
  ShardedConstructionOptions options_;
  std::vector<std::unique_ptr<Slices>> tensors_;
};

}  // namespace levin::parallel
