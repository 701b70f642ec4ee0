#pragma once
#include <string>
#include <vector>

namespace levin {

/// Returns the differences between two configs (JSON texts), one per path: "trainer.max_epochs: 3 (it was 2)". Empty if
/// one of them is not a JSON object.
std::vector<std::string> config_changes(const std::string& before, const std::string& now);

/// The config of a run that is resumed with the checkpoint's options of optimizers and schedulers.
struct ResumedConfig {
  std::string json = {};                         ///< the present one, but with the saved values where they count
  std::vector<std::string> without_effect = {};  ///< a sentence for each value that does not count
};

/// Returns what counts of the present config: of `model.optimizer`, `model.lr_scheduler` and `model.weights` the
/// checkpoint's values do. A scheduler's options that its state does not hold count as they are now.
ResumedConfig config_of_resumed_run(const std::string& before, const std::string& now);

}  // namespace levin
