#include <levin/trainer/session/session.h>
#include <levin/core/system/error.h>
#include <levin/data/loading/batch_weight.h>
#include <levin/trainer/session/session_impl.h>

namespace levin {

Session::Session(SessionSetup setup) : impl_(std::make_unique<Impl>(std::move(setup))) {}
Session::Session(Session&& other) noexcept = default;
Session& Session::operator=(Session&& other) noexcept {
  if (this == &other) return *this;
  {
    const Session replaced(std::move(*this));
  }
  impl_ = std::move(other.impl_);
  return *this;
}
Session::~Session() {
  if (!impl_) return;
  const RunScope scope = impl_->assembly().scope();  // loaders may warn when they end
  impl_->finish_or_fail();
  impl_.reset();
}

Session::Impl& Session::impl() const {
  if (!impl_) throw UsageError("Session: the object was moved from");
  return *impl_;
}

StepResult Session::step(Batch batch) {
  const int64_t samples = weight_of_batch(batch);
  return impl().step({.batch = std::move(batch), .samples = samples});
}
StepResult Session::step(data::LoadedBatch batch) { return impl().step(std::move(batch)); }
StepResult Session::step_on(std::function<StepOutput()> loss) {
  HostLossStep program(std::move(loss));
  return impl().step({.samples = 1}, &program);
}
void Session::end_epoch() { impl().end_epoch(); }
bool Session::next() { return impl().next(); }
bool Session::is_over() const { return impl().is_over(); }
std::vector<Metrics> Session::validate(data::Loaders loaders) { return impl().validate(std::move(loaders)); }
SessionLoader Session::loader(data::Loaders loaders) {
  impl().set_loader(std::move(loaders));
  return SessionLoader(*impl_);
}
data::LoadedBatch SessionLoader::next() { return session_->next_batch(); }
std::optional<int64_t> SessionLoader::batches() const { return session_->loader().batches(); }

namespace {

/// Returns the options of a value that is logged between batches as those of a step's value.
LogOptions of_step(LogOptions options) {
  if (!options.on_step) options.on_step = true;
  if (!options.on_epoch) options.on_epoch = false;
  return options;
}

}  // namespace

void Session::log(const std::string& name, const at::Tensor& value, LogOptions options) {
  impl().check_running("log");
  impl_->run().state.sink.log(name, value, of_step(std::move(options)));
}
void Session::log(const std::string& name, double value, LogOptions options) {
  impl().check_running("log");
  impl_->run().state.sink.log(name, value, of_step(std::move(options)));
}

bool Session::due_to_save() const { return impl().due_to_save(); }
void Session::save(const std::filesystem::path& path, SaveCheckpointOptions how) { impl().save(path, std::move(how)); }
void Session::register_state(const std::string& name, std::function<State()> save,
                             std::function<void(const State&)> load) {
  impl().register_state(name, std::move(save), std::move(load));
}
RunResult Session::finish() { return impl().finish(); }

void Session::request_stop(const std::string& reason) { impl().control.request_stop(reason); }
void Session::request_save(const std::filesystem::path& path) { impl().control.request_save(path); }
void Session::pause() { impl().control.pause(); }
void Session::resume() { impl().control.resume(); }
SessionState Session::state() const { return impl().control.state(); }
PublishedWeights Session::published() const { return impl().weights->newest(); }
std::unique_lock<std::mutex> Session::update_lock() const {
  impl().refuse_inside("update_lock");
  return std::unique_lock(impl_->updates);
}

std::vector<std::string> Session::warnings() const { return impl().assembly().warnings(); }
at::Generator Session::generator() const { return impl().assembly().generator(); }

void Session::publish() {
  impl().check_running("publish");
  impl_->weights->publish(impl_->run().module(), impl_->run().state.counters.global_step);
}
void Session::on_progress(std::function<void(const SessionState&)> callback, double every_seconds) {
  impl().progress = std::move(callback);
  impl_->progress_every_seconds = every_seconds;
}
LightningModule& Session::module() {
  impl().run().check_module_exists("Session::module");
  return impl_->run().module();
}
Run& Session::run() { return impl().run().view; }
LightningOptimizer Session::optimizer(size_t index) { return module().optimizer(index); }

}  // namespace levin
