#pragma once
#include <c10/util/intrusive_ptr.h>

#include <memory>

namespace c10d {
class Work;
}  // namespace c10d

namespace levin::parallel {

/// Collectives on their way.
class PendingWorks {
 public:
  PendingWorks();
  /// Waits for them, since they write to memory that is freed next; their errors are lost.
  ~PendingWorks();
  PendingWorks(const PendingWorks&) = delete;
  PendingWorks& operator=(const PendingWorks&) = delete;

  void add(c10::intrusive_ptr<c10d::Work> work);
  bool empty() const;
  /// Waits until all have ended. Throws the first one's error.
  void wait();

 private:
  struct Works;
  std::unique_ptr<Works> works_;
};

}  // namespace levin::parallel
