#pragma once
#include <levin/core/device/device_graph.h>
#include <levin/core/device/stream_scope.h>
#include <levin/modules/lightning_module.h>
#include <levin/modules/optim/engine/parameter_watch.h>
#include <levin/modules/optim/optimizer.h>
#include <levin/trainer/logging/step_log.h>
#include <levin/trainer/loops/step_program.h>

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
class CapturedStep final : public StepProgram {
 public:
  static constexpr size_t kMostShapes = 8;
  static constexpr int64_t kStepsBefore = 3;

  struct Parts {
    LightningModule& module;
    StepContext& context;  ///< of the module
    optim::Optimizer& optimizer;
    c10::Device device;
  };
  using MakeGraph = std::function<std::unique_ptr<DeviceGraph>()>;

  /// While the object exists, the thread computes on its own stream. All of `parts` must outlive the object.
  explicit CapturedStep(const Parts& parts, MakeGraph make_graph = make_cuda_graph);

  /// Makes a step by a replay, whose loss lives until the next one; returns nullopt if this batch's step must run
  /// eagerly. `in_parts` is what is captured. Throws levin::UsageError for what cannot be captured: logged numbers and
  /// metrics, tensors on another device, a host sync, a step without a loss or with a weight.
  std::optional<WholeStep> run_whole(const Input& input, const InParts& in_parts) override;

 private:
  struct Shape;
  Shape* find(const Batch& batch);
  void capture(Shape& shape, const Batch& batch, const InParts& in_parts);

  Parts parts_;
  MakeGraph make_graph_;
  StreamScope stream_;
  int64_t steps_ = 0;
  optim::ParameterWatch watch_;
  std::map<std::vector<int64_t>, std::shared_ptr<Shape>> shapes_ = {};
  bool warned_ = false;
};

/// Returns the CapturedStep of a run with the option cuda_graphs. Throws levin::UsageError if the run's steps cannot be
/// captured: an overridden hook inside the step, several devices, an optimizer that computes on the
/// host.
std::unique_ptr<CapturedStep> make_captured_step(const StepParts& parts);

}  // namespace levin
