#pragma once
#include <levin/data/loader.h>
#include <levin/data/loading/batch_weight.h>

#include <cstdint>
#include <optional>

namespace levin {

/// The loader of a module that makes its own data: gives empty batches without end, one by one as Session::step().
class EmptyBatches final : public data::Loader {
 public:
  std::optional<data::LoadedBatch> next() override { return data::LoadedBatch{.samples = weight_of_batch({})}; }
  std::optional<int64_t> size() const override { return {}; }
  void set_epoch(int64_t /*epoch*/) override {}
  bool use_sequential_order() override { return true; }
  void shard(int64_t /*rank*/, int64_t /*world*/) override {}
  bool in_step() const override { return true; }
  State state_dict() const override { return State::dict(); }
  void load_state_dict(const State& /*state*/) override {}
};

}  // namespace levin
