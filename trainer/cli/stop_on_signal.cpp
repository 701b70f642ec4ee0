#include <levin/trainer/cli/stop_on_signal.h>
#include <levin/trainer/core/signals.h>
#include <signal.h>

namespace levin::cli {
namespace {

const char* signal_name() { return received_signal() == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace

void StopOnSignal::on_train_batch_end(Run& run) {
  if (received_signal() != 0) run.request_stop(signal_name());
}

// A fit finishes its validation: the stop waits for the window's end.
void StopOnSignal::end_evaluation() const {
  if (!is_fit_ && received_signal() != 0) throw Interrupted("stopped by ", signal_name());
}

void StopOnSignal::on_validation_batch_end(Run& /*run*/) { end_evaluation(); }
void StopOnSignal::on_test_batch_end(Run& /*run*/) { end_evaluation(); }
void StopOnSignal::on_predict_batch_end(Run& /*run*/) { end_evaluation(); }

}  // namespace levin::cli
