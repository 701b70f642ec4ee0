#include <levin/modules/channels_last.h>
#include <levin/core/device/memory_format.h>

namespace levin {
namespace {

void convert(at::Tensor& tensor) {
  if (tensor.mutable_grad().defined()) tensor.mutable_grad().set_data(channels_last(tensor.grad()));
  tensor.set_data(channels_last(tensor.detach()));
}

}  // namespace

void to_channels_last(torch::nn::Module& module) {
  for (at::Tensor& parameter : module.parameters()) convert(parameter);
  for (at::Tensor& buffer : module.buffers()) buffer.set_data(channels_last(buffer));
}

}  // namespace levin
