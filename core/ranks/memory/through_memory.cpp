#include <levin/core/ranks/memory/through_memory.h>
#include <levin/core/ranks/memory/exchange_texts.h>
#include <levin/core/ranks/memory/machine.h>
#include <levin/core/ranks/memory/memory_backend.h>
#include <levin/core/ranks/memory/two_level_backend.h>
#include <levin/core/system/console.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace levin {
namespace {

/// Returns the ranks of each machine, the machines in the order of their first ranks.
std::vector<std::vector<int64_t>> by_machine(const std::vector<std::string>& machines) {
  std::vector<std::vector<int64_t>> all;
  for (size_t rank = 0; rank < machines.size(); ++rank) {
    const auto same = std::ranges::find_if(
        all, [&](const auto& ranks) { return machines[static_cast<size_t>(ranks.front())] == machines[rank]; });
    (same == all.end() ? all.emplace_back() : *same).push_back(static_cast<int64_t>(rank));
  }
  return all;
}

/// Returns whether ranks have one network, and yet are on several machines: of several users, or in containers.
bool is_divided(const std::vector<std::string>& machines) {
  std::map<std::string, std::string> of_network;
  return std::ranges::any_of(machines, [&](const std::string& machine) {
    return of_network.emplace(network_of(machine), machine).first->second != machine;
  });
}

void tell_once(const BackendOptions& options, const char* why) {
  static std::atomic<bool> was_told = false;
  if (options.rank == 0 && !was_told.exchange(true))
    console::info(c10::str("ranks of one machine cannot share memory, since ", why, "; they exchange tensors by Gloo"));
}

BackendOptions among(const BackendOptions& options, const std::string& name, size_t rank, size_t ranks) {
  BackendOptions some = options;
  some.store = c10::make_intrusive<c10d::PrefixStore>("memory/" + name, options.store);
  some.rank = static_cast<int64_t>(rank);
  some.world_size = static_cast<int64_t>(ranks);
  return some;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> through_memory(const BackendOptions& options,
                                                 c10::intrusive_ptr<c10d::Backend> gloo) {
  const std::vector<std::string> names =
      exchange_texts(*options.store, "machine", options.rank, options.world_size,
                     options.machine.empty() ? machine_of_process() : options.machine);
  const std::vector<std::vector<int64_t>> machines = by_machine(names);
  if (is_divided(names)) tell_once(options, "they are of several users, or in containers that do not see each other");
  if (std::ranges::all_of(machines, [](const auto& ranks) { return ranks.size() == 1; })) return gloo;
  size_t machine = 0, index = 0;
  for (size_t m = 0; m < machines.size(); ++m)
    for (size_t i = 0; i < machines[m].size(); ++i)
      if (machines[m][i] == options.rank) machine = m, index = i;
  const std::vector<int64_t>& neighbours = machines[machine];
  const BackendOptions inside = among(options, c10::str("machine", machine), index, neighbours.size());
  std::unique_ptr<RankSlots> slots;
  if (neighbours.size() > 1) slots = RankSlots::meet(*inside.store, inside.rank, neighbours);
  const bool shares = slots || neighbours.size() == 1;
  for (const std::string& one :
       exchange_texts(*options.store, "shares", options.rank, options.world_size, shares ? "yes" : "no"))
    if (one != "yes") {
      tell_once(options, "the system does not let them map it (memfd_create, /proc/PID/fd, pidfd_open)");
      return gloo;
    }
  std::shared_ptr<CollectiveQueue> queue;
  if (slots) queue = CollectiveQueue::make(std::move(slots));
  if (machines.size() == 1) return make_memory_backend(std::move(queue), options, std::move(gloo));
  TwoLevelParts parts = {.machines = machines, .machine = machine, .index = index, .queue = queue};
  if (queue) parts.inside = make_memory_backend(queue, inside, gloo);
  if (index == 0) parts.between = make_gloo(among(options, "between", machine, machines.size()));
  return make_two_level_backend(options, std::move(parts), std::move(gloo));
}

}  // namespace levin
