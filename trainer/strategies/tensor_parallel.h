#pragma once
#include <levin/core/ranks/rank_mesh.h>
#include <levin/trainer/strategies/ddp.h>
#include <levin/trainer/strategies/forwarding_strategy.h>

#include <memory>
#include <string>
#include <vector>

namespace levin {

/// A wrapper of ddp, zero1 or fsdp over the data-parallel ranks of a mesh, whose module is divided among the ranks of
/// tensor groups (parallel::divide_module). To the run it looks like the data-parallel ranks alone: a checkpoint, and a
/// gradient's norm, are those of the whole module. Supports one elementwise optimizer, under automatic optimization.
class TensorParallelStrategy final : public ForwardingStrategy, protected StrategyState {
 public:
  /// `inner` was made with the data-parallel ranks of `mesh`.
  TensorParallelStrategy(std::unique_ptr<RankMesh> mesh, std::unique_ptr<DdpStrategy> inner);
  ~TensorParallelStrategy() override;

  Comm& comm() override { return mesh_->comm(); }
  std::string where() const override;
  RankSync& rank_sync() override { return rank_sync_; }
  void set_context(StepContext& context) override;
  /// Leaves what configure_model makes whole, also under fsdp, until layers are divided.
  void configure_model(LightningModule& module) override { ModuleAccess::configure_model_once(module); }
  /// Divides the module among the ranks of the tensor group, whose random numbers become the same. Throws
  /// levin::UsageError if it cannot be divided.
  void place(LightningModule& module) override;
  void attach(const std::vector<std::shared_ptr<torch::optim::Optimizer>>& optimizers) override;
  at::Tensor reduce_norm(const at::Tensor& norm) override;
  void give_back() override;
  StrategyState& state() override { return *this; }

 protected:
  State weights() override;
  State optimizer_state(torch::optim::Optimizer& optimizer) override;
  void load_optimizer_state(torch::optim::Optimizer& optimizer, const State& state) override;
  bool saves_shards() const override { return false; }  // options that ask for shards contradict a tensor group
  State sharded_weights(State& /*shards*/, const std::string& /*key*/) override { return weights(); }
  State sharded_optimizer_state(torch::optim::Optimizer& optimizer, State& /*shards*/) override {
    return optimizer_state(optimizer);
  }
  State gradient_means() override { return inner().state().gradient_means(); }
  bool load_gradient_means(const std::vector<State>& of_ranks) override {
    return inner().state().load_gradient_means(of_ranks);
  }
  State state_dict() override { return inner().state().state_dict(); }
  void load_state_dict(const State& state) override { inner().state().load_state_dict(state); }

 private:
  at::Tensor square_of_undivided() const;

  std::unique_ptr<RankMesh> mesh_;
  DdpStrategy& data_parallel_;
  RankSync rank_sync_;
  LightningModule* module_ = nullptr;
  torch::optim::Optimizer* optimizer_ = nullptr;
  std::vector<at::Tensor> parameters_ = {};  ///< of the optimizer, before the inner strategy divides them
};

}  // namespace levin
