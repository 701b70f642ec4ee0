#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/modules/optim/parameter_watch.h>
#include <levin/trainer/core/device_graph.h>
#include <levin/trainer/core/stream_scope.h>
#include <levin/trainer/loops/run_context.h>
#include <levin/trainer/strategies/step_log.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace levin {

/// Whole training steps as graphs of a GPU, one for each shape of batch: forward, backward, unscale, clip and the
/// optimizer's step are launched as one.
///
/// The first steps, and the first of each shape, run as they are; then a shape is recorded and replayed. A replay reads
/// its batch, the rates and the step counts where the recorded step did, so that they are copied there before. What
/// the step logged as tensors is logged again after each replay; what else the host did in it happens no more. Beyond
/// `kMostShapes` shapes steps run as they are, which is said once.
class CapturedStep {
 public:
  static constexpr size_t kMostShapes = 8;
  static constexpr int64_t kStepsBefore = 3;

  struct Parts {
    LightningModule& module;
    StepContext& context;  ///< the module's
    optim::Optimizer& optimizer;
    c10::Device device;
  };
  /// What a step leaves on the device: its loss, without a graph, and where losses are scaled whether it was to be left
  /// out (float32 [1], not 0).
  struct Output {
    at::Tensor loss = {}, found_inf = {};
  };
  struct Outcome {
    at::Tensor loss = {};  ///< lives until the next replay
    bool skipped = false;
  };
  using Step = std::function<Output(const Batch& batch)>;
  using MakeGraph = std::function<std::unique_ptr<DeviceGraph>()>;

  /// From here on until its end the thread computes on a stream of its own. All of `parts` must outlive it.
  explicit CapturedStep(const Parts& parts, MakeGraph make_graph = make_cuda_graph);

  /// Makes a step by a replay; nothing where this batch's step is to run as it is. `step` is what is recorded. Throws
  /// levin::UsageError for what cannot be recorded: numbers and metrics that are logged, tensors on another device, a
  /// wait for the device.
  std::optional<Outcome> run(const Batch& batch, const Step& step);

 private:
  struct Shape;
  Shape* find(const Batch& batch);
  void capture(Shape& shape, const Batch& batch, const Step& step);

  Parts parts_;
  MakeGraph make_graph_;
  StreamScope stream_;
  int64_t steps_ = 0;
  optim::ParameterWatch watch_;
  std::map<std::vector<int64_t>, std::shared_ptr<Shape>> shapes_ = {};
  bool warned_ = false;
};

/// That of a run with the option cuda_graphs; null without. Throws levin::UsageError where its steps cannot be
/// captured: a hook inside the step that is overridden, several devices, an optimizer that computes on the host.
std::unique_ptr<CapturedStep> make_captured_step(RunContext& run);

}  // namespace levin
