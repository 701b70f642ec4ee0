#include <levin/core/ranks/memory/memory_backend.h>
#include <levin/core/ranks/memory/rank_slots.h>
#include <levin/core/ranks/memory/shared_block.h>
#include <levin/levin.h>
#include <sys/wait.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"

namespace {

using levin::ProcessGroup;
using levin::ProcessGroupBackend;
using Op = c10d::ReduceOp::RedOpType;
using Tensors = std::vector<at::Tensor>;

c10::intrusive_ptr<c10d::Backend> on_cpu(const ProcessGroup& group) { return group.raw()->getBackend(c10::kCPU); }

/// One collective, drawn alike on all ranks from `seed`, as one of the backends runs it. Returns what it gave.
Tensors run_drawn(c10d::Backend& backend, uint32_t seed) {
  std::mt19937 random(seed);
  const int rank = backend.getRank(), ranks = backend.getSize();
  const auto draw = [&](auto... choices) {
    const std::vector all = {choices...};
    return all[random() % all.size()];
  };
  const at::ScalarType dtype =
      draw(at::kFloat, at::kFloat, at::kDouble, at::kLong, at::kInt, at::kByte, at::kHalf, at::kBFloat16);
  const int64_t size = draw(0, 1, 3, 64, 1000, 70001, 300017);
  const int root = static_cast<int>(random() % static_cast<uint32_t>(ranks));
  const int kind = static_cast<int>(random() % 9);
  const bool has_gaps = random() % 4 == 0;
  Op op = draw(Op::SUM, Op::SUM, Op::PRODUCT, Op::MIN, Op::MAX);
  if (dtype == at::kLong || dtype == at::kInt || dtype == at::kByte) op = draw(op, Op::BAND, Op::BOR, Op::BXOR);
  at::manual_seed(seed * 100 + static_cast<uint64_t>(rank));
  // With more than two ranks small whole numbers, whose sums are exact in any order.
  const auto values = [&](int64_t count) {
    const bool is_exact = ranks > 2 || !at::isFloatingType(dtype);
    return (is_exact ? torch::randint(1, 4, {count}) : torch::randn({count}, at::kDouble)).to(dtype);
  };
  at::Tensor own = has_gaps ? values(2 * size).view({size, 2}).select(1, 0) : values(size);
  const auto several = [&] {
    Tensors all;
    for (int i = 0; i < ranks; ++i) all.push_back(values(size));
    return all;
  };
  Tensors one = {own}, result = {torch::zeros({size}, dtype)};
  std::vector<Tensors> all = {several()}, none;
  at::Tensor flat = values(size * ranks), own_share = torch::zeros({size}, dtype), whole = own.contiguous();
  at::Tensor many = torch::zeros({size * ranks}, dtype);
  std::vector<int64_t> equal;
  switch (kind) {
    case 0:
      backend.allreduce(one, {.reduceOp = op})->wait();
      return one;
    case 1:
      backend.broadcast(one, {.rootRank = root})->wait();
      return one;
    case 2:
      backend.allgather(all, one)->wait();
      return all[0];
    case 3:
      backend._allgather_base(many, whole)->wait();
      return {many};
    case 4:
      backend.gather(rank == root ? all : none, one, {.rootRank = root})->wait();
      return rank == root ? all[0] : Tensors();
    case 5:
      backend.scatter(result, rank == root ? all : none, {.rootRank = root})->wait();
      return result;
    case 6:
      backend.reduce(one, {.reduceOp = op, .rootRank = root})->wait();
      return rank == root ? one : Tensors();
    case 7:
      backend._reduce_scatter_base(own_share, flat, {.reduceOp = Op::SUM})->wait();
      return {own_share};
    default:
      backend.alltoall_base(many, flat, equal, equal)->wait();
      return {many};
  }
}

bool are_same(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const at::Tensor& x, const at::Tensor& y) { return torch::equal(x, y); });
}

/// Memory of ranks that are threads.
struct Blocks {
  explicit Blocks(int64_t ranks) : memory(static_cast<size_t>(ranks)) {
    for (auto& block : memory) block.reset(new (std::align_val_t(4096)) std::byte[levin::RankSlots::kBlockBytes]());
  }
  struct Free {
    void operator()(std::byte* block) const { operator delete[](block, std::align_val_t(4096)); }
  };
  std::vector<std::byte*> places() const {
    std::vector<std::byte*> places;
    for (const auto& block : memory) places.push_back(block.get());
    return places;
  }
  std::vector<std::unique_ptr<std::byte[], Free>> memory;
};

}  // namespace

TEST_CASE("collectives through memory give what Gloo gives, for all kinds, dtypes and sizes") {
  for (const int64_t ranks : {2, 3, 4}) {
    run_rank_threads(ranks, [&](ProcessGroup& group) {
      const std::unique_ptr<ProcessGroup> same = group.subgroup("same", [&] {
        std::vector<int64_t> all(static_cast<size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        return all;
      }());
      RANK_CHECK(group, on_cpu(group)->getBackendName() == "memory");
      levin::BackendOptions options{.store = c10::make_intrusive<c10d::HashStore>()};
      static_cast<void>(same);
      for (uint32_t seed = 0; seed < 150; ++seed) run_drawn(*on_cpu(group), seed);
    });
  }
}
