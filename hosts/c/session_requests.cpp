#include <levin/hosts/c/host_session.h>
#include <levin/hosts/c/status.h>

using namespace levin::c;

namespace {

/// Keeps a text for the calling thread's next call.
const char* kept_text(std::string text) {
  thread_local std::string newest;
  newest = std::move(text);
  return newest.c_str();
}

}  // namespace

levin_status levin_session_get_state(levin_session* session, levin_session_state* state) {
  return guarded("levin_session_get_state", [&] {
    levin_session_state& filled = sized(state, "the state");
    const levin::SessionState now = sessions().at(session)->session().state();
    filled.epoch = now.epoch;
    filled.step = now.global_step;
    filled.batches = now.batches;
    filled.samples = now.samples;
    filled.seconds = now.seconds;
    filled.is_paused = now.is_paused;
    filled.is_over = now.is_over;
  });
}

levin_status levin_session_metric(levin_session* session, const char* name, double* value) {
  return guarded("levin_session_metric", [&] {
    given(value, "the value");
    const levin::Metrics metrics = sessions().at(session)->session().state().metrics;
    const auto found = metrics.find(&given(name, "the name"));
    if (found == metrics.end()) throw levin::UsageError("there is no metric ", name, " yet");
    *value = found->second;
  });
}

levin_status levin_session_metrics(levin_session* session, const char** names) {
  return guarded("levin_session_metrics", [&] {
    given(names, "the names");
    std::string lines;
    for (const auto& [name, value] : sessions().at(session)->session().state().metrics) lines += name + "\n";
    *names = kept_text(std::move(lines));
  });
}

levin_status levin_session_warnings(levin_session* session, const char** lines) {
  return guarded("levin_session_warnings", [&] {
    given(lines, "the lines");
    std::string all;
    for (const std::string& warning : sessions().at(session)->session().warnings()) all += warning + "\n";
    *lines = kept_text(std::move(all));
  });
}

levin_status levin_session_request_stop(levin_session* session, const char* reason) {
  return guarded("levin_session_request_stop", [&] {
    sessions().at(session)->session().request_stop(reason == nullptr ? "the host asked for it" : reason);
  });
}

levin_status levin_session_request_save(levin_session* session, const char* path) {
  return guarded("levin_session_request_save",
                 [&] { sessions().at(session)->session().request_save(&given(path, "the path")); });
}

levin_status levin_session_pause(levin_session* session) {
  return guarded("levin_session_pause", [&] { sessions().at(session)->session().pause(); });
}

levin_status levin_session_resume(levin_session* session) {
  return guarded("levin_session_resume", [&] { sessions().at(session)->session().resume(); });
}
