#include <levin/trainer/loggers/registry.h>
#include <levin/trainer/loggers/csv_logger.h>
#include <levin/trainer/loggers/json_lines_logger.h>
#include <levin/trainer/loggers/mlflow_logger.h>
#include <levin/trainer/loggers/otlp_logger.h>
#include <levin/trainer/loggers/tensorboard_logger.h>
#include <levin/trainer/loggers/wandb_logger.h>
#include <levin/trainer/loggers/webhook_logger.h>

namespace levin {
namespace {

/// Registers levin's loggers.
void register_builtins(Registry<LoggerKind::Entry>& registry) {
  add_logger<CSVLogger>(registry, "CSVLogger", "metrics.csv");
  add_logger<JSONLinesLogger>(registry, "JSONLinesLogger", "metrics.jsonl");
  add_logger<MLflowLogger>(registry, "MLflowLogger", "a run of an MLflow server, through mlflow_queue.jsonl");
  add_logger<OtlpLogger>(registry, "OtlpLogger", "metrics to a collector of OpenTelemetry");
  add_logger<TensorBoardLogger>(registry, "TensorBoardLogger", "TensorBoard's event files");
  add_logger<WandbLogger>(registry, "WandbLogger", "an offline run for wandb sync");
  add_logger<WebhookLogger>(registry, "WebhookLogger", "messages to a URL");
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
