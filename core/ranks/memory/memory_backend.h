#pragma once
#include <levin/core/ranks/memory/collective_queue.h>
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <memory>

namespace levin {

/// Makes the backend of ranks that exchange tensors on the CPU through memory that they share. What ranks rarely do
/// (send and receive, sparse tensors, shares of different sizes) goes through `other`.
c10::intrusive_ptr<c10d::Backend> make_memory_backend(std::shared_ptr<CollectiveQueue> queue,
                                                      const BackendOptions& options,
                                                      c10::intrusive_ptr<c10d::Backend> other);

}  // namespace levin
