#include <levin/data/python/python_rank_loader.h>

namespace levin::data {

Loader& PythonRankLoader::loader() const {
  if (!loader_) {
    loader_ = make_(rank_, world_);
    if (seed_) loader_->set_default_seed(*seed_);
  }
  return *loader_;
}

void PythonRankLoader::set_default_seed(uint64_t seed) {
  seed_ = seed;
  if (loader_) loader_->set_default_seed(seed);
}

void PythonRankLoader::shard(int64_t rank, int64_t world) {
  if (rank == rank_ && world == world_) return;
  rank_ = rank;
  world_ = world;
  loader_ = nullptr;
}

}  // namespace levin::data
