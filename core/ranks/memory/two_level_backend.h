#pragma once
#include <levin/core/ranks/memory/collective_queue.h>
#include <levin/core/ranks/process_group_backends.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace levin {

/// What the ranks of several machines exchange tensors by.
struct TwoLevelParts {
  std::vector<std::vector<int64_t>> machines = {};  ///< the ranks of each, in order
  size_t machine = 0, index = 0;                    ///< this rank's machine, and its place there
  std::shared_ptr<CollectiveQueue> queue = {};      ///< of `inside`
  c10::intrusive_ptr<c10d::Backend> inside = {};    ///< of this machine's ranks; null if there is one alone
  c10::intrusive_ptr<c10d::Backend> between = {};   ///< of the first rank of each machine; null on the others
};

/// Makes the backend of ranks on several machines: sums, broadcasts, gathers to all and barriers go through memory
/// inside of each machine, and between the first ranks of the machines over Gloo. A thread runs them in their order.
/// All else goes through `other`.
c10::intrusive_ptr<c10d::Backend> make_two_level_backend(const BackendOptions& options, TwoLevelParts parts,
                                                         c10::intrusive_ptr<c10d::Backend> other);

}  // namespace levin
