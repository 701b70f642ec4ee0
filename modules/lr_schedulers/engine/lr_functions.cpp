#include <levin/modules/lr_schedulers/engine/lr_functions.h>
#include <levin/core/system/error.h>

#include <nlohmann/json.hpp>

namespace levin {
namespace {

constexpr const char* kFromConfig =
    "a config cannot hold a function; make the scheduler in C++, or name another in the config (`levin list "
    "lr_schedulers`; SequentialLR and ChainedScheduler combine them)";

class FunctionsType : public OptionType {
 public:
  std::string expected() const override { return "a C++ function"; }
  Json get(const void* value) const override {
    return static_cast<const LRFunctions*>(value)->empty() ? Json(nullptr) : Json(expected());
  }
  void set(void* value, const std::string& path, const Json& json, const Limits& /*limits*/) const override {
    if (!json.is_null()) throw UsageError(path, ": ", kFromConfig);
    *static_cast<LRFunctions*>(value) = LRFunctions();
  }
};

}  // namespace

void LRFunctions::check(const std::string& path) const {
  if (functions_.empty()) throw UsageError(path, ": missing; give a function of the epoch; ", kFromConfig);
  for (size_t i = 0; i < functions_.size(); ++i)
    if (!functions_[i]) throw UsageError(path, "[", i, "]: expected a function, got an empty std::function");
}

std::vector<LRFunctions::Function> LRFunctions::for_groups(size_t groups, const std::string& path) const {
  if (functions_.size() == 1) return std::vector<Function>(groups, functions_[0]);
  if (functions_.size() != groups)
    throw UsageError(path, ": expected one function, or one for each of the optimizer's ", groups,
                     " parameter groups, got ", functions_.size());
  return functions_;
}

const OptionType& OptionTraits<LRFunctions>::type() {
  static const FunctionsType type;
  return type;
}

}  // namespace levin
