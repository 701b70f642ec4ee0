#pragma once
#include <c10/core/StreamGuard.h>
#include <levin/hosts/c/arrays.h>
#include <levin/hosts/c/call.h>
#include <levin/hosts/c/handles.h>
#include <levin/hosts/c/host_ranks.h>
#include <levin/hosts/c/model.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/precision/precision_plugin.h>
#include <levin/trainer/session/session.h>
#include <levin/trainer/trainer.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin::c {

/// What readers know of a session's publications, also after its end.
struct Publications {
  std::atomic<int64_t> count = 0;
  std::mutex mutex = {};
  PublishedWeights last = {};  ///< once the session has ended; `mutex` guards it
};

/// A session for the host, with what outlives a call of the interface.
class HostSession {
 public:
  explicit HostSession(const levin_session_options& options);

  Session& session() { return *session_; }
  const std::shared_ptr<Model>& model() const { return model_; }

  bool next();
  void step(const levin_array* inputs, size_t count, levin_step_result* result);
  /// Trains on the gradients that the calls were given.
  void step_calls(double loss, const std::vector<std::shared_ptr<Call>>& calls, levin_step_result* result);
  /// Calls `function` in the step; the calls that it makes are the step's.
  void step_loss(const std::function<double()>& function, levin_step_result* result);
  std::shared_ptr<Call> call(const levin_array* inputs, size_t count, const char* function, int32_t wanted);
  double loss() const;
  void end_epoch();
  void validate(const levin_source& source);
  void fit(const levin_source& train, const levin_source* validation);
  RunResult finish();
  void publish();
  const std::shared_ptr<Publications>& publications() const { return publications_; }
  /// Gives a copy of the model the dtypes of the run's precision.
  void convert(LightningModule& copy) const { precision_->convert_module(copy); }
  /// Finishes the session unless that was done; what goes wrong is dropped.
  void close() noexcept;

 private:
  /// While it lives, work for the run's device goes to the host's stream, if it gave one.
  c10::OptionalStreamGuard on_stream() const;
  void take(StepResult result, levin_step_result* given_result);
  /// Throws levin::UsageError if a call outside of a step would find a part of the weights alone.
  void refuse_divided_weights() const;
  /// Hands the metrics that have new values to the host.
  void tell_metrics();

  std::shared_ptr<Publications> publications_ = std::make_shared<Publications>();
  std::shared_ptr<Model> model_;
  void* cuda_stream_ = nullptr;
  std::optional<levin_log_sink> log_sink_ = {};
  Metrics told_ = {};
  std::optional<HostRanks> ranks_ = {};
  std::optional<ResolvedOptions> options_ = {};
  std::unique_ptr<Trainer> trainer_ = {};
  std::unique_ptr<PrecisionPlugin> precision_ = {};
  std::optional<Session> session_ = {};
  BatchMaker batches_ = {};
  at::Tensor newest_loss_ = {};
  bool is_in_loss_ = false, is_finished_ = false;
  std::vector<std::shared_ptr<Call>> calls_of_step_ = {};
};

using Sessions = Handles<levin_session, HostSession>;
Sessions& sessions();

}  // namespace levin::c
