#include <levin/callbacks/model_checkpoint.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <levin/callbacks/callbacks_of.h>
#include <levin/callbacks/checkpoint_name.h>
#include <levin/core/run/absent_metric.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/signals.h>
#include <levin/data/remote/local_path.h>
#include <levin/data/remote/upload.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace levin {
namespace fs = std::filesystem;
namespace {

constexpr const char* kExtension = ".ckpt";
constexpr const char* kLast = "last";

void check_triggers(const ModelCheckpointOptions& o) {
  const int given = (o.every_n_train_steps.value_or(0) > 0) + (o.every_n_epochs.value_or(0) > 0) +
                    static_cast<int>(o.train_time_interval.has_value());
  if (given > 1)
    throw UsageError(
        "ModelCheckpoint: every_n_train_steps, every_n_epochs and train_time_interval exclude each other; add a "
        "ModelCheckpoint for each");
  if (!o.monitor && o.save_top_k > 1)
    throw UsageError("ModelCheckpoint.save_top_k: ", o.save_top_k,
                     " needs a monitor, the metric that says which are the best; without one give -1, 0 or 1");
}

std::string filled_name(const ModelCheckpointOptions& options, const CheckpointNameValues& values) {
  try {
    return checkpoint_name(options.filename, values, options.auto_insert_metric_name);
  } catch (const std::invalid_argument& error) {
    throw UsageError("ModelCheckpoint.filename: ", error.what());
  }
}

/// Checks the folder before training starts, not after its first epoch.
void check_writable(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && ::access(folder.c_str(), W_OK) != 0) error.assign(errno, std::generic_category());
  if (error)
    throw UsageError("ModelCheckpoint.dirpath: ", folder.string(), " cannot be written to: ", error.message(),
                     "; choose another folder, or set enable_checkpointing to false");
}

State score_state(std::optional<double> score) {
  return score ? State(at::scalar_tensor(*score, at::TensorOptions(at::kDouble))) : State();
}

std::optional<double> score_in(const State& state) {
  if (state.is_none()) return {};
  return state.is_tensor() ? state.to_tensor().item<double>() : state.to_double();
}

bool of_rank_zero(bool own, Comm& comm) {
  if (comm.processes() == 1) return own;
  at::Tensor flag = at::full({1}, own ? 1 : 0, at::TensorOptions(at::kByte));
  comm.broadcast(flag, 0);
  return *flag.const_data_ptr<uint8_t>() != 0;
}

/// Returns whether a path, as it is written, leads to a file in the folder or in a folder below it.
bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path rest = path.lexically_normal().lexically_relative(folder);
  return !rest.empty() && *rest.begin() != ".." && *rest.begin() != ".";
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "ModelCheckpoint");
  check_triggers(options_);
  filled_name(options_, {});
  if (!options_.every_n_epochs && !options_.every_n_train_steps && !options_.train_time_interval)
    options_.every_n_epochs = 1;
}

void ModelCheckpoint::on_fit_start(Run& run) {
  const bool is_own = options_.dirpath.empty() || is_uploading();
  folder_ = is_own ? run.checkpoint_folder() : fs::path(options_.dirpath);
  folder_ = fs::absolute(folder_).lexically_normal();
  if (run.comm().is_global_zero()) check_writable(folder_);
  if (run.comm().is_global_zero() && is_uploading()) check_can_upload("ModelCheckpoint.dirpath", options_.dirpath);
  // The files of another folder do not belong to this run, which must not remove them, whatever a checkpoint says.
  const bool has_moved = !loaded_folder_.empty() && loaded_folder_ != folder_.string();
  std::erase_if(best_k_models_, [&](const Scored& one) { return has_moved || !is_below(one.first, folder_); });
  if (best_k_models_.empty()) best_model_score_.reset();
  if (has_moved) last_model_path_.clear();
}

void ModelCheckpoint::on_train_start(Run& /*run*/) {
  looked_at_clock_ = std::chrono::steady_clock::now();
  has_saved_ = false;
}

/// Also true after a signal: the trainer then saves its own checkpoint, and little time is left.
bool ModelCheckpoint::saved_already(Run& run) const {
  return saved_step_ == run.state().global_step || received_signal() != 0;
}

bool ModelCheckpoint::saves_train_epochs(Run& run) const {
  return options_.save_on_train_epoch_end.value_or(run.validates_once_per_epoch());
}

bool ModelCheckpoint::every_epoch(Run& run) const {
  const int64_t n = options_.every_n_epochs.value_or(0);
  return n > 0 && (run.state().epoch + 1) % n == 0;
}

void ModelCheckpoint::on_train_batch_end(Run& run) { after_step(run); }

void ModelCheckpoint::after_step(Run& run) {
  if (saved_already(run)) return;
  const int64_t n = options_.every_n_train_steps.value_or(0);
  bool due = n > 0 && run.state().global_step % n == 0;
  if (options_.train_time_interval) {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> since = now - looked_at_clock_;
    due = since.count() >= options_.train_time_interval->seconds();
    due = of_rank_zero(due, run.comm());  // the ranks' clocks differ, and all ranks save together
    if (due) looked_at_clock_ = now;
  }
  if (!due) return;
  if (options_.monitor && !run.metric(*options_.monitor))
    waits_for_validation_ = true;
  else
    save(run);
}

void ModelCheckpoint::on_train_epoch_end(Run& run) {
  if (saves_train_epochs(run) && every_epoch(run) && !saved_already(run)) save(run);
}

void ModelCheckpoint::on_validation_end(Run& run) {
  if (!run.fitting() || run.state().stage != Stage::Validate || saved_already(run)) return;
  if (waits_for_validation_ || (!saves_train_epochs(run) && every_epoch(run))) save(run);
  waits_for_validation_ = false;
}

bool ModelCheckpoint::last_is_behind(Run& run) const {
  if (has_saved_ || !(run.resumes_in_place() || !run.resumed_from().empty())) return false;
  const fs::path newest = !options_.monitor        ? best_model_path_
                          : best_k_models_.empty() ? fs::path()
                                                   : best_k_models_.back().first;
  const fs::path last = last_path(run);
  std::error_code none;
  const bool is_behind =
      fs::exists(newest, none) && is_below(newest, folder_) && !fs::equivalent(last, newest, none) &&
      (!fs::exists(last, none) || fs::last_write_time(last, none) < fs::last_write_time(newest, none));
  return of_rank_zero(is_behind, run.comm());
}

/// Saves the training since the newest save, which would otherwise be lost.
void ModelCheckpoint::on_train_end(Run& run) {
  if (!options_.save_last || received_signal() != 0) return;
  if (saved_already(run) && !last_is_behind(run)) return;
  saved_step_ = run.state().global_step;
  last_model_path_ = last_path(run);
  run.save_checkpoint(last_model_path_, {.weights_only = options_.save_weights_only, .upload_to = upload_to()});
}

void ModelCheckpoint::on_fit_end(Run& run) {
  const bool needs_score = options_.monitor && options_.save_top_k != 0;
  const bool has_score = current_score_ || !best_k_models_.empty();
  if (!needs_score || has_score) return;
  if (const auto what = metric_never_came(run, "ModelCheckpoint.monitor", *options_.monitor))
    console::warn(*what + "; so no checkpoint is among the best");
}

void ModelCheckpoint::on_exception(Run& run, const std::exception& /*error*/) {
  if (!options_.save_on_exception || !run.fitting() || folder_.empty() || saved_already(run)) return;
  save(run);
}

void ModelCheckpoint::save(Run& run) {
  std::vector<fs::path> replaced;
  const std::optional<fs::path> path = place(run, replaced);
  if (!path && !options_.save_last) return;
  if (options_.save_last) last_model_path_ = last_path(run);
  saved_step_ = run.state().global_step;
  has_saved_ = true;
  SaveCheckpointOptions how{
      .weights_only = options_.save_weights_only, .then_remove = std::move(replaced), .upload_to = upload_to()};
  if (path && options_.save_last) how.link_as = last_model_path_;
  if (options_.verbose) console::info(c10::str("ModelCheckpoint: saving ", (path ? *path : last_model_path_).string()));
  run.save_checkpoint(path ? *path : last_model_path_, std::move(how));
}

std::optional<fs::path> ModelCheckpoint::place(Run& run, std::vector<fs::path>& replaced) {
  if (options_.save_top_k == 0) return {};
  if (options_.monitor) {
    const std::optional<double> score = run.metric(*options_.monitor);
    if (!score) throw UsageError("ModelCheckpoint.monitor: ", absent_metric(*options_.monitor, run.metrics()));
    return place_scored(run, *score, replaced);
  }
  if (options_.save_top_k == 1 && is_below(best_model_path_, folder_) && may_replace(run, best_model_path_))
    replaced.push_back(best_model_path_);
  best_model_path_ = new_path(run, replaced);
  return best_model_path_;
}

std::optional<fs::path> ModelCheckpoint::place_scored(Run& run, double score, std::vector<fs::path>& replaced) {
  // NaN is worse than every other value, and what is not finite is never among the best.
  if (!std::isfinite(score) && options_.save_top_k > 0) {
    current_score_ = score;
    return {};
  }
  if (std::isnan(score)) score = worst_value(options_.mode);
  current_score_ = score;
  const bool full = options_.save_top_k > 0 && static_cast<int64_t>(best_k_models_.size()) >= options_.save_top_k;
  if (full && !is_better(score, worst().second, options_.mode)) return {};
  const fs::path dropped = full ? worst().first : fs::path();
  if (full && may_replace(run, dropped)) replaced.push_back(dropped);
  const fs::path path = new_path(run, replaced);
  std::erase_if(best_k_models_, [&](const Scored& one) { return one.first == path || one.first == dropped; });
  best_k_models_.emplace_back(path, score);
  const auto best =
      std::min_element(best_k_models_.begin(), best_k_models_.end(),
                       [&](const Scored& a, const Scored& b) { return is_better(a.second, b.second, options_.mode); });
  if (!std::isfinite(best->second)) return path;
  best_model_path_ = best->first;
  best_model_score_ = best->second;
  return path;
}

fs::path ModelCheckpoint::new_path(Run& run, const std::vector<fs::path>& replaced) const {
  const std::string name = filled_name(options_, {run.state().epoch, run.state().global_step, run.metrics()});
  fs::path path = folder_ / (name + kExtension);
  // The run overwrites a file that its own killed session left; files of other runs are not touched.
  const auto is_taken = [&](const fs::path& candidate) {
    if (std::find(replaced.begin(), replaced.end(), candidate) != replaced.end()) return false;
    return is_held(run, candidate) || (!run.resumes_in_place() && (fs::exists(candidate) || is_uploaded(candidate)));
  };
  for (int version = 1; options_.enable_version_counter && is_taken(path); ++version)
    path = folder_ / (name + "-v" + std::to_string(version) + kExtension);
  return path;
}

bool ModelCheckpoint::may_replace(Run& run, const fs::path& path) const {
  for (const ModelCheckpoint* const other : savers_of(run))
    if (other != this && other->holds(path)) return false;
  if (is_uploading() && path.filename() == run.resumed_from().filename()) return false;
  std::error_code none;
  return run.resumed_from().empty() || !fs::equivalent(path, run.resumed_from(), none);
}

bool ModelCheckpoint::is_uploading() const { return is_on_server(options_.dirpath); }

std::string ModelCheckpoint::upload_to() const { return is_uploading() ? options_.dirpath : ""; }

bool ModelCheckpoint::is_uploaded(const fs::path& path) const {
  if (!is_uploading()) return false;
  return is_in_bucket(options_.dirpath + (options_.dirpath.ends_with('/') ? "" : "/") + path.filename().string());
}

std::string ModelCheckpoint::upload_folder(Run& run) {
  for (const ModelCheckpoint* const saver : savers_of(run))
    if (saver->is_uploading()) return saver->options_.dirpath;
  return "";
}

std::vector<const ModelCheckpoint*> ModelCheckpoint::savers_of(Run& run) {
  return callbacks_of<const ModelCheckpoint>(run.callbacks());
}

bool ModelCheckpoint::is_held(Run& run, const fs::path& path) const {
  return holds(path) || std::ranges::any_of(savers_of(run), [&](const auto* saver) { return saver->holds(path); });
}

bool ModelCheckpoint::holds(const fs::path& path) const {
  return path == best_model_path_ || path == last_model_path_ ||
         std::ranges::any_of(best_k_models_, [&](const Scored& one) { return one.first == path; });
}

/// The savers of a folder have a last file each: one may save weights alone, or save more rarely.
fs::path ModelCheckpoint::last_path(Run& run) const {
  int64_t before = 0;
  for (const ModelCheckpoint* const saver : savers_of(run)) {
    if (saver == this) break;
    if (saver->options_.save_last && saver->folder_ == folder_) ++before;
  }
  return folder_ / (before == 0 ? kLast + std::string(kExtension) : c10::str(kLast, "-v", before, kExtension));
}

const ModelCheckpoint::Scored& ModelCheckpoint::worst() const {
  return *std::max_element(best_k_models_.begin(), best_k_models_.end(), [&](const Scored& a, const Scored& b) {
    return is_better(a.second, b.second, options_.mode);
  });
}

std::string ModelCheckpoint::state_key() const {
  const std::string monitor = options_.monitor ? "'" + *options_.monitor + "'" : "None";
  return "ModelCheckpoint{'monitor': " + monitor + ", 'mode': '" + options_.mode.word() +
         "', 'every_n_train_steps': " + std::to_string(options_.every_n_train_steps.value_or(0)) +
         ", 'every_n_epochs': " + std::to_string(options_.every_n_epochs.value_or(0)) + ", 'train_time_interval': " +
         (options_.train_time_interval ? c10::str(options_.train_time_interval->seconds()) : "None") + "}";
}

State ModelCheckpoint::state_dict() const {
  State best = State::dict();
  for (const auto& [path, score] : best_k_models_) best[path.string()] = score_state(score);
  const bool any = !best_k_models_.empty();
  return State::dict({{"monitor", options_.monitor ? State(*options_.monitor) : State()},
                      {"best_model_score", score_state(best_model_score_)},
                      {"best_model_path", best_model_path_.string()},
                      {"current_score", score_state(current_score_)},
                      {"dirpath", folder_.string()},
                      {"best_k_models", std::move(best)},
                      {"kth_best_model_path", any ? worst().first.string() : ""},
                      {"kth_value", score_state(any ? worst().second : worst_value(options_.mode))},
                      {"last_model_path", last_model_path_.string()},
                      {"saved_step", saved_step_}});
}

void ModelCheckpoint::load_state_dict(const State& state) {
  loaded_folder_ = state.at("dirpath").is_none() ? "" : state.at("dirpath").to_string();
  best_model_score_ = score_in(state.at("best_model_score"));
  best_model_path_ = state.at("best_model_path").to_string();
  current_score_ = score_in(state.at("current_score"));
  last_model_path_ = state.at("last_model_path").to_string();
  best_k_models_.clear();
  for (const auto& [path, score] : state.at("best_k_models").to_dict())
    best_k_models_.emplace_back(to_text(path), score_in(score).value_or(0));
  if (const State* step = state.find("saved_step")) saved_step_ = step->to_int();
}

}  // namespace levin
