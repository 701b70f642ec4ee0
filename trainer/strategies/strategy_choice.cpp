#include <levin/trainer/strategies/strategy_choice.h>

#include <utility>

namespace levin {
namespace {

/// Returns the present spelling of a name.
std::string present(const std::string& name) { return name == "ddp_spawn" ? "ddp" : name; }

}  // namespace

StrategyChoice strategy_named(const std::string& name, std::string why) {
  return {present(name), StrategyKind::registry().entry(name, "trainer.strategy.class").traits, std::move(why)};
}

ClassChoice<StrategyKind> strategy_of_name(const ClassChoice<StrategyKind>& given, const std::string& name) {
  if (given.class_name() == name) return given;
  if (present(given.class_name()) == name) return {name, *strategy_options<DDPOptions>(given)};
  return name;
}

}  // namespace levin
