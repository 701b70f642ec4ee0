#include <levin/callbacks/prediction_writer.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/data/remote/output_place.h>

#include <filesystem>

namespace levin {
namespace {

namespace fs = std::filesystem;

State state_of_prediction(const Batch& batch) {
  if (batch.is_own())
    throw UsageError(
        "PredictionWriter: predict_step returns a struct of its own, which no file holds; return a Batch of tensors, "
        "or "
        "derive from BasePredictionWriter");
  const std::vector<std::string> names = batch.names();
  if (names == std::vector<std::string>{"input"}) return batch.input().detach();
  State state = State::dict();
  for (const std::string& name : names) {
    if (!batch.is_list(name)) {
      state[name] = batch[name].detach();
      continue;
    }
    State list = State::list();
    for (const Batch& one : batch.list(name)) list.push_back(state_of_prediction(one));
    state[name] = std::move(list);
  }
  return state;
}

fs::path folder_of_rank(const std::string& folder, Comm& comm) {
  return comm.world_size() == 1 ? fs::path(folder) : fs::path(folder) / ("rank_" + std::to_string(comm.rank()));
}

void write(const State& state, const fs::path& file, const Comm& comm) {
  if (!comm.stands_for_rank()) return;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) throw UsageError("PredictionWriter.output_dir: ", file.parent_path().string(), ": ", error.message());
  save_state(state, file);
}

}  // namespace

BasePredictionWriter::BasePredictionWriter(const Choice<WriteInterval>& write_interval)
    : on_batch_(write_interval != WriteInterval::Epoch), on_epoch_(write_interval != WriteInterval::Batch) {
  if (!write_interval.is_known())
    throw UsageError("write_interval: expected batch, epoch or batch_and_epoch, got \"", write_interval.word(), "\"");
}

void BasePredictionWriter::write_on_batch_end(Run& /*run*/, const Batch& /*prediction*/, int64_t /*batch_idx*/,
                                              int64_t /*dataloader_idx*/) {
  throw UsageError(state_key(), ": write_interval asks for each batch; override write_on_batch_end");
}

void BasePredictionWriter::write_on_epoch_end(Run& /*run*/, const std::vector<std::vector<Batch>>& /*predictions*/) {
  throw UsageError(state_key(), ": write_interval asks for the end; override write_on_epoch_end");
}

void BasePredictionWriter::on_predict_epoch_start(Run& /*run*/) { predictions_.clear(); }

void BasePredictionWriter::on_predict_batch_end(Run& run) {
  if (on_batch_) write_on_batch_end(run, run.prediction(), run.batch_idx(), run.dataloader_idx());
  if (!on_epoch_) return;
  const auto loader = static_cast<size_t>(run.dataloader_idx());
  if (predictions_.size() <= loader) predictions_.resize(loader + 1);
  predictions_[loader].push_back(run.prediction());
}

void BasePredictionWriter::on_predict_epoch_end(Run& run) {
  if (on_epoch_) write_on_epoch_end(run, predictions_);
  predictions_.clear();
}

PredictionWriter::PredictionWriter(PredictionWriterOptions options)
    : BasePredictionWriter(options.write_interval), output_dir_(std::move(options.output_dir)) {
  if (output_dir_.empty()) throw UsageError("PredictionWriter.output_dir: missing; name the folder of the files");
  require_local("PredictionWriter.output_dir", output_dir_);
}

void PredictionWriter::write_on_batch_end(Run& run, const Batch& prediction, int64_t batch_idx,
                                          int64_t dataloader_idx) {
  write(state_of_prediction(prediction),
        folder_of_rank(output_dir_, run.comm()) / std::to_string(dataloader_idx) / (std::to_string(batch_idx) + ".pt"),
        run.comm());
}

void PredictionWriter::write_on_epoch_end(Run& run, const std::vector<std::vector<Batch>>& predictions) {
  State by_loader = State::list();
  for (const std::vector<Batch>& batches : predictions) {
    State list = State::list();
    for (const Batch& batch : batches) list.push_back(state_of_prediction(batch));
    by_loader.push_back(std::move(list));
  }
  write(by_loader, folder_of_rank(output_dir_, run.comm()) / "predictions.pt", run.comm());
}

}  // namespace levin
