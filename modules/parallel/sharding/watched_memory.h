#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <memory>

namespace levin::parallel {

/// This rank's elements of a tensor that is divided among ranks.
struct OwnPart {
  at::Tensor values = {};  ///< 1-dimensional, may be empty; undefined if the tensor is not divided
  int64_t begin = 0;       ///< the first, counted from the tensor's first element in memory
  int64_t in_shard = 0;    ///< the first, counted from this rank's shard of the block that the tensor lies in
};

/// Memory that is filled right before an operation of LibTorch uses it and may be emptied after that. Tensors over its
/// storage keep their sizes while it is empty; reading them outside of a WatchScope is then LibTorch's error for memory
/// that is not allocated.
class WatchedMemory {
 public:
  virtual ~WatchedMemory() = default;
  /// Called before an operation that reads or writes the memory. An exception goes to the operation's caller.
  virtual void begin_use() = 0;
  /// Called after it, also if it threw. `written`: it may have changed the memory.
  virtual void end_use(bool written) noexcept = 0;
  /// Returns this rank's elements of a tensor over the memory; they are there while the memory is empty, too.
  virtual OwnPart own_part(const at::Tensor& /*tensor*/) const { return {}; }
  /// Called after someone has changed own parts. All ranks do so at the same place.
  virtual void own_parts_changed() {}
};

/// Returns this rank's elements of a tensor, if it has memory that is divided among ranks.
OwnPart own_part(const at::Tensor& tensor);
/// To be called after own parts of the tensor have changed: the next operation finds the new values. Collective: all
/// ranks call it.
void own_part_changed(const at::Tensor& tensor);

/// Gives a storage the memory at `data`, or none if `data` is null. `owner` is told before operations use it.
void set_watched(const at::Storage& storage, WatchedMemory& owner, void* data);
/// Gives a storage without memory an owner that ends with it.
void give_watched(const at::Storage& storage, std::unique_ptr<WatchedMemory> owner);
/// Gives a storage that has an owner the memory at `data`, or none if `data` is null.
void set_watched_data(c10::StorageImpl& storage, void* data);
/// Gives a storage memory of its own, which is not watched. Its content is undefined.
void set_unwatched(const at::Storage& storage);

/// While it lives, the operations of this thread tell the memories that they use, as do those of backward passes that
/// begin in it. An operation that another one calls tells nothing: what is used stays in use until the outer one ends.
/// Views (`t`, `detach`, ...) use no memory.
class WatchScope {
 public:
  WatchScope();

 private:
  c10::impl::IncludeDispatchKeyGuard included_;
};

/// Keeps the memory of a tensor in use while it lives, as an operation does while it runs. A tensor whose memory is not
/// watched is left alone.
class MemoryUse {
 public:
  explicit MemoryUse(const at::Tensor& tensor);
  ~MemoryUse();
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;

 private:
  WatchedMemory* memory_;
};

/// The object that is told of tensors with memory of their own that operations make.
class NewTensors {
 public:
  virtual ~NewTensors() = default;
  virtual void made(const at::Tensor& tensor) = 0;
};

/// While it lives, operations of this thread that run in a WatchScope tell `listener` what they make; one that another
/// operation calls does not.
class NewTensorsScope {
 public:
  explicit NewTensorsScope(NewTensors& listener);
  ~NewTensorsScope();
  NewTensorsScope(const NewTensorsScope&) = delete;
  NewTensorsScope& operator=(const NewTensorsScope&) = delete;

 private:
  NewTensors* outer_;
};

/// While it lives, operations of this thread tell nothing.
class UnwatchedScope {
 public:
  UnwatchedScope();

 private:
  c10::impl::ExcludeDispatchKeyGuard excluded_;
};

}  // namespace levin::parallel
