#pragma once
#include <c10/core/Device.h>
#include <levin/core/run/stage.h>

#include <cstdint>
#include <memory>

namespace levin {

class LogSink;
class OptimizerDriver;
class ProcessGroup;
class Run;
struct StepOutput;

/// A module's view of the run. The loops set and clear it; each replica of a module has its own.
struct StepContext {
  Run* run = nullptr;
  LogSink* sink = nullptr;
  OptimizerDriver* optimizers = nullptr;  ///< during fit only
  StepOutput* output = nullptr;           ///< of training_step for the current batch; null before it
  c10::Device device = c10::kCPU;
  Stage stage = Stage::Fit;
  int64_t dataloader_idx = 0;
  std::shared_ptr<ProcessGroup> tensor_group = {};  ///< ranks that hold parts of the module together; null: none
};

}  // namespace levin
