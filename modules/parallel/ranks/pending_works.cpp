#include <levin/modules/parallel/ranks/pending_works.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <exception>
#include <utility>
#include <vector>

namespace levin::parallel {

struct PendingWorks::Works {
  std::vector<c10::intrusive_ptr<c10d::Work>> list = {};
};

PendingWorks::PendingWorks() : works_(std::make_unique<Works>()) {}

PendingWorks::~PendingWorks() {
  for (const auto& work : works_->list) try {
      work->wait();
    } catch (const std::exception&) {
      // Another rank has ended; so does this run.
    }
}

void PendingWorks::add(c10::intrusive_ptr<c10d::Work> work) { works_->list.push_back(std::move(work)); }

bool PendingWorks::empty() const { return works_->list.empty(); }

void PendingWorks::wait() {
  for (const auto& work : std::exchange(works_->list, {})) work->wait();
}

}  // namespace levin::parallel
