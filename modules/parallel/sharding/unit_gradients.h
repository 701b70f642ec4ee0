#pragma once
#include <levin/core/ranks/torch_compat/autograd_node.h>
#include <levin/modules/parallel/sharding/buffer_pool.h>
#include <levin/modules/parallel/sharding/gradient_means.h>
#include <levin/modules/parallel/sharding/sharded_unit.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace levin::parallel {

/// The gradients of a unit's trained parameters: collected over the batches of a window in one buffer, then averaged
/// over all ranks, of which each keeps the mean of its own shard. While the buffer is there, a parameter's `grad()` is
/// a view of it.
class UnitGradients {
 public:
  /// The object that is told how backward proceeds.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// Called before a unit takes a buffer for its gradients.
    virtual void before_buffer() = 0;
    /// Called when all parameters of a unit have got their gradients.
    virtual void completed() = 0;
  };
  /// `group`: the ranks among which the unit is divided. `replicas`: those that have the same shards; null if there are
  /// none. `sent_as`: the dtype in which gradients of wider dtypes are sent in `group`; nullopt: their own. All must
  /// outlive the object.
  UnitGradients(ShardedUnit& unit, ProcessGroup& group, ProcessGroup* replicas, BufferPool& pool,
                std::optional<at::ScalarType> sent_as, Listener& listener);
  ~UnitGradients();
  UnitGradients(const UnitGradients&) = delete;
  UnitGradients& operator=(const UnitGradients&) = delete;

  bool is_empty() const { return blocks_.empty(); }

  /// Begins a backward.
  void begin_backward();
  /// Returns whether all parameters have got their gradients in this backward.
  bool is_complete() const { return missing_ == 0; }
  /// Returns the names of those that have not.
  std::vector<std::string> missing() const;
  /// Appends, for each trained parameter, 1 if it has a gradient in this window and 0 otherwise.
  void append_used(std::vector<uint8_t>& used) const;

  /// Starts to average the gradients over the ranks; a parameter without one counts as zeros. Collective: all ranks
  /// call it, in the same order of units.
  void begin_reduction();
  bool is_on_its_way() const { return !works_.empty(); }
  /// Waits for the means, adds them to those of the window, and gives the buffers back.
  void finish_reduction();

  /// Returns the mean gradient of this rank's shard of a block, by its place in the unit; undefined if there is none.
  const at::Tensor& own(size_t block) const;
  /// Restores this rank's parts of the window's means.
  void load_means(const GradientMeans& means);
  /// Drops all gradients.
  void clear();

 private:
  struct Hooked {
    torch_compat::NodePointer accumulator = {};
    uintptr_t hook = 0;
  };
  struct Block {
    size_t place = 0;  ///< in the unit
    ShardedBlock* block = nullptr;
    size_t offset = 0;                           ///< in the buffers
    std::optional<at::ScalarType> sent_as = {};  ///< nullopt: the gradients' own dtype
    bool scatters = false;                       ///< by the backend's reduce-scatter
    at::Tensor whole = {}, received = {}, own = {};
    at::Tensor before = {};              ///< the means of the window's earlier batches, until this one's are there
    std::vector<at::Tensor> views = {};  ///< of `whole`, one for each parameter
    std::vector<uint8_t> used = {};      ///< in this window
    std::vector<uint8_t> arrived = {};   ///< in this backward
    std::vector<Hooked> hooks = {};
  };
  void arrived(Block& block, size_t parameter);
  void begin_exchange(Block& block);
  void take_buffer();
  /// Moves a parameter's gradient into the buffer.
  static void collect(const Block& block, size_t parameter);
  void drop_buffer();

  std::string call_;  ///< of its reductions, for errors
  ProcessGroup& group_;
  ProcessGroup* replicas_;
  BufferPool& pool_;
  Listener& listener_;
  std::deque<Block> blocks_ = {};
  size_t bytes_ = 0, parameters_ = 0, missing_ = 0;
  at::Tensor buffer_ = {}, received_ = {};
  bool has_means_ = false;
  bool is_sent_ = false;  ///< in the present backward
  PendingWorks works_ = {};
};

}  // namespace levin::parallel
