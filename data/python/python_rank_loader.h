#pragma once
#include <levin/data/loader.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace levin::data {

/// The loader of data that a function makes for its rank, which is known only when the loader is divided: the function
/// is called then, or when the loader is first used.
class PythonRankLoader final : public Loader {
 public:
  using Make = std::function<std::unique_ptr<Loader>(int64_t rank, int64_t world)>;
  explicit PythonRankLoader(Make make) : make_(std::move(make)) {}

  std::optional<LoadedBatch> next() override { return loader().next(); }
  std::optional<int64_t> size() const override { return loader().size(); }
  void set_epoch(int64_t epoch) override { loader().set_epoch(epoch); }
  void set_default_seed(uint64_t seed) override;
  bool use_sequential_order() override { return loader().use_sequential_order(); }
  void shard(int64_t rank, int64_t world) override;
  State state_dict() const override { return loader().state_dict(); }
  void load_state_dict(const State& state) override { loader().load_state_dict(state); }

 private:
  Loader& loader() const;

  Make make_;
  int64_t rank_ = 0, world_ = 1;
  std::optional<uint64_t> seed_ = {};
  mutable std::unique_ptr<Loader> loader_ = {};
};

}  // namespace levin::data
