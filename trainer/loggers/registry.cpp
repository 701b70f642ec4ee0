#include <levin/trainer/loggers/registry.h>
#include <levin/trainer/loggers/csv_logger.h>
#include <levin/trainer/loggers/json_lines_logger.h>
#include <levin/trainer/loggers/tensorboard_logger.h>

namespace levin {
namespace {

/// Registers levin's loggers.
void register_builtins(Registry<LoggerKind::Entry>& registry) {
  add_logger<CSVLogger>(registry, "CSVLogger", "metrics.csv");
  add_logger<JSONLinesLogger>(registry, "JSONLinesLogger", "metrics.jsonl");
  add_logger<TensorBoardLogger>(registry, "TensorBoardLogger", "TensorBoard's event files");
}

}  // namespace

Registry<LoggerKind::Entry>& LoggerKind::registry() {
  static Registry<Entry> registry = [] {
    Registry<Entry> made("logger", "loggers");
    register_builtins(made);
    return made;
  }();
  return registry;
}

}  // namespace levin
