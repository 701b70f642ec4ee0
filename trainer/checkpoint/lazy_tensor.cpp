#include <levin/trainer/checkpoint/lazy_tensor.h>
#include <levin/modules/parallel/sharding/watched_memory.h>

#include <memory>
#include <utility>

namespace levin {
namespace {

class LazyMemory final : public parallel::WatchedMemory {
 public:
  LazyMemory(ShardedTensor sharded, c10::StorageImpl& storage) : sharded_(std::move(sharded)), storage_(storage) {}

  void begin_use() override {
    if (!whole_.defined()) {
      whole_ = joined_tensor(sharded_);
      parallel::set_watched_data(storage_, whole_.mutable_data_ptr());
    }
    ++uses_;
  }

  void end_use(bool written) noexcept override {
    is_kept_ = is_kept_ || written;
    if (--uses_ > 0 || is_kept_) return;
    parallel::set_watched_data(storage_, nullptr);
    whole_.reset();
  }

 private:
  ShardedTensor sharded_;
  c10::StorageImpl& storage_;  ///< which owns this object
  at::Tensor whole_ = {};
  int uses_ = 0;
  bool is_kept_ = false;
};

}  // namespace

at::Tensor lazy_tensor(const ShardedTensor& sharded) {
  at::Tensor tensor = tensor_without_memory(sharded);
  const at::Storage storage = tensor.storage();
  parallel::give_watched(storage, std::make_unique<LazyMemory>(sharded, *storage.unsafeGetStorageImpl()));
  return tensor;
}

}  // namespace levin
