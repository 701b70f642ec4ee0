#include <levin/modules/reset_parameters.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>

namespace levin {
namespace {

template <class Layer>
bool reset_as(torch::nn::Module& module) {
  auto* const layer = module.as<Layer>();
  if (layer == nullptr) return false;
  layer->reset_parameters();
  return true;
}

template <class... Layers>
bool reset_as_one_of(torch::nn::Module& module) {
  return (reset_as<Layers>(module) || ...);
}

}  // namespace

bool reset_parameters(torch::nn::Module& module) {
  using namespace torch::nn;
  return reset_as_one_of<LinearImpl, BilinearImpl, Conv1dImpl, Conv2dImpl, Conv3dImpl, ConvTranspose1dImpl,
                         ConvTranspose2dImpl, ConvTranspose3dImpl, EmbeddingImpl, EmbeddingBagImpl, BatchNorm1dImpl,
                         BatchNorm2dImpl, BatchNorm3dImpl, InstanceNorm1dImpl, InstanceNorm2dImpl, InstanceNorm3dImpl,
                         LayerNormImpl, GroupNormImpl, RNNImpl, LSTMImpl, GRUImpl, RNNCellImpl, LSTMCellImpl,
                         GRUCellImpl>(module);
}

}  // namespace levin
