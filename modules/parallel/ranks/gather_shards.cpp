#include <levin/modules/parallel/ranks/gather_shards.h>
#include <levin/core/ranks/torch_compat/flat_collectives.h>

#include <cstdint>
#include <vector>

namespace levin::parallel {
namespace {

/// Gloo's own all-gather receives into a copy of the whole.
void gather_in_place(c10d::ProcessGroup& group, const at::Tensor& all, const at::Tensor& own, PendingWorks& works) {
  constexpr int kTag = 0;
  const int rank = group.getRank(), ranks = group.getSize();
  const int64_t each = own.numel();
  all.narrow(0, rank * each, each).copy_(own);
  // Each rank begins with the one behind it, so that they do not all send to the same one.
  for (int step = 1; step < ranks; ++step) {
    const int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
    std::vector<at::Tensor> received = {all.narrow(0, from * each, each)}, sent = {own};
    works.add(group.recv(received, from, kTag));
    works.add(group.send(sent, to, kTag));
  }
}

}  // namespace

void begin_gather(ProcessGroup& group, at::Tensor all, at::Tensor own, PendingWorks& works) {
  c10d::ProcessGroup& raw = *group.raw();
  if (own.device().is_cpu() && group.present_ranks() > 1 && raw.getBackend(c10::kCPU)->getBackendName() == "gloo")
    gather_in_place(raw, all, own, works);
  else
    works.add(torch_compat::all_gather_flat(raw, all, own));
}

}  // namespace levin::parallel
