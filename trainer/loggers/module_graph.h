#pragma once
#include <levin/trainer/loggers/event_file.h>

namespace levin {

class LightningModule;

/// Returns the module as TensorBoard's GraphDef: a scope for each submodule, in it a node of its class with its
/// parameters and buffers as inputs, each with its shape. The layers of a torch::nn::Sequential are joined in their
/// order. If `example_input` of the module is set, predict_step runs once on it, in eval mode and without gradients,
/// and nodes of layers with parameters have the shape of their output.
WireMessage module_graph(LightningModule& module);

}  // namespace levin
