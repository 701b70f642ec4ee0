#pragma once
#include <levin/data/tables/message.h>
#include <levin/data/tables/sealed_memory.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace levin::data {

/// What a child process answers: a message, and memory.
struct ChildAnswer {
  Message message = {};
  MappedMemory memory = {};
};

/// Work that is done in child processes, each a copy of this one: one for each thread that waits for an answer. A child
/// serves until something goes wrong in it, or until this process ends.
///
/// The HDF5 library (1.10, and others) reads and writes outside of its memory for many damaged files; so it may end the
/// child, and not this process, which never calls it. Thread-safe.
class ChildProcesses {
 public:
  /// Answers a request in the child; what it takes of `memory` is handed over, and what it throws is an error here.
  using Work = Message (*)(Message request, SealedMemory& memory);
  explicit ChildProcesses(Work work);
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  /// Throws std::runtime_error with the text of what the work threw, or if a new child died or took more than `seconds`
  /// of the processor, or 10 minutes. If that happens to one that had other work before, a new one is asked.
  ChildAnswer run(const Message& request, int64_t seconds);

 private:
  class Child;
  std::unique_ptr<Child> take_idle();
  void give_back(std::unique_ptr<Child> child);

  Work work_;
  std::mutex mutex_ = {};
  std::vector<std::unique_ptr<Child>> idle_;
};

}  // namespace levin::data
