#include <levin/core/ranks/c_ranks.h>
#include <levin/core/ranks/c_dtype.h>
#include <levin/core/system/error.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace levin::c {
namespace {

/// Owns the host's functions and what they were given.
class RanksOfHost {
 public:
  explicit RanksOfHost(const levin_ranks& ranks) : ranks_(ranks) {}
  ~RanksOfHost() { ranks_.release(ranks_.context, has_failed_ ? 1 : 0); }
  RanksOfHost(const RanksOfHost&) = delete;
  RanksOfHost& operator=(const RanksOfHost&) = delete;

  const levin_ranks* operator->() const { return &ranks_; }
  void check(levin_status status, const char* call) {
    if (status == LEVIN_OK) return;
    has_failed_ = true;
    throw Error(call, " failed: ", text_of_error());
  }
  void mark_failed() { has_failed_ = true; }

 private:
  std::string text_of_error() const {
    const char* const text = ranks_.error == nullptr ? nullptr : ranks_.error(ranks_.context);
    return text == nullptr ? "" : text;
  }

  const levin_ranks ranks_;
  std::atomic<bool> has_failed_ = false;
};

class Request final : public HostTransport::Request {
 public:
  Request(std::shared_ptr<RanksOfHost> ranks, void* request) : ranks_(std::move(ranks)), request_(request) {}
  ~Request() override {
    if (!has_ended_) ranks_->mark_failed();  // it cannot be taken back
  }
  bool test() override {
    if (has_ended_) return true;
    int32_t ended = 0;
    ranks_->check((*ranks_)->test((*ranks_)->context, request_, &ended), "test");
    return has_ended_ = ended != 0;
  }

 private:
  std::shared_ptr<RanksOfHost> ranks_;
  void* request_;
  bool has_ended_ = false;
};

void check(const levin_ranks& ranks) {
  if (ranks.struct_size < sizeof ranks)
    throw UsageError("the ranks.struct_size is ", ranks.struct_size, ", expected sizeof the struct, ", sizeof ranks,
                     "; begin with LEVIN_INIT");
  if (ranks.size < 1 || ranks.rank < 0 || ranks.rank >= ranks.size)
    throw UsageError("the ranks: rank ", ranks.rank, " of ", ranks.size);
  if (ranks.local_size < 1 || ranks.local_rank < 0 || ranks.local_rank >= ranks.local_size || ranks.node < 0)
    throw UsageError("the ranks: local rank ", ranks.local_rank, " of ", ranks.local_size, " on machine ", ranks.node);
  if (ranks.begin == nullptr || ranks.test == nullptr || ranks.part == nullptr || ranks.release == nullptr)
    throw UsageError("the ranks need the functions begin, test, part and release");
}

class Transport final : public HostTransport {
 public:
  explicit Transport(const levin_ranks& ranks) : ranks_(std::make_shared<RanksOfHost>(ranks)) {}

  std::unique_ptr<HostTransport::Request> begin(const Operation& operation) override {
    levin_operation asked = LEVIN_INIT(levin_operation);
    asked.kind = static_cast<int32_t>(operation.kind);
    asked.reduction = static_cast<int32_t>(operation.reduction);
    asked.dtype = dtype_of(operation.dtype);
    asked.from = operation.from;
    asked.to = operation.to;
    asked.count = operation.count;
    asked.peer = static_cast<int32_t>(operation.peer);
    asked.tag = static_cast<int32_t>(operation.tag);
    void* request = nullptr;
    ranks_->check((*ranks_)->begin((*ranks_)->context, &asked, &request), "begin");
    return std::make_unique<c::Request>(ranks_, request);
  }
  std::shared_ptr<HostTransport> part(const std::vector<int64_t>& ranks) override {
    const std::vector<int32_t> numbers(ranks.begin(), ranks.end());
    levin_ranks made = LEVIN_INIT(levin_ranks);
    ranks_->check((*ranks_)->part((*ranks_)->context, numbers.data(), static_cast<int32_t>(numbers.size()), &made),
                  "part");
    return transport_of(made);
  }

 private:
  std::shared_ptr<RanksOfHost> ranks_;
};

}  // namespace

std::shared_ptr<HostTransport> transport_of(const levin_ranks& ranks) {
  check(ranks);
  return std::make_shared<Transport>(ranks);
}

}  // namespace levin::c
