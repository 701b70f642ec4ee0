#include <levin/modules/parallel/sharding/sharded_construction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <levin/modules/parallel/ranks/gather_shards.h>

#include <algorithm>
#include <utility>

namespace levin::parallel {

/// A tensor's storage: whole, or this rank's slice of it.
class ShardedConstruction::Slices final : public WatchedMemory {
 public:
  Slices(ShardedConstruction& construction, const at::Storage& storage)
      : construction_(construction),
        storage_(storage.getWeakStorageImpl()),
        device_(storage.device()),
        bytes_(storage.nbytes()) {
    void* const data = storage.mutable_data();
    memory_ = storage.unsafeGetStorageImpl()->set_data_ptr({data, this, nullptr, device_});
    set_watched(storage, *this, data);
  }

  ~Slices() override {
    if (const at::Storage storage = this->storage())
      storage.unsafeGetStorageImpl()->set_data_ptr_noswap({nullptr, device_});
  }

  size_t bytes() const { return bytes_; }
  bool is_whole() const { return static_cast<bool>(memory_); }
  bool is_in_use() const { return uses_ > 0; }
  bool is_used_by_tensors() const { return storage_.use_count() > 0; }

  void begin_use() override {
    if (!is_whole()) {
      construction_.make_room(bytes_);
      gather();
    }
    ++uses_;
  }

  void end_use(bool written) noexcept override {
    --uses_;
    differs_ |= written;
  }

  void divide() {
    ProcessGroup& group = construction_.group_;
    const at::NoGradGuard no_grad;
    at::Tensor whole = bytes_at(memory_.get(), static_cast<int64_t>(bytes_));
    if (differs_) {
      group.broadcast(whole, /*source=*/0);
      const int64_t begin = std::min<int64_t>(group.rank() * each(), whole.numel());
      const int64_t end = std::min<int64_t>(begin + each(), whole.numel());
      own_ = at::empty({each()}, whole.options());
      own_.narrow(0, 0, end - begin).copy_(whole.narrow(0, begin, end - begin));
      differs_ = false;
    }
    set_watched(storage(), *this, nullptr);
    memory_.clear();
  }

  /// Gives the storage its memory for good.
  void make_whole() {
    if (!is_whole()) gather();
    if (differs_) {
      at::Tensor whole = bytes_at(memory_.get(), static_cast<int64_t>(bytes_));
      construction_.group_.broadcast(whole, /*source=*/0);
    }
    storage().unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(memory_));
    storage_.reset();
  }

 private:
  at::Storage storage() const { return at::Storage(storage_.lock()); }
  /// Returns the bytes of a rank's slice.
  int64_t each() const {
    const auto ranks = static_cast<size_t>(construction_.group_.world_size());
    return static_cast<int64_t>((bytes_ + ranks - 1) / ranks);
  }
  at::Tensor bytes_at(void* data, int64_t bytes) const {
    return at::from_blob(data, {bytes}, at::TensorOptions(at::kByte).device(device_));
  }

  void gather() {
    ProcessGroup& group = construction_.group_;
    const int64_t padded = each() * group.world_size();
    memory_ = c10::GetAllocator(device_.type())->allocate(static_cast<size_t>(padded));
    at::Tensor whole = bytes_at(memory_.get(), padded);
    group.guarded("gathering of a tensor of configure_model", [&] {
      PendingWorks works;
      begin_gather(group, whole, own_, works);
      works.wait();
    });
    set_watched(storage(), *this, memory_.get());
  }

  ShardedConstruction& construction_;
  c10::weak_intrusive_ptr<c10::StorageImpl> storage_;
  c10::Device device_;
  size_t bytes_;
  c10::DataPtr memory_ = {};  ///< none: divided
  at::Tensor own_ = {};       ///< this rank's slice, in bytes
  bool differs_ = true;       ///< the ranks' values may differ, or `own_` from them
  int uses_ = 0;
};

ShardedConstruction::ShardedConstruction(ProcessGroup& group, ShardedConstructionOptions options)
    : group_(group), options_(options) {}

ShardedConstruction::~ShardedConstruction() = default;

void ShardedConstruction::made(const at::Tensor& tensor) {
  const at::Storage& storage = tensor.storage();
  if (storage.nbytes() < options_.least_bytes || storage.data() == nullptr) return;
  make_room(storage.nbytes());
  tensors_.push_back(std::make_unique<Slices>(*this, storage));
}

void ShardedConstruction::forget_unused() {
  std::erase_if(tensors_, [](const auto& one) { return !one->is_used_by_tensors(); });
}

void ShardedConstruction::make_room(size_t bytes) {
  forget_unused();
  size_t whole = bytes;
  for (const auto& one : tensors_)
    if (one->is_whole()) whole += one->bytes();
  for (const auto& one : tensors_) {
    if (whole <= options_.whole_bytes) return;
    if (!one->is_whole() || one->is_in_use()) continue;
    one->divide();
    whole -= one->bytes();
  }
}

void ShardedConstruction::divide() {
  forget_unused();
  for (const auto& one : tensors_)
    if (one->is_whole()) one->divide();
}

void ShardedConstruction::make_whole() {
  forget_unused();
  for (const auto& one : tensors_) one->make_whole();
  tensors_.clear();
}

}  // namespace levin::parallel
