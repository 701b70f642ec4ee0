#include <levin/data/combined_loader.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <set>

namespace levin::data {
namespace {

/// The epoch number that orders a restarted loader: beyond the numbers of real epochs, within the 32 bits that the
/// sampler uses.
int64_t epoch_of(int64_t epoch, int64_t restarts) { return epoch + (restarts << 20); }

std::vector<CombinedLoader::Named> numbered(const Loaders& loaders) {
  std::vector<CombinedLoader::Named> named;
  for (const auto& loader : loaders) named.emplace_back(std::to_string(named.size()), loader);
  return named;
}

}  // namespace

const Batch& CombinedBatch::operator[](const std::string& name) const {
  std::string names;
  for (const auto& [own_name, batch] : batches) {
    if (own_name == name) return batch;
    names += (names.empty() ? "" : ", ") + own_name;
  }
  throw Error("no loader '", name, "' in this batch; there are: ", names);
}

int64_t CombinedBatch::size() const {
  for (const auto& entry : batches)
    if (!entry.second.empty()) return entry.second.size();
  return 0;
}

CombinedBatch CombinedBatch::to(c10::Device device, bool non_blocking) const {
  CombinedBatch moved;
  for (const auto& [name, batch] : batches) moved.batches.emplace_back(name, batch.to(device, non_blocking));
  return moved;
}

CombinedBatch CombinedBatch::to(at::ScalarType dtype) const {
  CombinedBatch converted;
  for (const auto& [name, batch] : batches) converted.batches.emplace_back(name, batch.to(dtype));
  return converted;
}

CombinedBatch CombinedBatch::pin_memory() const {
  CombinedBatch pinned;
  for (const auto& [name, batch] : batches) pinned.batches.emplace_back(name, batch.pin_memory());
  return pinned;
}

CombinedBatch CombinedBatch::narrow(int64_t start, int64_t length) const {
  CombinedBatch part;
  for (const auto& [name, batch] : batches) {
    if (!batch.empty() && batch.size() != size())
      throw Error("the combined batch cannot be split: loader '", name, "' gave ", batch.size(),
                  " samples and another ", size(),
                  "; give the loaders one batch_size and drop_last, or train on one device");
    part.batches.emplace_back(name, batch.empty() ? batch : batch.narrow(start, length));
  }
  return part;
}

CombinedLoader::CombinedLoader(const Loaders& loaders, CombinedMode mode) : CombinedLoader(numbered(loaders), mode) {}

CombinedLoader::CombinedLoader(std::vector<Named> loaders, CombinedMode mode) : mode_(mode) {
  if (loaders.empty()) throw UsageError("CombinedLoader: expected at least one loader");
  std::set<std::string> names;
  for (auto& [name, entry] : loaders) {
    if (!names.insert(name).second) throw UsageError("CombinedLoader: the name '", name, "' is given twice");
    parts_.push_back({.name = name, .loader = std::move(entry.loader)});
  }
}

std::optional<LoadedBatch> CombinedLoader::next() {
  if (epoch_done()) return {};
  CombinedBatch combined;
  LoadedBatch loaded;
  loaded.absent = true;
  for (Part& part : parts_) {
    std::optional<LoadedBatch> one = next_of(part);
    if (!one && mode_ == CombinedMode::MinSize) return {};
    if (one) loaded.samples += one->samples;
    if (one && !one->absent) loaded.absent = false;
    combined.batches.emplace_back(part.name, one ? std::move(one->batch) : Batch());
  }
  loaded.batch = std::move(combined);
  loaded.last = epoch_done();
  return loaded;
}

/// Returns the next batch of one loader; in mode MaxSizeCycle an ended loader restarts.
std::optional<LoadedBatch> CombinedLoader::next_of(Part& part) {
  if (part.ended && mode_ != CombinedMode::MaxSizeCycle) return {};
  std::optional<LoadedBatch> loaded = part.loader->next();
  if (!loaded) {
    part.ended = true;
    if (mode_ != CombinedMode::MaxSizeCycle) return {};
    part.restarts += 1;
    part.loader->set_epoch(epoch_of(epoch_, part.restarts));
    loaded = part.loader->next();
    if (!loaded) throw UsageError("CombinedLoader: the loader '", part.name, "' gave no batch");
  }
  if (loaded->last) part.ended = true;
  return loaded;
}

bool CombinedLoader::epoch_done() const {
  const auto ended = [](const Part& part) { return part.ended; };
  return mode_ == CombinedMode::MinSize ? std::any_of(parts_.begin(), parts_.end(), ended)
                                        : std::all_of(parts_.begin(), parts_.end(), ended);
}

std::optional<int64_t> CombinedLoader::size() const {
  std::optional<int64_t> batches;
  for (const Part& part : parts_) {
    const std::optional<int64_t> own = part.loader->size();
    if (!own) return {};
    if (!batches)
      batches = own;
    else
      batches = mode_ == CombinedMode::MinSize ? std::min(*batches, *own) : std::max(*batches, *own);
  }
  return batches;
}

void CombinedLoader::set_epoch(int64_t epoch) {
  epoch_ = epoch;
  for (Part& part : parts_) {
    part.restarts = 0;
    part.ended = false;
    part.loader->set_epoch(epoch);
  }
}

void CombinedLoader::set_default_seed(uint64_t seed) {
  for (Part& part : parts_) part.loader->set_default_seed(seed);
}

bool CombinedLoader::use_sequential_order() {
  bool all = true;
  for (Part& part : parts_) all = part.loader->use_sequential_order() && all;
  return all;
}

void CombinedLoader::shard(int64_t rank, int64_t world) {
  for (Part& part : parts_) part.loader->shard(rank, world);
}

bool CombinedLoader::in_step() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.loader->in_step(); });
}

State CombinedLoader::state_dict() const {
  State loaders = State::dict();
  for (const Part& part : parts_)
    loaders[part.name] =
        State::dict({{"loader", part.loader->state_dict()}, {"restarts", part.restarts}, {"ended", part.ended}});
  return State::dict({{"epoch", epoch_}, {"loaders", std::move(loaders)}});
}

void CombinedLoader::load_state_dict(const State& state) {
  epoch_ = state.at("epoch").to_int();
  for (Part& part : parts_) {
    const State& saved = state.at("loaders").at(part.name);
    part.restarts = saved.at("restarts").to_int();
    part.ended = saved.at("ended").to_bool();
    part.loader->load_state_dict(saved.at("loader"));
  }
}

}  // namespace levin::data
