// Calls of the C interface at random, right and wrong: handles that live, were destroyed or never were, shapes,
// strides, nulls, files, and several threads, which also use each other's sessions and buffers where any thread may.
// Each call must return a status; the end of the program without a crash is the test. It prints how often it has called
// each function.
//
//   call_fuzz CALLS [SEED [THREADS]]
#include <cstdio>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "tests/hosts/c/fuzz_calls.h"

namespace {

levin_status call_one(Drawing& draw) {
  using Area = levin_status (*)(Drawing&);
  static constexpr std::array<Area, 14> kAreas = {call_library, call_dlpack, call_model,   call_model,   call_model,
                                                  call_call,    call_call,   call_session, call_session, call_session,
                                                  call_session, call_reader, call_replay,  call_rollout};
  draw.begin_call();
  return draw.once_in(8) ? call_from_any_thread(draw) : kAreas[draw.below(kAreas.size())](draw);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int place, uint64_t by_default) {
    return argc > place ? std::strtoull(argv[place], nullptr, 10) : by_default;
  };
  const uint64_t calls = number(1, 20000), seed = number(2, std::random_device()()), threads = number(3, 2);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::string folder = std::filesystem::temp_directory_path() / "call_fuzz_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;

  std::vector<HandlesOfThread> handles(threads);
  std::deque<Drawing> draws;  // which sessions refer to until they end
  for (uint64_t i = 0; i < threads; ++i) draws.emplace_back(seed + i, handles, i, folder);
  std::vector<std::array<uint64_t, 4>> counts(threads);
  std::map<std::string, Count> all_called;
  std::mutex mutex;
  std::atomic<uint64_t> running_threads = threads;
  std::vector<std::thread> running;
  for (uint64_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      Drawing& draw = draws[i];
      for (uint64_t done = 0; done < calls / threads; ++done) {
        const levin_status status = call_one(draw);
        if (status < LEVIN_OK || status > LEVIN_NO_MEMORY) std::abort();
        if (status != LEVIN_OK && std::string(levin_error()).empty()) std::abort();
        ++counts[i][static_cast<size_t>(status)];
      }
      --running_threads;
      const std::lock_guard lock(mutex);
      for (const auto& [function, count] : called) {
        all_called[function].calls += count.calls;
        all_called[function].done += count.done;
      }
    });
  }
  while (running_threads > 0) {  // a thread whose session is paused waits for another's levin_session_resume
    for (const HandlesOfThread& one : handles)
      for (const auto& session : one.sessions.all()) levin_session_resume(session);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& one : running) one.join();
  for (HandlesOfThread& one : handles) one.end();
  std::filesystem::remove_all(folder);

  std::array<uint64_t, 4> all = {};
  for (const auto& of_thread : counts)
    for (size_t i = 0; i < all.size(); ++i) all[i] += of_thread[i];
  for (const auto& [function, count] : all_called)
    std::printf("%s: %llu calls, %llu done\n", function.c_str(), static_cast<unsigned long long>(count.calls),
                static_cast<unsigned long long>(count.done));
  std::printf("%llu calls done, %llu refused, %llu failed\n", static_cast<unsigned long long>(all[0]),
              static_cast<unsigned long long>(all[1]), static_cast<unsigned long long>(all[2] + all[3]));
  return all[0] > calls / 10 && all[1] > 0 ? 0 : 1;
}
