#include <levin/core/ranks/process_group.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/ranks/bounded_call.h>
#include <levin/core/ranks/c10d_error.h>
#include <levin/core/ranks/host_transport.h>
#include <levin/core/ranks/mpi.h>
#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/ranks/rank_store.h>
#include <levin/core/ranks/stub_group.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace levin {
namespace {

constexpr size_t kCallsKept = 64;

/// Calls `use`, which owns what it uses; its exceptions, and one for a store that does not answer, say that the store
/// cannot be reached.
void use_store(const ProcessGroup& group, std::chrono::milliseconds timeout, std::function<void()> use) {
  try {
    if (!ends_within(timeout, std::move(use))) throw Error("it does not answer");
  } catch (const std::exception& error) {
    throw LostRankError("rank ", group.rank(), " of ", group.world_size(),
                        ": the store that the ranks met at is gone: ", c10d_reason(error));
  }
}

c10d::ReduceOp::RedOpType op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Min:
      return c10d::ReduceOp::MIN;
    case ReduceOp::Max:
      return c10d::ReduceOp::MAX;
    default:
      return c10d::ReduceOp::SUM;  // for a mean too: older versions of Gloo cannot average
  }
}

}  // namespace

struct ProcessGroup::Parts {
  /// A call of this rank.
  struct Call {
    int64_t number = 0;
    std::string name = {};
    double milliseconds = -1;  ///< until it ended
  };
  std::mutex mutex;  ///< guards the members below; backward on a GPU runs in another thread
  std::deque<Call> calls;
  int64_t count = 0;
  /// CollectivesBlocks that live: of this group, and of the one that it is a subgroup of.
  std::shared_ptr<std::atomic<int64_t>> silences = std::make_shared<std::atomic<int64_t>>(0);
  RankStore met_at;
  std::chrono::milliseconds timeout = {};
  std::string master_addr;
  c10::Device device = c10::kCPU;
  ProcessGroupBackend backend = ProcessGroupBackend::Auto;
  std::shared_ptr<HostTransport> transport;  ///< null: the ranks connect to each other themselves
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  bool is_stub = false;  ///< made by of_absent_ranks
  int64_t numbers = 0;   ///< given by next_number
};

ProcessGroup::ProcessGroup(const Rendezvous& rendezvous, c10::Device device, std::chrono::milliseconds timeout,
                           ProcessGroupBackend backend)
    : rank_(rendezvous.rank), world_size_(rendezvous.world_size), parts_(std::make_unique<Parts>()) {
  parts_->met_at = open_store(rendezvous, timeout);
  parts_->timeout = timeout;
  parts_->master_addr = rendezvous.master_addr;
  parts_->device = device;
  parts_->backend = backend;
  parts_->store = c10::make_intrusive<c10d::PrefixStore>("levin/" + rendezvous.key, parts_->met_at.store);
  BackendOptions options{.store = parts_->store,
                         .rank = rank_,
                         .world_size = world_size_,
                         .master_addr = rendezvous.master_addr,
                         .timeout = timeout,
                         .transport = offered_transport(rendezvous.key)};
  try {
    if (backend == ProcessGroupBackend::Mpi && !options.transport) options.transport = join_mpi(options);
    parts_->transport = options.transport;
    parts_->group = make_group(options, device, backend);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw UsageError("rank ", rank_, " of ", world_size_, " has not met all others by way of ", place_of(rendezvous),
                     "; were that many started, and do they run the same program? ", c10d_reason(error));
  }
}

ProcessGroup::ProcessGroup(int64_t rank, int64_t world_size)
    : rank_(rank), world_size_(world_size), parts_(std::make_unique<Parts>()) {}

std::unique_ptr<ProcessGroup> ProcessGroup::subgroup(const std::string& name, const std::vector<int64_t>& ranks) const {
  const auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end()) throw UsageError("subgroup ", name, ": rank ", rank_, " is none of its ranks");
  std::unique_ptr<ProcessGroup> group(new ProcessGroup(own - ranks.begin(), static_cast<int64_t>(ranks.size())));
  Parts& parts = *group->parts_;
  parts.timeout = parts_->timeout;
  parts.silences = parts_->silences;
  parts.master_addr = parts_->master_addr;
  parts.device = parts_->device;
  parts.backend = parts_->backend;
  parts.is_stub = parts_->is_stub;
  if (parts.is_stub) {
    parts.group = make_absent_ranks(group->world_size_, parts.device);
    return group;
  }
  parts.met_at.store = parts_->met_at.store;
  parts.store = c10::make_intrusive<c10d::PrefixStore>(name, parts_->store);
  guarded("subgroup", [&] {
    if (parts_->transport) parts.transport = parts_->transport->part(ranks);
    parts.group = make_group({.store = parts.store,
                              .rank = group->rank_,
                              .world_size = group->world_size_,
                              .master_addr = parts.master_addr,
                              .timeout = parts.timeout,
                              .transport = parts.transport},
                             parts.device, parts.backend);
  });
  return group;
}

std::shared_ptr<ProcessGroup> ProcessGroup::of_absent_ranks(int64_t world_size, c10::Device device) {
  std::shared_ptr<ProcessGroup> ranks(new ProcessGroup(/*rank=*/0, world_size));
  ranks->parts_->device = device;
  ranks->parts_->group = make_absent_ranks(world_size, device);
  ranks->parts_->is_stub = true;
  return ranks;
}

int64_t ProcessGroup::next_number() { return ++parts_->numbers; }

int64_t ProcessGroup::present_ranks() const { return parts_->is_stub ? 1 : world_size_; }

ProcessGroup::~ProcessGroup() = default;

const c10::intrusive_ptr<c10d::ProcessGroup>& ProcessGroup::raw() const { return parts_->group; }

void ProcessGroup::guarded(const char* call, const std::function<void()>& body) const {
  const auto begun = std::chrono::steady_clock::now();
  int64_t number = 0;
  {
    const std::lock_guard lock(parts_->mutex);
    if (*parts_->silences > 0)
      throw Error(call, ": not while an exception is on its way: the other ranks do not take part");
    number = ++parts_->count;
    parts_->calls.push_back({number, call});
    if (parts_->calls.size() > kCallsKept) parts_->calls.pop_front();
  }
  try {
    body();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    const std::lock_guard lock(parts_->mutex);
    for (Parts::Call& one : parts_->calls)
      if (one.number == number) one.milliseconds = took.count();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (!is_of_communication(error)) throw;
    const std::string name = c10::str(call, " (call ", number, ")");
    std::string missing;
    for (const int64_t rank : ranks_that_miss_nobody(name)) missing += c10::str(missing.empty() ? "" : ", ", rank);
    throw LostRankError("rank ", rank_, " of ", world_size_, ": ", name, " failed; ",
                        missing.empty() ? std::string("all ranks miss another")
                                        : "rank " + missing + " did not come: ended, or hanging",
                        ": ", c10d_reason(error));
  }
}

ProcessGroup::CollectivesBlock::CollectivesBlock(const ProcessGroup& group) : group_(group) {
  ++*group_.parts_->silences;
}

ProcessGroup::CollectivesBlock::~CollectivesBlock() { --*group_.parts_->silences; }

std::vector<int64_t> ProcessGroup::ranks_that_miss_nobody(const std::string& call) const {
  constexpr std::chrono::seconds kLimit{3};
  const auto missing = std::make_shared<std::vector<int64_t>>();
  const auto ask = [store = parts_->store, missing, call, rank = rank_, ranks = world_size_] {
    const std::string failed = "failed/";
    store->set(failed + std::to_string(rank), std::vector<uint8_t>(call.begin(), call.end()));
    // The other ranks notice the failure at about the same time.
    for (int tries = 0; tries < 10; ++tries) {
      missing->clear();
      for (int64_t one = 0; one < ranks; ++one)
        if (!store->check({failed + std::to_string(one)})) missing->push_back(one);
      if (missing->empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  };
  const std::vector<int64_t> of_store = {0};  // the rank that served it
  try {
    return ends_within(kLimit, ask) ? *missing : of_store;
  } catch (const std::exception&) {
    return of_store;
  }
}

std::string ProcessGroup::newest_calls() const {
  const std::lock_guard lock(parts_->mutex);
  std::string lines;
  for (const Parts::Call& one : parts_->calls)
    lines += one.milliseconds < 0 ? c10::str(one.number, " ", one.name, ": did not end\n")
                                  : c10::str(one.number, " ", one.name, ": ", one.milliseconds, " ms\n");
  return lines;
}

void ProcessGroup::all_reduce(at::Tensor& tensor, ReduceOp op) {
  std::vector<at::Tensor> tensors{tensor.contiguous()};
  guarded("all_reduce", [&] { raw()->allreduce(tensors, {.reduceOp = op_of(op)})->wait(); });
  if (op == ReduceOp::Mean) tensors[0].div_(world_size_);
  if (!tensors[0].is_same(tensor)) tensor.copy_(tensors[0]);
}

std::function<void()> ProcessGroup::begin_all_reduce(at::Tensor& tensor) {
  std::vector<at::Tensor> tensors{tensor};
  c10::intrusive_ptr<c10d::Work> work;
  guarded("all_reduce", [&] { work = raw()->allreduce(tensors); });
  return [this, work] { guarded("all_reduce", [&] { work->wait(); }); };
}

void ProcessGroup::broadcast(at::Tensor& tensor, int64_t source) {
  std::vector<at::Tensor> tensors{tensor.contiguous()};
  guarded("broadcast", [&] { raw()->broadcast(tensors, {.rootRank = source})->wait(); });
  if (!tensors[0].is_same(tensor)) tensor.copy_(tensors[0]);
}

std::vector<at::Tensor> ProcessGroup::all_gather(const at::Tensor& tensor) {
  const c10::InferenceMode normal_tensors(false);  // even in an evaluation: another thread writes to them
  std::vector<at::Tensor> inputs{tensor.contiguous()};
  std::vector<std::vector<at::Tensor>> outputs(1);
  for (int64_t i = 0; i < world_size_; ++i) outputs[0].push_back(at::empty_like(inputs[0]));
  guarded("all_gather", [&] { raw()->allgather(outputs, inputs)->wait(); });
  return outputs[0];
}

void ProcessGroup::barrier() {
  // An all-reduce fails with the same error texts as the other collectives.
  at::Tensor nothing = at::zeros({1});
  guarded("barrier", [&] {
    std::vector<at::Tensor> tensors{nothing};
    raw()->allreduce(tensors)->wait();
  });
}

void ProcessGroup::leave_note(const std::string& key, const std::string& text) {
  if (parts_->is_stub) return;
  use_store(*this, parts_->timeout, [store = parts_->store, key, text] {
    store->set("note/" + key, std::vector<uint8_t>(text.begin(), text.end()));
  });
}

std::optional<std::string> ProcessGroup::take_note(const std::string& key) {
  if (parts_->is_stub) return {};
  const auto note = std::make_shared<std::optional<std::string>>();
  use_store(*this, parts_->timeout, [store = parts_->store, note, name = "note/" + key] {
    if (!store->check({name})) return;
    const std::vector<uint8_t> text = store->get(name);
    store->deleteKey(name);
    note->emplace(text.begin(), text.end());
  });
  return *note;
}

}  // namespace levin
