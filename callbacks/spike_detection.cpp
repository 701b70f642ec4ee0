#include <levin/callbacks/spike_detection.h>
#include <ATen/ops/full.h>
#include <levin/core/run/batch_counts.h>
#include <levin/core/state/atomic_file.h>
#include <levin/data/remote/output_place.h>
#include <levin/modules/step_output.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

namespace levin {
namespace {

bool any_rank(bool own, Comm& comm) {
  if (comm.world_size() == 1) return own;
  at::Tensor flag = at::full({1}, own ? 1.0 : 0.0, at::TensorOptions(at::kFloat));
  comm.all_reduce(flag, ReduceOp::Max);
  return flag.item<float>() > 0;
}

std::filesystem::path file_of(const std::string& given, const std::filesystem::path& folder) {
  const std::filesystem::path path = given.empty() ? folder : std::filesystem::path(given);
  return path.extension() == ".json" ? path : path / "skip_batches.json";
}

}  // namespace

SpikeDetection::SpikeDetection(SpikeDetectionOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "SpikeDetection");
  require_local("SpikeDetection.exclude_batches_path", options_.exclude_batches_path);
}

void SpikeDetection::setup(Run& run) {
  if (!run.fitting()) return;
  last_ = 0;
  running_.clear();
  bad_batches_.clear();
}

void SpikeDetection::on_train_batch_end(Run& run) {
  const at::Tensor& tensor = run.output().loss;
  const bool counts = batch_counts() && tensor.defined();
  const double loss = counts ? tensor.item<double>() : 0;  // host sync
  if (any_rank(counts && run.batch_idx() >= options_.warmup && is_spike(loss), run.comm())) end(run, loss);
  if (!counts || !std::isfinite(loss)) return;
  running_.push_back(loss);
  if (static_cast<int64_t>(running_.size()) > options_.window) running_.pop_front();
  last_ = loss;
}

bool SpikeDetection::is_spike(double loss) const {
  if (!std::isfinite(loss)) return options_.finite_only;
  if (running_.empty() || !is_better(last_, loss, options_.mode)) return false;
  const double mean = std::accumulate(running_.begin(), running_.end(), 0.0) / static_cast<double>(running_.size());
  const double distance = std::abs(loss - mean);
  return (!options_.atol || distance >= *options_.atol) &&
         (!options_.rtol || distance >= std::abs(*options_.rtol * mean));
}

void SpikeDetection::end(Run& run, double loss) {
  const int64_t batch = run.batch_idx();
  if (batch > 0) bad_batches_.push_back(batch - 1);
  bad_batches_.push_back(batch);
  const std::filesystem::path file = file_of(options_.exclude_batches_path, run.folder());
  if (run.comm().is_global_zero()) {
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
    write_text_file_atomically(file, Json(bad_batches_).dump(4) + "\n");
  }
  const double mean =
      running_.empty() ? 0
                       : std::accumulate(running_.begin(), running_.end(), 0.0) / static_cast<double>(running_.size());
  throw TrainingSpikeException(
      batch, c10::str("SpikeDetection: the loss of batch ", batch, " in epoch ", run.state().epoch, " is ", loss,
                      ", and the mean of the last ", running_.size(), " is ", mean,
                      " (or another rank's loss jumped); the batches to leave out are in ", file.string()));
}

State SpikeDetection::state_dict() const {
  State running = State::list(), bad = State::list();
  for (const double loss : running_) running.push_back(loss);
  for (const int64_t batch : bad_batches_) bad.push_back(batch);
  return State::dict({{"last_val", last_}, {"bad_batches", std::move(bad)}, {"running", std::move(running)}});
}

void SpikeDetection::load_state_dict(const State& state) {
  last_ = state.at("last_val").to_double();
  bad_batches_.clear();
  for (const State& batch : state.at("bad_batches").items()) bad_batches_.push_back(batch.to_int());
  running_.clear();
  if (const State& running = state.at("running"); running.is_list())
    for (const State& loss : running.items()) running_.push_back(loss.to_double());
}

}  // namespace levin
