#include <levin/trainer/loops/ranked_loader.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <c10/core/InferenceMode.h>
#include <levin/core/device/rng_guard.h>
#include <levin/core/system/error.h>
#include <levin/trainer/run/run_parts.h>

#include <algorithm>
#include <vector>

namespace levin {
namespace {

/// The first number of the message before a batch, to detect that another rank sent a different message.
constexpr double kMark = 20'260'117;

/// How many ranks have a batch, and how many have another one after it.
struct RanksLeft {
  int64_t with_batch = 0, with_more = 0;
};

RanksLeft count_over_ranks(bool has_batch, bool has_more, Comm& comm) {
  const c10::InferenceMode normal_tensors(false);  // another thread writes to the message
  at::Tensor message = at::tensor({kMark, -kMark, has_batch ? 1.0 : 0.0, has_more ? 1.0 : 0.0, 1.0}, at::kDouble);
  comm.all_reduce(message, ReduceOp::Sum);
  const auto* const all = message.const_data_ptr<double>();
  const double marks = kMark * all[4];  // a dry run has one rank of many
  if (all[0] != marks || all[1] != -marks)
    throw Error("rank ", comm.rank(), " of ", comm.world_size(),
                " asked who has a batch left, and another rank said something else: they are not in the same place; "
                "what all ranks must call (run.metric, barrier, all_gather) stands in a condition, or in a step that "
                "some of them do not run");
  return {.with_batch = static_cast<int64_t>(all[2]), .with_more = static_cast<int64_t>(all[3])};
}

}  // namespace

RankedLoader::RankedLoader(data::Loader& loader, Comm& comm) : loader_(loader), comm_(comm), size_(loader.size()) {
  if (comm.world_size() > 1) agree_on_size();
}

void RankedLoader::agree_on_size() {
  const c10::InferenceMode normal_tensors(false);
  const at::Tensor own = at::tensor({int64_t{loader_.in_step()}, size_.value_or(-1)}, at::TensorOptions(at::kLong));
  std::vector<int64_t> sizes;
  for (const at::Tensor& one : comm_.all_gather(own)) {
    in_step_ = in_step_ && one[0].item<int64_t>() != 0;
    sizes.push_back(one[1].item<int64_t>());
  }
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  if (in_step_ && *least != *most)
    throw UsageError("the loader of rank ", least - sizes.begin(), " has ", *least, " batches, that of rank ",
                     most - sizes.begin(), " has ", *most,
                     ": the ranks divide data that must be the same on all of them; with data of its own on each rank "
                     "set trainer.use_distributed_sampler to false");
  size_ = *least < 0 ? std::nullopt : std::optional(*most);
}

void RankedLoader::check_ranks(const State& resumed, const char* in_step_key) const {
  const State* const ranks = resumed.find("ranks");
  const State* const was_in_step = resumed.find(in_step_key);
  if (ranks == nullptr || ranks->to_int() == comm_.world_size()) return;
  if (in_step_ && (was_in_step == nullptr || was_in_step->to_bool())) return;
  throw UsageError(
      "ckpt_path: the checkpoint was saved inside an epoch by ", ranks->to_int(),
      ranks->to_int() == 1 ? " rank" : " ranks", ", and there are ", comm_.world_size(),
      " now; each rank reads data of its own here, of which the "
      "places of others say nothing. Resume with ",
      ranks->to_int(),
      ", or from a checkpoint of an epoch's end; of Tar shards, data.ranks_take: samples lets any number of "
      "ranks resume");
}

std::optional<data::LoadedBatch> RankedLoader::next() {
  std::optional<data::LoadedBatch> loaded = loader_.next();
  if (in_step_) return loaded;
  const RanksLeft left = count_over_ranks(loaded && !loaded->absent, loaded && !loaded->last, comm_);
  ranks_with_batch_ = left.with_batch;
  if (left.with_batch == 0) return {};
  if (loaded && !loaded->absent)
    newest_ = loaded->batch;
  else if (!loaded)
    loaded.emplace().absent = true;
  loaded->last = left.with_more == 0;
  return loaded;
}

int64_t RankedLoader::ranks_with(const data::LoadedBatch& newest) {
  if (!in_step_) return ranks_with_batch_;
  // Ranks that are in step all have a batch in every round except the last.
  if (!newest.last || comm_.world_size() == 1) return comm_.world_size();
  return count_over_ranks(!newest.absent, /*has_more=*/false, comm_).with_batch;
}

Batch RankedLoader::stand_in(int64_t epoch) {
  if (!newest_) {
    const RngGuard generator_as_before;
    const State place = loader_.state_dict();
    loader_.set_epoch(epoch);
    if (const std::optional<data::LoadedBatch> first = loader_.next()) newest_ = first->batch;
    loader_.load_state_dict(place);
  }
  if (!newest_)
    throw UsageError("fit: rank ", comm_.rank(), " of ", comm_.world_size(),
                     " got no batch at all; train with fewer ranks, or with more data (files, for Tar)");
  return *newest_;
}

void seed_loaders(const RunParts& parts, const data::Loaders& loaders) {
  if (!parts.options->seed) return;
  for (const auto& loader : loaders) loader->set_default_seed(static_cast<uint64_t>(*parts.options->seed));
}

void divide_among_ranks(const RunParts& parts, const data::Loaders& loaders) {
  const Comm& ranks = parts.comm();
  if (ranks.world_size() == 1 || !parts.options->use_distributed_sampler) return;
  for (const auto& loader : loaders) loader->shard(ranks.rank(), ranks.world_size());
}

}  // namespace levin
