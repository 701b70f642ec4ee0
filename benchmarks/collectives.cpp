// An all-reduce between ranks of this machine, one process and one thread each: through the memory that they share, and
// over Gloo, in turn.
//
//   benchmark_collectives [RANKS [ROUNDS]]     2 ranks and 5 rounds
//
// Prints the median of the rounds' medians in microseconds, and the least and greatest of these.
#include <levin/levin.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "benchmarks/statistics.h"

namespace {

using levin::ProcessGroup;
using levin::ProcessGroupBackend;

/// Returns the median of a sum of floats of this size over all ranks, in microseconds.
double microseconds(ProcessGroup& group, int64_t bytes) {
  at::Tensor tensor = torch::ones({bytes / 4});
  const int calls = bytes > 1'000'000 ? 20 : 1000;
  Rounds took;
  for (int call = 0; call < calls + calls / 5; ++call) {
    tensor.fill_(1);
    const auto begin = std::chrono::steady_clock::now();
    group.all_reduce(tensor, levin::ReduceOp::Sum);
    const std::chrono::duration<double, std::micro> one = std::chrono::steady_clock::now() - begin;
    if (call >= calls / 5) took.values.push_back(one.count());
  }
  return took.median();
}

void run_rank(int64_t rank, int64_t ranks, int64_t port, int rounds) {
  at::set_num_threads(1);
  ProcessGroup first(
      {.rank = rank, .world_size = ranks, .master_port = port, .hosts_store = rank == 0, .key = "memory"}, c10::kCPU,
      std::chrono::seconds(60));
  ProcessGroup second(
      {.rank = rank, .world_size = ranks, .master_port = port + 1, .hosts_store = rank == 0, .key = "gloo"}, c10::kCPU,
      std::chrono::seconds(60), ProcessGroupBackend::Gloo);
  for (const int64_t bytes : {528, 16'384, 200'000, 2'000'000, 20'000'000}) {
    Rounds memory, gloo;
    for (int round = 0; round < rounds; ++round) {
      memory.values.push_back(microseconds(first, bytes));
      gloo.values.push_back(microseconds(second, bytes));
    }
    if (rank != 0) continue;
    const auto print = [&](const char* name, const Rounds& of) {
      std::printf("  %s %.1f us (%.1f to %.1f)", name, of.median(), of.least(), of.most());
    };
    std::printf("%ld ranks, %ld bytes:", static_cast<long>(ranks), static_cast<long>(bytes));
    print("memory", memory);
    print("Gloo", gloo);
    std::printf("  ratio %.3f\n", memory.median() / gloo.median());
    std::fflush(stdout);
  }
  first.barrier();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ranks = argc > 1 ? std::atoll(argv[1]) : 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const int64_t port = 20000 + getpid() % 20000;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    run_rank(rank, ranks, port, rounds);
    std::_Exit(0);
  }
  int status = 0, worst = 0;
  while (wait(&status) > 0) worst = std::max(worst, status);
  return worst == 0 ? 0 : 1;
}
