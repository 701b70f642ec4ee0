#include <levin/trainer/precision/registry.h>
#include <levin/trainer/precision/mixed_precision.h>
#include <levin/trainer/precision/true_precision.h>

namespace levin {
namespace {

PrecisionKind::Entry true_precision(const char* name, at::ScalarType dtype) {
  return {.weights = dtype, .make = [name, dtype](const void* /*options*/, const PrecisionParts& parts) {
            return std::make_unique<TruePrecision>(name, dtype, parts.sets_default_dtype);
          }};
}

PrecisionKind::Entry mixed_precision(at::ScalarType dtype) {
  return {.make = [dtype](const void* /*options*/, const PrecisionParts& parts) {
    return std::make_unique<MixedPrecision>(parts.device.type(), dtype);
  }};
}

/// Registers levin's precisions.
void register_builtins(Registry<PrecisionKind::Entry>& registry) {
  registry.add<NoOptions>("32-true", "Nothing is converted", {.make = [](const void*, const PrecisionParts&) {
                            return std::make_unique<FullPrecision>();
                          }});
  registry.add<NoOptions>("64-true", "All floats have 64 bits", true_precision("64-true", at::kDouble));
  registry.add<NoOptions>("16-mixed", "Operations in float16 where it suffices; losses are scaled",
                          mixed_precision(at::kHalf));
  registry.add<NoOptions>("bf16-mixed", "Operations in bfloat16 where it suffices", mixed_precision(at::kBFloat16));
  registry.add<NoOptions>("16-true", "All floats are float16", true_precision("16-true", at::kHalf));
  registry.add<NoOptions>("bf16-true", "All floats are bfloat16", true_precision("bf16-true", at::kBFloat16));
}

}  // namespace

std::unique_ptr<PrecisionPlugin> PrecisionKind::Entry::operator()(const void* options,
                                                                  const PrecisionParts& parts) const {
  return make(options, parts);
}

Registry<PrecisionKind::Entry>& PrecisionKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("precision", "precisions");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
