#pragma once
#include <levin/core/options/option_type.h>
#include <levin/modules/observers/flop_counter.h>
#include <levin/program/profile/probe_data.h>
#include <levin/program/profile/profile.h>
#include <levin/program/profile/step_watch.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace levin {

class Trainer;

/// One trial fit: some train batches that are not measured, then those that are.
struct ProfileTrial {
  Json config = {};
  ProfileProbe probe = {};
  bool operator==(const ProfileTrial&) const = default;
};

/// What a trial measured, from the begin of one train batch to the begin of another: loading, hooks, logs, saves and
/// validations between them count.
struct TrialMeasure {
  int64_t batches = 0, samples = 0;
  double seconds = 0;
  double waited_seconds = 0;  ///< of `seconds`: the training thread was ready, and others had the cores
  double cpu_seconds = 0;     ///< of all threads, in user mode
  int64_t validations = 0;

  double samples_per_second() const { return static_cast<double>(samples) / seconds; }
  /// As if the training thread had never waited for a core.
  double samples_per_own_second() const { return static_cast<double>(samples) / (seconds - waited_seconds); }
  double samples_per_cpu_second() const { return static_cast<double>(samples) / cpu_seconds; }
};

/// What is known of the run before anything is changed.
struct ProfileFacts {
  int64_t world_size = 1;
  bool on_gpu = false;
  bool has_convolution = false;  ///< a parameter of four dimensions
  bool has_batch_hooks = false;  ///< of the data or the module
  bool has_non_contiguous = false;
  bool is_automatic = true;       ///< automatic optimization
  int64_t batches_per_epoch = 0;  ///< 0: not known
  int64_t samples_per_batch = 0;
  int64_t batch_bytes = 0;
  double flops_per_step = 0;
  std::map<MatrixProduct, int64_t> products = {};  ///< of a step, with their calls
  int64_t optimizer_bytes = 0;                     ///< that a step of the optimizers reads and writes
  int64_t gradient_bytes = 0;                      ///< that ranks exchange; 0 with one process
  bool validates = false;                          ///< in the first trials
};

/// Runs trials of a subject. What they write goes into a temporary folder, which the destructor removes.
class TrialRunner {
 public:
  /// `config` is that of `subject`, which must outlive the object.
  TrialRunner(const ProfileSubject& subject, const Json& config);
  ~TrialRunner();
  TrialRunner(const TrialRunner&) = delete;
  TrialRunner& operator=(const TrialRunner&) = delete;

  /// Runs `warmup` batches and measures `batches` more. With `facts` or `watch` it fills these, and the times are of no
  /// use. All ranks return rank 0's measure. Throws levin::Error after a signal that asks to end.
  TrialMeasure run(const ProfileTrial& trial, int64_t warmup, int64_t batches, ProfileFacts* facts = nullptr,
                   StepWatch* watch = nullptr);
  int64_t trials() const { return trials_; }
  bool is_rank_zero() const { return is_rank_zero_; }

 private:
  const ProfileSubject& subject_;
  std::filesystem::path scratch_;
  std::unique_ptr<Trainer> last_;  ///< keeps the process group for the next trial
  int64_t trials_ = 0;
  bool is_rank_zero_ = true;
};

}  // namespace levin
