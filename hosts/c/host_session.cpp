#include <levin/hosts/c/host_session.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/util/ScopeExit.h>
#include <levin/core/device/own_generator.h>
#include <levin/hosts/c/host_config.h>
#include <levin/hosts/c/status.h>
#include <levin/trainer/loops/validation_schedule.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/precision/make_precision.h>
#include <levin/trainer/trainer_impl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace levin::c {
namespace {

constexpr size_t kMostArrays = 64;  ///< of a batch that a source gives

/// Asks the host for a batch; nothing: the epoch is over.
std::optional<Batch> batch_of(const levin_source& source, int64_t epoch, int64_t batch, const ModuleInputs& inputs) {
  std::vector<levin_array> arrays(kMostArrays, LEVIN_INIT(levin_array));
  size_t count = 0;
  check_host(source.next(source.context, epoch, batch, arrays.data(), arrays.size(), &count), "next");
  if (count == 0) return {};
  if (count > arrays.size()) throw Error("the host's function next gave ", count, " arrays, at most ", arrays.size());
  return BatchMaker().make(arrays.data(), count, inputs.dtypes()).clone();
}

const levin_source& checked(const levin_source& source) {
  if (sized(&source, "the source").next == nullptr) throw UsageError("the source has no function next");
  return source;
}

data::StreamLoader loader_of(const levin_source& source, const ModuleInputs& inputs) {
  return data::StreamLoader([source, inputs](int64_t epoch, int64_t batches) -> data::StreamLoader::Stream {
    return [source, inputs, epoch, next = batches]() mutable { return batch_of(source, epoch, next++, inputs); };
  });
}

[[noreturn]] void refuse_without_gradients() {
  throw UsageError("the calls have no gradient: no output was given one, or the model has nothing to train");
}

/// Returns a loss with this value and the gradients that the calls were given.
at::Tensor loss_of(const std::vector<std::shared_ptr<Call>>& calls, double value) {
  at::Tensor loss;
  for (const std::shared_ptr<Call>& call : calls) {
    const at::Tensor part = call->surrogate_loss();
    if (part.defined()) loss = loss.defined() ? loss + part : part;
  }
  if (!loss.defined()) refuse_without_gradients();
  return (loss - loss.detach()) + value;  // 0 and the value: the other order would round the value to the sum's digits
}

}  // namespace

Sessions& sessions() {
  static auto& all = *new Sessions("a session");
  return all;
}

HostSession::HostSession(const levin_session_options& options) {
  if (options.ranks != nullptr) ranks_.emplace(*options.ranks);  // they are released also after an error
  const cli::Config config = read_config(given(options.config, "options.config"));
  std::optional<LaunchEnvironment> environment;
  if (ranks_) {
    ranks_->meet(timeout_of(config));
    environment = ranks_->environment();
  } else if (options.join_launcher != 0) {
    environment = find_launch_environment();
  }
  const cli::ReadOptions read = cli::read_run_options(config, environment);
  options_.emplace(read.resolved);
  if (options.log_sink != nullptr) {
    if (sized(options.log_sink, "options.log_sink").log == nullptr)
      throw UsageError("options.log_sink has no function log");
    log_sink_ = *options.log_sink;
  }
  model_ = options.model != nullptr ? models().at(options.model) : std::make_shared<Model>(make_model(read));
  cuda_stream_ = options.cuda_stream;
  trainer_ = Trainer::Impl::make({read.resolved, choose_placement(read.resolved, visible_gpus(), environment)});
  if (options.batches_per_epoch < 0)
    throw UsageError("options.batches_per_epoch is ", options.batches_per_epoch, ", expected at least 0");
  SessionOptions session{.ckpt_path = text_of(options.ckpt_path), .host_saves = options.host_saves != 0};
  if (options.batches_per_epoch > 0) session.batches_per_epoch = options.batches_per_epoch;
  session_.emplace(trainer_->start(model_->module(), session));
  precision_ = make_precision(read.resolved->precision, /*master_weights=*/false, model_->module()->device(),
                              /*sets_default_dtype=*/false);
}

c10::OptionalStreamGuard HostSession::on_stream() const {
  if (cuda_stream_ == nullptr) return c10::OptionalStreamGuard();
  const c10::Device device = model_->module()->device();
  if (!device.is_cuda()) return c10::OptionalStreamGuard();
  // The number of a stream that LibTorch did not make is its address.
  return c10::OptionalStreamGuard(
      c10::Stream(c10::Stream::UNSAFE, device, static_cast<c10::StreamId>(reinterpret_cast<intptr_t>(cuda_stream_))));
}

void HostSession::take(StepResult result, levin_step_result* given_result) {
  newest_loss_ = std::move(result.loss);
  if (given_result != nullptr) {
    given_result->trained = result.trained;
    given_result->stepped = result.stepped;
    given_result->skipped = result.skipped;
    given_result->ended_epoch = result.ended_epoch;
  }
  tell_metrics();
}

void HostSession::tell_metrics() {
  if (!log_sink_) return;
  const Metrics& now = session_->run().metrics();
  const TrainerState& state = session_->run().state();
  for (const auto& [name, value] : now) {
    const auto [told, is_new] = told_.try_emplace(name, value);
    const bool is_same = !is_new && (told->second == value || (std::isnan(told->second) && std::isnan(value)));
    if (is_same) continue;
    told->second = value;
    log_sink_->log(log_sink_->context, name.c_str(), value, state.global_step, state.epoch);
  }
}

bool HostSession::next() {
  const c10::OptionalStreamGuard stream = on_stream();
  const bool wanted = session_->next();
  tell_metrics();
  return wanted;
}

void HostSession::step(const levin_array* inputs, size_t count, levin_step_result* result) {
  const c10::OptionalStreamGuard stream = on_stream();
  take(session_->step(batches_.make(inputs, count, model_->inputs().dtypes())), result);
}

void HostSession::step_calls(double loss, const std::vector<std::shared_ptr<Call>>& calls, levin_step_result* result) {
  refuse_divided_weights();
  // Refused before the step begins, for an error inside of it would end the session.
  bool have_loss = false;
  for (const std::shared_ptr<Call>& call : calls) {
    if (call->module() != model_->module().get()) throw UsageError("a call is of another model than the session's");
    if (std::ranges::count(calls, call) > 1) throw UsageError("a call is twice among the step's calls");
    have_loss = call->has_loss() || have_loss;
  }
  if (!have_loss) refuse_without_gradients();
  const c10::OptionalStreamGuard stream = on_stream();
  bool is_first = true;
  take(session_->step([&]() -> StepOutput {
    if (!std::exchange(is_first, false))
      throw UsageError("the optimizer evaluates its loss several times; use levin_session_step_loss");
    return loss_of(calls, loss);
  }),
       result);
}

void HostSession::step_loss(const std::function<double()>& function, levin_step_result* result) {
  const c10::OptionalStreamGuard stream = on_stream();
  take(session_->step([&]() -> StepOutput {
    calls_of_step_.clear();
    is_in_loss_ = true;
    const auto leave = c10::make_scope_exit([&] { is_in_loss_ = false; });
    const double value = function();
    return loss_of(std::exchange(calls_of_step_, {}), value);
  }),
       result);
}

void HostSession::refuse_divided_weights() const {
  if (model_->inputs().are_weights_divided())
    throw UsageError(
        "the strategy divides the weights among the ranks between the steps (fsdp); make the calls inside of "
        "levin_session_step_loss");
}

std::shared_ptr<Call> HostSession::call(const levin_array* inputs, size_t count, const char* function, int32_t wanted) {
  if (!is_in_loss_) refuse_divided_weights();
  const c10::OptionalStreamGuard stream = on_stream();
  const GeneratorScope generator(session_->generator());
  const auto in_precision = [&](const std::function<void()>& run) { precision_->forward_context(run); };
  const Call::Asked asked{.function = function, .wanted = wanted, .is_for_step = true};
  auto made = std::make_shared<Call>(*model_, inputs, count, asked, in_precision);
  if (is_in_loss_) calls_of_step_.push_back(made);
  return made;
}

double HostSession::loss() const {
  return newest_loss_.defined() ? newest_loss_.item<double>() : std::numeric_limits<double>::quiet_NaN();
}

void HostSession::end_epoch() {
  const c10::OptionalStreamGuard stream = on_stream();
  session_->end_epoch();
  tell_metrics();
}

void HostSession::validate(const levin_source& source) {
  const c10::OptionalStreamGuard stream = on_stream();
  session_->validate(loader_of(checked(source), model_->inputs()));
  tell_metrics();
}

void HostSession::fit(const levin_source& train, const levin_source* validation) {
  const c10::OptionalStreamGuard stream = on_stream();
  if (validation != nullptr) checked(*validation);
  const bool validates = validation != nullptr && !(*options_)->limit_val_batches.is_none();
  SessionLoader batches = session_->loader(loader_of(checked(train), model_->inputs()));
  ValidationSchedule schedule(*options_);
  if (validates) schedule.set_epoch_batches(batches.batches());
  while (next()) {
    const StepResult result = session_->step(batches.next());
    newest_loss_ = result.loss;
    tell_metrics();
    const TrainerState& state = session_->run().state();
    if (validates && schedule.due(state, result.ended_epoch, state.time_to_validate)) validate(*validation);
  }
}

RunResult HostSession::finish() {
  RunResult result = session_->finish();
  is_finished_ = true;
  tell_metrics();
  return result;
}

void HostSession::publish() {
  session_->publish();
  publications_->count.fetch_add(1, std::memory_order_release);
}

void HostSession::close() noexcept {
  if (!std::exchange(is_finished_, true)) guarded("levin_session_destroy", [&] { session_->finish(); });
  const std::lock_guard lock(publications_->mutex);
  publications_->last = session_->published();
}

}  // namespace levin::c
