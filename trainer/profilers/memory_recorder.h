#pragma once
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <levin/core/run/profiler.h>
#include <levin/modules/observers/tensor_place.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace at {
class RecordFunction;
struct ObserverContext;
}  // namespace at

namespace torch::nn {
class Module;
}

namespace levin {

/// Follows the memory that LibTorch's allocators give to tensors: in the thread that made the recorder, in those that
/// work for it (backward), and in loaders' workers that begin while the recorder lives.
class MemoryRecorder final : public c10::MemoryReportingInfoBase {
 public:
  /// The memory during an action, in bytes.
  struct Use {
    int64_t peak = 0;   ///< the largest number of live bytes
    int64_t grown = 0;  ///< the same less what was live when the action began
  };
  /// A place where tensors are made.
  struct Place {
    std::string operation;  ///< "aten::linear"; empty for memory that is taken outside of operators
    std::string layer;      ///< "net.0"; empty if the operation uses no parameter and none did before
    bool is_after = false;  ///< the operation uses no parameter: `layer` ran before it
    int action = -1;        ///< of the run; -1 outside of actions
    std::string device;
    int64_t bytes = 0;  ///< of the largest tensor
    int64_t times = 0;
    std::vector<void*> stack;  ///< at the first time; empty if it cannot be read
  };

  /// The module must outlive the recorder's use.
  explicit MemoryRecorder(const torch::nn::Module& module);
  ~MemoryRecorder() override;

  /// Follows the calling thread, until `uninstall` in the same thread.
  static void install(const std::shared_ptr<MemoryRecorder>& recorder);
  void uninstall();

  void start(const ProfileSpan& span);
  void stop(const ProfileSpan& span);

  std::map<std::string, int64_t> peaks() const;
  std::map<std::string, int64_t> live() const;
  /// Returns the largest use in any call of each action, by device.
  std::map<int, std::map<std::string, Use>> uses() const;
  /// Returns the places with the largest tensors, the largest first.
  std::vector<Place> largest(size_t number) const;

  void reportMemoryUsage(void* memory, int64_t bytes, size_t allocated, size_t reserved, c10::Device device) override;
  bool memoryProfilingEnabled() const override { return is_on_; }

 private:
  struct DeviceUse {
    c10::Device device;
    int64_t live = 0, peak = 0;
  };
  struct OpenAction {
    int number = 0;
    std::vector<int64_t> live_before, peak;  ///< by device
  };
  using PlaceKey = std::tuple<const std::string*, const std::string*, bool, int, size_t>;

  static MemoryRecorder* of_thread();
  /// Returns the layer of which an operation gets a parameter, at its beginning; null if it gets none.
  const std::string* layer_in(const at::RecordFunction& operation) const;
  static std::unique_ptr<at::ObserverContext> operation_begins(const at::RecordFunction& operation);
  static void operation_ends(const at::RecordFunction& operation, at::ObserverContext* context);
  size_t index_of(c10::Device device);
  void note_place(int64_t bytes, size_t device);
  void note_use(const OpenAction& action);

  const uint64_t id_;
  std::unordered_map<TensorPlace, std::string, TensorPlace::Hash> layers_ = {};  ///< by their parameters
  const std::thread::id thread_;
  std::atomic<bool> is_on_ = true;
  std::optional<uint64_t> callback_ = {};

  mutable std::mutex mutex_ = {};
  std::vector<DeviceUse> devices_ = {};
  std::vector<OpenAction> open_ = {};  ///< of the thread that made the recorder
  std::map<int, std::vector<Use>> uses_ = {};
  std::set<std::string, std::less<>> names_ = {};  ///< of operations: they keep their addresses
  std::map<PlaceKey, Place> places_ = {};
};

}  // namespace levin
