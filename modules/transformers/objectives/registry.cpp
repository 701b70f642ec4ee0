#include <levin/modules/transformers/objectives/distillation.h>
#include <levin/modules/transformers/objectives/dpo.h>
#include <levin/modules/transformers/objectives/objective.h>

namespace levin::nn {

Registry<ObjectiveKind::Entry>& ObjectiveKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("objective", "objectives");
    add_objective<Distillation>(made, "Distillation", "The next token, and what a larger model expects of it");
    add_objective<DPO>(made, "DPO", "Which of two completions is preferred (TextPreferences)");
    return made;
  }();
  return registry;
}

}  // namespace levin::nn
