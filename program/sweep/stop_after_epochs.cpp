#include <levin/program/sweep/stop_after_epochs.h>
#include <levin/core/system/error.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace levin::sweep {

std::shared_ptr<StopAfterEpochs> StopAfterEpochs::of_environment() {
  const char* const variable = std::getenv(kVariable);
  if (variable == nullptr) return nullptr;
  const std::string_view text(variable);
  int64_t epochs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epochs);
  if (error != std::errc() || end != text.data() + text.size() || epochs < 1)
    throw UsageError(kVariable, ": expected a whole number of at least 1, got ", variable);
  return std::make_shared<StopAfterEpochs>(epochs);
}

void StopAfterEpochs::on_train_epoch_end(Run& run) {
  const TrainerState& state = run.state();
  if (!state.last_batch || state.epoch + 1 < epochs_) return;
  run.request_stop("the sweep's rung of " + std::to_string(epochs_) + " epochs is done");
  if (!run.folder().empty()) run.save_checkpoint("rung.ckpt", {.link_as = "last.ckpt"});
}

}  // namespace levin::sweep
