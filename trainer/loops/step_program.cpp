#include <levin/trainer/loops/step_program.h>
#include <levin/trainer/loops/captured_step.h>
#include <levin/trainer/loops/compiled_step.h>

namespace levin {

std::unique_ptr<StepProgram> make_step_program(const StepParts& parts) {
  if (parts.options->cuda_graphs) return make_captured_step(parts);
  if (!parts.options->compiled_step.empty()) return make_compiled_step(parts);
  return std::make_unique<StepProgram>();
}

}  // namespace levin
