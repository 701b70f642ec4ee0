// ThreadSanitizer looks for races in what ranks of one machine share: ranks are threads here, whose slots and tensors
// lie at the same addresses for all of them, so that it sees both sides of each access.
//
//   memory_races_test [COLLECTIVES]
//
// This file and the sources of core/ranks/memory/ are compiled with -fsanitize=thread in every build. In place of
// mappable_memory.cpp it has memory whose places are addresses: the sanitizer does not know that two mappings are one
// memory. It reads and writes tensors by loops of its own, since LibTorch's are not seen.
#include <ATen/ops/from_blob.h>
#include <levin/core/ranks/memory/collective_queue.h>
#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/ranks/memory/rank_slots.h>
#include <levin/core/system/error.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using levin::CollectiveQueue;
using levin::RankOf;
using Op = c10d::ReduceOp::RedOpType;

constexpr int64_t kMostFloats = 150000;  // above a slot, so that ranks read where it lies
constexpr std::chrono::seconds kLimit{120};

/// The memory that others may read. It is made before the ranks begin, so that looking it up orders nothing among them.
std::vector<std::pair<std::byte*, size_t>> mappable;

/// What the threads of a machine share.
struct Machine {
  explicit Machine(int64_t ranks) {
    for (auto* const blocks : {&first, &second})
      for (int64_t rank = 0; rank < ranks; ++rank) blocks->push_back(zeros(levin::RankSlots::kBlockBytes));
    mappable.clear();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      floats.push_back(zeros(kMostFloats * sizeof(float) * static_cast<size_t>(ranks)));
      mappable.emplace_back(floats.back(), kMostFloats * sizeof(float) * static_cast<size_t>(ranks));
    }
  }
  std::byte* zeros(size_t bytes) {
    memory.emplace_back(new (std::align_val_t(4096)) std::byte[bytes]());
    return memory.back().get();
  }
  struct Free {
    void operator()(std::byte* block) const { operator delete[](block, std::align_val_t(4096)); }
  };
  std::vector<std::unique_ptr<std::byte[], Free>> memory;
  std::vector<std::byte*> first, second, floats;  ///< the slots of two groups, and each rank's mappable floats
};

void require(bool holds, const std::string& what) {
  if (!holds) throw levin::Error(what);
}

/// The floats of one collective on one rank. Values are whole, so that sums are exact.
struct Floats {
  Floats(float* data, int64_t count) : values(data), size(count), tensor(at::from_blob(data, {count})) {}
  void fill(int64_t value) {
    for (int64_t i = 0; i < size; ++i) values[i] = static_cast<float>(value + i % 7);
  }
  /// Checks that each is `value`, and `times` what `fill` adds.
  void check(int64_t begin, int64_t count, int64_t value, int64_t times, int64_t first, const char* what) const {
    for (int64_t i = 0; i < count; ++i)
      require(values[begin + i] == static_cast<float>(value + times * ((first + i) % 7)), what);
  }
  std::vector<at::Tensor> shares(int64_t ranks) const {
    std::vector<at::Tensor> all;
    for (int64_t rank = 0; rank < ranks; ++rank)
      all.push_back(at::from_blob(values + rank * (size / ranks), {size / ranks}));
    return all;
  }
  float* values;
  int64_t size;
  at::Tensor tensor;
};

/// Runs collectives that are drawn alike on all ranks, in two groups, two at a time, and waits for them in either
/// order.
void run_rank(int64_t rank, int64_t ranks, int64_t count, const Machine& machine) {
  const RankOf who{rank, ranks};
  const auto queue_of = [&](const std::vector<std::byte*>& blocks) {
    return CollectiveQueue::make(std::make_unique<levin::RankSlots>(rank, blocks));
  };
  const auto first = queue_of(machine.first), second = queue_of(machine.second);
  std::vector<float> own(kMostFloats * static_cast<size_t>(ranks)), other(own.size());
  std::mt19937 random(static_cast<uint32_t>(ranks));
  float* const placed = reinterpret_cast<float*>(machine.floats[static_cast<size_t>(rank)]);
  const int64_t sum_of_ranks = ranks * (ranks - 1) / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t each = std::vector<int64_t>{1, 100, 3000, 70001, kMostFloats}[random() % 5];
    const bool is_mappable = random() % 3 != 0, waits_behind = random() % 2 != 0;
    float* const memory = is_mappable ? placed : own.data();
    Floats all(memory, each * ranks), result(other.data(), each * ranks), part(memory, each);
    Floats share(other.data(), each);
    levin::Collective collective;
    const auto kind = static_cast<int>(random() % 4);
    if (kind == 0) {
      part.fill(rank + i);
      collective = levin::all_reduce_in_memory(who, part.tensor, Op::SUM);
    } else if (kind == 1) {
      all.fill(rank + i);
      collective = levin::reduce_scatter_in_memory(who, share.tensor, all.shares(ranks), Op::SUM);
    } else if (kind == 2) {
      part.fill(rank + i);
      collective = levin::all_gather_in_memory(who, result.shares(ranks), part.tensor);
    } else {
      part.fill(rank + i);
      collective = levin::broadcast_in_memory(who, part.tensor, i % ranks);
    }
    const auto call = first->begin(std::move(collective));
    float one = 1;
    const auto small = second->begin(levin::all_reduce_in_memory(who, at::from_blob(&one, {1}), Op::SUM));
    if (waits_behind) second->finish(small, kLimit);
    first->finish(call, kLimit);
    second->finish(small, kLimit);
    require(one == static_cast<float>(ranks), "the sum of ones");
    if (kind == 0) part.check(0, each, sum_of_ranks + ranks * i, ranks, 0, "all_reduce");
    if (kind == 1) share.check(0, each, sum_of_ranks + ranks * i, ranks, rank * each, "reduce_scatter");
    for (int64_t from = 0; kind == 2 && from < ranks; ++from)
      result.check(from * each, each, from + i, 1, 0, "all_gather");
    if (kind == 3) part.check(0, each, i % ranks + i, 1, 0, "broadcast");
  }
  // The rank with the last number leaves while the others wait for it.
  if (rank == ranks - 1) return first->abort("it was enough");
  try {
    first->finish(first->begin(levin::barrier_in_memory()), kLimit);
  } catch (const std::exception& error) {
    return require(levin::message_of(error).find("it was enough") != std::string::npos, levin::message_of(error));
  }
  throw levin::Error("a rank waited for one that had left");
}

}  // namespace

namespace levin {

c10::DataPtr mappable_memory(size_t /*bytes*/) { throw Error("tests make their own"); }

MemoryPlace place_of(const void* data, size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(data);
  for (const auto& [begin, size] : mappable)
    if (first >= begin && first + bytes <= begin + size)
      return {.block_bytes = 1, .offset = static_cast<int64_t>(reinterpret_cast<intptr_t>(first))};
  return {};
}

PeerMemory::Bytes PeerMemory::map(const MemoryPlace& place, size_t /*bytes*/) {
  return {nullptr, reinterpret_cast<std::byte*>(static_cast<intptr_t>(place.offset))};
}

}  // namespace levin

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 120;
  int failures = 0;
  // The thread that continues collectives may hold a group after its ranks, and ends before these.
  static std::vector<std::unique_ptr<Machine>> machines;
  for (const int64_t ranks : {2, 3, 4}) {
    const Machine& machine = *machines.emplace_back(std::make_unique<Machine>(ranks));
    std::vector<std::string> errors(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          run_rank(rank, ranks, count, machine);
        } catch (const std::exception& error) {
          errors[static_cast<size_t>(rank)] = levin::message_of(error);
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const std::string& error = errors[static_cast<size_t>(rank)];
      if (error.empty()) continue;
      std::printf("rank %lld of %lld: %s\n", static_cast<long long>(rank), static_cast<long long>(ranks),
                  error.c_str());
      ++failures;
    }
  }
  std::printf("%lld collectives on 2, 3 and 4 ranks\n", static_cast<long long>(count));
  return failures == 0 ? 0 : 1;
}
