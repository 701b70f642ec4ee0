#include <levin/trainer/compiled/step_input.h>

namespace levin::compiled {

std::string_view to_string(InputKind kind) {
  constexpr std::string_view kNames[] = {"parameter", "frozen", "buffer", "batch"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace levin::compiled
