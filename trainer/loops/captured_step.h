#pragma once
#include <levin/core/device/device_graph.h>
#include <levin/core/device/stream_scope.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/run/step_parts.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace levin {

/// Captures whole training steps as CUDA graphs, one per batch shape: forward, backward, unscale, clip and the
/// optimizer's step are launched together.
///
/// The first `kStepsBefore` steps, and the first step of each shape, run eagerly; then the shape is captured and
/// replayed. A replay reads the batch, the rates and the step counts from fixed memory, into which they are copied
/// first. Tensors that the step logged are logged again after each replay; other host code of the step does not run
/// again. Batches beyond `kMostShapes` shapes run eagerly, with one warning.
class CapturedStep {
 public:
  static constexpr size_t kMostShapes = 8;
  static constexpr int64_t kStepsBefore = 3;

  struct Parts {
    LightningModule& module;
    StepContext& context;  ///< of the module
    optim::Optimizer& optimizer;
    c10::Device device;
  };
  /// The results of a step on the device: the detached loss and, with a loss scale, whether the step must be skipped
  /// (float32 [1], not 0).
  struct Output {
    at::Tensor loss = {}, found_inf = {};
  };
  struct Outcome {
    at::Tensor loss = {};  ///< lives until the next replay
    bool skipped = false;
  };
  using Step = std::function<Output(const Batch& batch)>;
  using MakeGraph = std::function<std::unique_ptr<DeviceGraph>()>;

  /// While the object exists, the thread computes on its own stream. All of `parts` must outlive the object.
  explicit CapturedStep(const Parts& parts, MakeGraph make_graph = make_cuda_graph);

  /// Makes a step by a replay; returns nullopt if this batch's step must run eagerly. `step` is the function that is
  /// captured. Throws levin::UsageError for what cannot be captured: logged numbers and metrics, tensors on another
  /// device, a host sync.
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

/// Returns the CapturedStep of a run with the option cuda_graphs, else null. Throws levin::UsageError if the run's
/// steps cannot be captured: an overridden hook inside the step, several devices, an optimizer that computes on the
/// host.
std::unique_ptr<CapturedStep> make_captured_step(const StepParts& parts);

}  // namespace levin
