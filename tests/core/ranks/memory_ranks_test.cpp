#include <ATen/CPUGeneratorImpl.h>
#include <levin/core/ranks/memory/collective_queue.h>
#include <levin/core/ranks/memory/mappable_memory.h>
#include <levin/core/ranks/memory/rank_slots.h>
#include <levin/core/ranks/memory/shared_block.h>
#include <levin/core/ranks/memory/through_memory.h>
#include <levin/levin.h>
#include <sys/wait.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/captured_stderr.h"
#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/ranks/rank_threads.h"

namespace {

using levin::ProcessGroup;
using levin::ProcessGroupBackend;
using Op = c10d::ReduceOp::RedOpType;
using Tensors = std::vector<at::Tensor>;

c10::intrusive_ptr<c10d::Backend> on_cpu(const ProcessGroup& group) { return group.raw()->getBackend(c10::kCPU); }

/// Moves a tensor into memory that other ranks can map.
void make_mappable(const at::Tensor& tensor) {
  if (tensor.nbytes() == 0) return;
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  c10::DataPtr memory = levin::mappable_memory(storage.nbytes());
  std::memcpy(memory.get(), storage.data(), storage.nbytes());
  storage.set_data_ptr_noswap(std::move(memory));
}

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
  const std::string mappable = draw("none", "of all ranks", "of all ranks", "of rank 0");
  Op op = draw(Op::SUM, Op::SUM, Op::PRODUCT, Op::MIN, Op::MAX);
  if (dtype == at::kLong || dtype == at::kInt || dtype == at::kByte) op = draw(op, Op::BAND, Op::BOR, Op::BXOR);
  at::Generator generator = at::detail::createCPUGenerator(seed * 100 + static_cast<uint64_t>(rank));
  // With more than two ranks small whole numbers, whose sums are exact in any order.
  const auto values = [&](int64_t count) {
    const bool is_exact = ranks > 2 || !at::isFloatingType(dtype);
    return (is_exact ? torch::randint(1, 4, {count}, generator) : torch::randn({count}, generator, at::kDouble))
        .to(dtype);
  };
  at::Tensor own = has_gaps ? values(2 * size).view({size, 2}).select(1, 0) : values(size);
  const bool goes_by_gloo =
      backend.getBackendName() == "gloo" || (backend.getBackendName() == "memory and gloo" && kind > 3);
  if (goes_by_gloo) own = own.contiguous();  // it takes tensors with gaps for others
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
  if (mappable == "of all ranks" || (mappable == "of rank 0" && rank == 0))
    for (const at::Tensor& tensor : {own, flat, whole}) make_mappable(tensor);
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

/// Calls `body` in threads, each a rank of a group whose ranks share memory.
void run_sharing_ranks(int64_t ranks, const std::function<void(ProcessGroup& group)>& body) {
  run_rank_threads(ranks, body, ProcessGroupBackend::Auto);
}

/// What each rank got from `body`, with the ranks on one of the backends.
std::vector<std::vector<Tensors>> results_of_ranks(
    int64_t ranks, ProcessGroupBackend backend, const std::function<std::vector<Tensors>(ProcessGroup& group)>& body) {
  std::vector<std::vector<Tensors>> results(static_cast<size_t>(ranks));
  run_rank_threads(
      ranks, [&](ProcessGroup& group) { results[static_cast<size_t>(group.rank())] = body(group); }, backend);
  return results;
}

}  // namespace

TEST_CASE("collectives through memory give what Gloo gives, for all kinds, dtypes and sizes") {
  constexpr uint32_t kDrawn = 120;
  for (const int64_t ranks : {2, 3, 4}) {
    const auto run = [&](ProcessGroup& group) {
      std::vector<Tensors> results;
      for (uint32_t seed = 0; seed < kDrawn; ++seed) results.push_back(run_drawn(*on_cpu(group), seed));
      return results;
    };
    const auto expected = results_of_ranks(ranks, ProcessGroupBackend::Gloo, run);
    const auto got = results_of_ranks(ranks, ProcessGroupBackend::Auto, [&](ProcessGroup& group) {
      RANK_CHECK(group, on_cpu(group)->getBackendName() == "memory");
      return run(group);
    });
    for (size_t rank = 0; rank < got.size(); ++rank)
      for (uint32_t seed = 0; seed < kDrawn; ++seed) {
        INFO("rank " << rank << " of " << ranks << ", seed " << seed);
        CHECK(are_same(got[rank][seed], expected[rank][seed]));
      }
  }
}

namespace {

/// Calls `body` in threads, each a rank on the machine that its letter names (small and large ones have one network),
/// and returns what each got. The errors of
/// ranks go to `errors`, if it is given.
std::vector<std::vector<Tensors>> on_machines(const std::string& machines,
                                              const std::function<std::vector<Tensors>(c10d::Backend& backend)>& body,
                                              std::vector<std::string>* errors = nullptr,
                                              std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::vector<Tensors>> results(machines.size());
  std::vector<std::string> failures(machines.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < machines.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        const levin::BackendOptions options = {
            .store = store,
            .rank = static_cast<int64_t>(rank),
            .world_size = static_cast<int64_t>(machines.size()),
            .master_addr = "127.0.0.1",
            .timeout = timeout,
            .machine = {static_cast<char>(std::tolower(machines[rank])), '|', machines[rank]}};
        const auto backend = levin::through_memory(options, levin::make_gloo(options));
        results[rank] = body(*backend);
        if (errors == nullptr) backend->barrier()->wait();
      } catch (const std::exception& error) {
        failures[rank] = levin::message_of(error);
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (errors != nullptr)
    *errors = failures;
  else
    CHECK(failures == std::vector<std::string>(machines.size()));
  return results;
}

}  // namespace

TEST_CASE("ranks of several machines sum and gather through memory and between them as over Gloo") {
  constexpr uint32_t kDrawn = 60;
  for (const std::string machines : {"aabbb", "abacc", "aab"}) {
    const auto run = [&](c10d::Backend& backend) {
      std::vector<Tensors> results;
      for (uint32_t seed = 0; seed < kDrawn; ++seed) results.push_back(run_drawn(backend, seed));
      return results;
    };
    const auto expected = results_of_ranks(static_cast<int64_t>(machines.size()), ProcessGroupBackend::Gloo,
                                           [&](ProcessGroup& group) { return run(*on_cpu(group)); });
    const auto got = on_machines(machines, [&](c10d::Backend& backend) {
      if (backend.getBackendName() != "memory and gloo") throw std::logic_error(backend.getBackendName());
      return run(backend);
    });
    for (size_t rank = 0; rank < got.size(); ++rank)
      for (uint32_t seed = 0; seed < got[rank].size(); ++seed) {
        INFO("rank " << rank << " of " << machines << ", seed " << seed);
        CHECK(are_same(got[rank][seed], expected[rank][seed]));
      }
  }
}

TEST_CASE("ranks of several machines: means, waits in any order, and sums that repeat") {
  const auto run = [](c10d::Backend& backend) {
    const auto rank = static_cast<float>(backend.getRank());
    std::vector<Tensors> sums;
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (int64_t i = 0; i < 6; ++i) sums.push_back({torch::full({1 + 70000 * i}, rank)});
    for (Tensors& sum : sums) works.push_back(backend.allreduce(sum, {.reduceOp = c10d::ReduceOp::AVG}));
    for (const size_t i : {3, 0, 5, 1, 2, 4}) works[i]->wait();
    for (const Tensors& sum : sums)
      if (!sum[0].eq(1.5).all().item<bool>()) throw std::logic_error("another mean");
    at::Generator generator = at::detail::createCPUGenerator(5 + static_cast<uint64_t>(backend.getRank()));
    Tensors drawn = {torch::randn({100000}, generator)};
    const auto future = backend.allreduce(drawn)->getFuture();
    future->wait();
    return std::vector<Tensors>{drawn};
  };
  const auto first = on_machines("abba", run), second = on_machines("abba", run);
  for (size_t rank = 0; rank < 4; ++rank) {
    CHECK(are_same(first[rank][0], first[0][0]));
    CHECK(are_same(second[rank][0], first[0][0]));
  }
}

TEST_CASE("a rank that leaves ends the ranks of its machine and of others, which say which one it was") {
  std::vector<std::string> errors;
  const auto begin = std::chrono::steady_clock::now();
  on_machines(
      "aabb",
      [](c10d::Backend& backend) -> std::vector<Tensors> {
        Tensors one = {torch::ones({10})};
        backend.allreduce(one)->wait();
        if (backend.getRank() == 1) return {};
        backend.allreduce(one)->wait();
        return {};
      },
      &errors, std::chrono::seconds(3));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
  CHECK(errors[1].empty());
  CHECK(contains(errors[0], "rank 1 has left"));
  for (const size_t rank : {2, 3}) CHECK(!errors[rank].empty());
}

TEST_CASE("ranks read large tensors where they lie, and let go of what its rank has freed") {
  at::Tensor tensor = torch::arange(100000);
  CHECK(levin::place_of(tensor.data_ptr(), tensor.nbytes()).block_bytes == 0);
  make_mappable(tensor);
  const auto* const first = static_cast<const std::byte*>(tensor.data_ptr());
  const levin::MemoryPlace place = levin::place_of(first + 80, tensor.nbytes() - 80);
  REQUIRE(place.block_bytes > 0);
  CHECK(levin::place_of(first, tensor.nbytes() + 1).block_bytes == 0);
  CHECK(levin::place_of(first - 1, 1).block_bytes == 0);
  levin::PeerMemory peers;
  const auto mapped = peers.map(place, 160);
  CHECK(mapped.data != first + 80);
  CHECK(std::memcmp(mapped.data, first + 80, 160) == 0);
  CHECK(peers.map(place, 8).block == mapped.block);

  const auto refusal = [&](auto change, size_t bytes) {
    levin::MemoryPlace other = place;
    change(other);
    return error_text([&] { levin::PeerMemory().map(other, bytes); });
  };
  CHECK(contains(refusal([](auto&) {}, tensor.nbytes()), "does not hold"));
  CHECK(contains(refusal([](auto& of) { of.offset = 0; }, 8), "does not hold"));
  CHECK(contains(refusal([](auto& of) { of.offset = -8; }, 8), "does not hold"));
  CHECK(contains(refusal([](auto& of) { of.id[3] = '?'; }, 8), "another block is there"));
  CHECK(contains(refusal([](auto& of) { of.block_bytes += 4096; }, 8), "not that of a rank"));
  CHECK(contains(refusal([](auto& of) { of.descriptor = 100000; }, 8), "memory of process"));

  const std::weak_ptr<const levin::SharedBlock> block = mapped.block;
  {
    levin::PeerMemory others;
    others.map(place, 8);
    tensor = torch::arange(100000);
    make_mappable(tensor);
    CHECK(contains(error_text([&] { levin::PeerMemory().map(place, 8); }), "memory of process"));
    const long uses = block.use_count();
    peers.map(levin::place_of(tensor.data_ptr(), 8), 8);
    CHECK(block.use_count() == uses - 1);
  }
}

TEST_CASE("buckets that ranks read where they lie train as over Gloo, whole and in shares") {
  for (const bool shares : {false, true}) {
    const auto train = [&](ProcessGroup& group) {
      torch::nn::Sequential net(torch::nn::Linear(301, 512), torch::nn::Tanh(), torch::nn::Linear(512, 200));
      at::Generator generator = at::detail::createCPUGenerator(3);
      for (at::Tensor parameter : net->parameters())
        parameter.set_data(0.1 * torch::randn(parameter.sizes(), generator));
      levin::parallel::GradientReducer reducer(*net, group, {.bucket_cap_mb = 0.7, .shard_gradients = shares});
      levin::optim::Adam adam(net->parameters(), {.lr = 0.01});
      std::optional<levin::parallel::ShardedOptimizer> sharded;
      if (shares) sharded.emplace(adam, reducer);
      at::Generator inputs = at::detail::createCPUGenerator(10 + static_cast<uint64_t>(group.rank()));
      for (int step = 0; step < 4; ++step) {
        shares ? sharded->zero_grad() : adam.zero_grad();
        reducer.backward(net->forward(torch::randn({8, 301}, inputs)).square().mean());
        if (shares) sharded->take_gradients();
        shares ? sharded->step() : adam.step();
      }
      Tensors trained;
      for (const at::Tensor& parameter : net->parameters()) trained.push_back(parameter.detach().clone());
      return std::vector<Tensors>{trained};
    };
    const auto expected = results_of_ranks(2, ProcessGroupBackend::Gloo, train);
    const auto got = results_of_ranks(2, ProcessGroupBackend::Auto, train);
    for (size_t rank = 0; rank < 2; ++rank) CHECK(are_same(got[rank][0], expected[0][0]));
  }
}

TEST_CASE("sums of many ranks are the same on all of them, and each time") {
  const auto run = [](ProcessGroup& group) {
    std::vector<Tensors> results;
    for (const int64_t size : {100, 5000, 400000}) {
      at::Generator generator = at::detail::createCPUGenerator(7 + static_cast<uint64_t>(group.rank()));
      Tensors sum = {torch::randn({size}, generator)};
      on_cpu(group)->allreduce(sum)->wait();
      results.push_back(sum);
      // The same values where each rank reads those of the others.
      at::Generator again = at::detail::createCPUGenerator(7 + static_cast<uint64_t>(group.rank()));
      Tensors mapped = {torch::randn({size}, again)};
      make_mappable(mapped[0]);
      on_cpu(group)->allreduce(mapped)->wait();
      RANK_CHECK(group, torch::equal(mapped[0], sum[0]));
    }
    return results;
  };
  const auto first = results_of_ranks(5, ProcessGroupBackend::Auto, run);
  const auto second = results_of_ranks(5, ProcessGroupBackend::Auto, run);
  for (size_t rank = 0; rank < 5; ++rank)
    for (size_t i = 0; i < first[rank].size(); ++i) {
      CHECK(are_same(first[rank][i], first[0][i]));
      CHECK(are_same(second[rank][i], first[0][i]));
    }
}

TEST_CASE("collectives that were begun end in any order of waiting, and with nobody who waits") {
  run_sharing_ranks(2, [](ProcessGroup& group) {
    const auto backend = on_cpu(group);
    std::vector<Tensors> sums;
    std::vector<c10::intrusive_ptr<c10d::Work>> works;
    for (int64_t i = 0; i < 8; ++i) sums.push_back({torch::full({1 + 90000 * i}, static_cast<double>(i))});
    for (Tensors& sum : sums) works.push_back(backend->allreduce(sum));
    for (const size_t i : {5, 1, 7, 0}) works[i]->wait();
    for (size_t i = 0; i < 8; ++i) RANK_CHECK(group, sums[i][0].eq(2.0 * static_cast<double>(i)).all().item<bool>());
    RANK_CHECK(group, works[6]->isCompleted() && works[6]->isSuccess());
    // The future of a collective has its result.
    Tensors one = {torch::ones({3})};
    const auto future = backend->allreduce(one)->getFuture();
    RANK_CHECK(group, future->completed() && future->value().toTensorVector()[0][0].item<float>() == 2);
  });
}

TEST_CASE("ranks that wait for each other in two groups do not hang") {
  run_sharing_ranks(2, [](ProcessGroup& group) {
    const auto other = group.subgroup("other", {0, 1});
    Tensors large = {torch::ones({1000000})}, small = {torch::ones({1})};
    // Rank 0 waits for the second before the first has ended, rank 1 the other way round.
    const auto first = on_cpu(group)->allreduce(large);
    if (group.rank() == 0) {
      on_cpu(*other)->allreduce(small)->wait();
      first->wait();
    } else {
      first->wait();
      on_cpu(*other)->allreduce(small)->wait();
    }
    RANK_CHECK(group, large[0].eq(2).all().item<bool>() && small[0].item<float>() == 2);
  });
}

TEST_CASE("ranks that call different collectives get an error that names both") {
  std::string text;
  try {
    run_sharing_ranks(2, [](ProcessGroup& group) {
      at::Tensor one = torch::ones({group.rank() + 1});
      group.all_reduce(one, levin::ReduceOp::Sum);
    });
  } catch (const levin::Error& error) {
    text = error.what();
  }
  CHECK(contains(text, "the ranks call different collectives"));
  CHECK(contains(text, "all_reduce of 4 bytes"));
  CHECK(contains(text, "all_reduce of 8 bytes"));
}

TEST_CASE("a rank that leaves, and one that does not come, are named") {
  std::string text;
  try {
    run_sharing_ranks(3, [](ProcessGroup& group) {
      if (group.rank() == 1) throw std::logic_error("left");
      group.barrier();
    });
  } catch (const std::logic_error& error) {
    text = error.what();
  }
  CHECK(text == "left");

  const levin::StoreServer store;
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      ProcessGroup group({.rank = rank, .world_size = 2, .master_port = store.port()}, c10::kCPU,
                         std::chrono::milliseconds(700));
      if (rank == 0) {
        errors[0] = error_text<levin::LostRankError>([&] { group.barrier(); });
        errors[1] = error_text<levin::LostRankError>([&] { group.barrier(); });
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(rank == 0 ? 0 : 1500));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(contains(errors[0], "timed out waiting for rank 1"));
  CHECK(contains(errors[0], "rank 1 did not come"));
  CHECK(contains(errors[1], "timed out waiting for rank 1"));
}

TEST_CASE("slots hand each round to all ranks, and overwrite nothing that is read") {
  constexpr int64_t kRanks = 4;
  constexpr uint32_t kRounds = 3000;
  const Blocks blocks(kRanks);
  std::atomic<int64_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      levin::RankSlots slots(rank, blocks.places());
      for (uint32_t round = 1; round <= kRounds; ++round) {
        std::array<uint32_t, 16> values;
        values.fill(round * 10 + static_cast<uint32_t>(rank));
        std::memcpy(slots.slot(rank, round), values.data(), sizeof(values));
        slots.publish();
        slots.wait(round, std::chrono::seconds(60));
        for (int64_t other = 0; other < kRanks; ++other) {
          std::array<uint32_t, 16> read;
          std::memcpy(read.data(), slots.slot(other, round), sizeof(read));
          if (!std::ranges::all_of(read, [&](uint32_t value) { return value == round * 10 + other; })) ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("queues of ranks in one memory sum what each has, whoever runs their calls") {
  constexpr int64_t kRanks = 3, kCalls = 400;
  const Blocks blocks(kRanks);
  std::atomic<int64_t> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      auto queue = levin::CollectiveQueue::make(std::make_unique<levin::RankSlots>(rank, blocks.places()));
      std::vector<at::Tensor> sums;
      std::vector<std::shared_ptr<levin::CollectiveQueue::Call>> calls;
      for (int64_t i = 0; i < kCalls; ++i) {
        sums.push_back(torch::full({1 + i * 37 % 5000}, rank + i, at::kFloat));
        calls.push_back(queue->begin(levin::all_reduce_in_memory({rank, kRanks}, sums.back(), Op::SUM)));
        if (i % 3 == 0) queue->finish(calls.back(), std::chrono::seconds(60));
        if (i % 100 == 50 * rank)
          std::this_thread::sleep_for(std::chrono::milliseconds(12));  // the queues' thread continues them
      }
      for (const auto& call : calls) queue->finish(call, std::chrono::seconds(60));
      for (int64_t i = 0; i < kCalls; ++i)
        if (!sums[static_cast<size_t>(i)].eq(static_cast<double>(kRanks * i + 3)).all().item<bool>()) ++wrong;
      const std::weak_ptr<levin::CollectiveQueue> left = queue;
      queue.reset();
      while (!left.expired()) std::this_thread::yield();  // the memory lives longer
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("no other user can map the memory of ranks, and nobody after it was withdrawn") {
  levin::SharedBlock block(8192);
  std::memcpy(block.data(), "here", 4);
  const levin::SharedBlock same(getpid(), block.descriptor(), 8192);
  CHECK(std::memcmp(same.data(), "here", 4) == 0);
  CHECK(contains(error_text([&] { levin::SharedBlock(getpid(), block.descriptor(), 4096); }), "not that of a rank"));
  if (geteuid() == 0) {
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
      constexpr uid_t kNobody = 65534;
      if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(3);
      _exit(error_text([&] { levin::SharedBlock(parent, block.descriptor(), 8192); }) == "no error" ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const int64_t descriptor = block.descriptor();
  block.withdraw();
  CHECK(error_text([&] { levin::SharedBlock(getpid(), descriptor, 8192); }) != "no error");
}

TEST_CASE("ranks of one network that cannot share memory say so") {
  for (const auto& [machines, says] : {std::pair<std::string, bool>{"ab", false}, {"aa", false}, {"aA", true}}) {
    const CapturedStderr captured;
    on_machines(machines, [](c10d::Backend&) { return std::vector<Tensors>(); });
    CHECK(contains(captured.text(), "cannot share memory") == says);
  }
}
