#include <levin/modules/parallel/replicas/replica_threads.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <levin/modules/parallel/replicas/parallel_apply.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/modules/parallel/parallel_nets.h"

using levin::parallel::run_replicas;

namespace {

/// The threads of one call, by replica.
std::vector<std::thread::id> threads_of(size_t replicas, bool in_order = false) {
  std::vector<std::thread::id> ids(replicas);
  run_replicas(cpus(replicas), [&](size_t i) { ids[i] = std::this_thread::get_id(); }, in_order);
  return ids;
}

}  // namespace

TEST_CASE("Replica 0 runs on the caller's thread, the others keep theirs from call to call", "[parallel]") {
  const auto first = threads_of(3), second = threads_of(3);
  CHECK(first[0] == std::this_thread::get_id());
  CHECK(std::set(first.begin(), first.end()).size() == 3);
  CHECK(first == second);
  const auto fewer = threads_of(2);
  CHECK(fewer[1] == first[1]);
  for (const auto id : threads_of(3, /*in_order=*/true)) CHECK(id == std::this_thread::get_id());
}

TEST_CASE("Replicas take over the caller's modes", "[parallel]") {
  const auto modes_of = [](size_t replicas) {
    std::vector<std::string> modes(replicas);
    run_replicas(cpus(replicas), [&](size_t i) {
      modes[i] = c10::str(at::GradMode::is_enabled(), c10::InferenceMode::is_enabled(),
                          at::autocast::is_autocast_enabled(at::kCPU), at::autocast::get_autocast_dtype(at::kCPU),
                          at::autocast::is_autocast_cache_enabled());
    });
    return modes;
  };
  const auto all_as_the_first = [&] {
    for (const std::string& mode : modes_of(3)) CHECK(mode == modes_of(1)[0]);
  };
  all_as_the_first();
  const auto plain = modes_of(2)[1];
  {
    const torch::NoGradGuard guard;
    all_as_the_first();
    CHECK(modes_of(2)[1] != plain);
  }
  {
    const c10::InferenceMode guard;
    all_as_the_first();
  }
  const auto dtype = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  at::autocast::set_autocast_cache_enabled(false);
  all_as_the_first();
  CHECK(modes_of(2)[1] != plain);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::set_autocast_dtype(at::kCPU, dtype);
  at::autocast::set_autocast_cache_enabled(true);
  CHECK(modes_of(2)[1] == plain);
}

TEST_CASE("Replicas share the compute threads, which the caller gets back", "[parallel]") {
  const int before = at::get_num_threads();
  at::set_num_threads(4);
  std::vector<int> threads(2);
  run_replicas(cpus(2), [&](size_t i) { threads[i] = at::get_num_threads(); });
  CHECK(threads == std::vector<int>{2, 2});
  std::vector<int> alone(8);
  run_replicas(cpus(8), [&](size_t i) { alone[i] = at::get_num_threads(); });
  CHECK(alone == std::vector<int>(8, 1));
  CHECK(at::get_num_threads() == 4);
  at::set_num_threads(before);
}

TEST_CASE("An exception of a replica reaches the caller with the device", "[parallel]") {
  for (const bool in_order : {false, true}) {
    std::atomic<int> ended = 0;
    const auto throw_in = [&](size_t replica, const auto& make) {
      return [&, replica] {
        run_replicas(
            cpus(3),
            [&, replica](size_t i) {
              ++ended;
              if (i >= replica) make();
            },
            in_order);
      };
    };
    CHECK(error_text(throw_in(1, [] { throw std::runtime_error("no such word"); })) == "replica 1 (cpu): no such word");
    CHECK(ended == 3);
    CHECK(error_text(throw_in(0, [] { throw 7; })) == "replica 0 (cpu): an exception of an unknown class");
    CHECK(error_text<levin::UsageError>(throw_in(2, [] { throw levin::UsageError("wrong option"); })) ==
          "replica 2 (cpu): wrong option");
    CHECK(contains(error_text(throw_in(1, [] { torch::ones({2}) + torch::ones({3}); })), "must match the size"));
    try {
      throw_in(1, [] { throw std::out_of_range("far away"); })();
    } catch (const levin::Error& error) {
      CHECK_THROWS_AS(std::rethrow_if_nested(error), std::out_of_range);
    }
    CHECK(threads_of(3, in_order).size() == 3);
  }
}

TEST_CASE("Calls may be nested and come from several threads", "[parallel]") {
  std::atomic<int> sum = 0;
  const auto nested = [&] {
    for (int round = 0; round < 20; ++round)
      run_replicas(cpus(2), [&](size_t) { run_replicas(cpus(3), [&](size_t i) { sum += static_cast<int>(i); }); });
  };
  std::thread other(nested);
  nested();
  other.join();
  CHECK(sum == 2 * 20 * 2 * 3);
}

TEST_CASE("parallel_apply gives what the modules give one by one", "[parallel]") {
  std::vector<SmallNet> nets{small_net(), copy_of(small_net()), small_net()};
  std::vector<torch::Tensor> inputs;
  for (int i = 0; i < 3; ++i) inputs.push_back(torch::randn({4 + i, 8}, torch::kDouble));
  const auto outputs = levin::parallel::parallel_apply(nets, inputs);
  REQUIRE(outputs.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(torch::equal(outputs[i], nets[i](inputs[i])));
  CHECK(contains(error_text<levin::UsageError>([&] { levin::parallel::parallel_apply(nets, std::vector{inputs[0]}); }),
                 "3 modules, 1 inputs"));
  const std::vector<torch::nn::Bilinear> pairs{torch::nn::Bilinear(2, 3, 1)};
  const std::vector<std::tuple<torch::Tensor, torch::Tensor>> arguments{{torch::ones({5, 2}), torch::ones({5, 3})}};
  CHECK(levin::parallel::parallel_apply(pairs, arguments)[0].sizes() == torch::IntArrayRef({5, 1}));
}
