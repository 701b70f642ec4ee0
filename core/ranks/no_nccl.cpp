#include <levin/core/ranks/process_group_backends.h>
#include <levin/core/system/error.h>

namespace levin {

void add_nccl(c10d::ProcessGroup&, const BackendOptions&, c10::Device device) {
  throw UsageError("ddp on ", device, ": levin is built without NCCL; build it against a LibTorch with CUDA");
}

}  // namespace levin
