/// Writes all networks of networks.h as programs, for exported_networks_test.py: NAME.pt2 of evaluation, NAME.train.pt2
/// of training mode, NAME.old.pt2 the latter as PyTorch 2.6 writes it, and NAME.pt with inputs and results of both.
///
/// usage: export_networks FOLDER [NAME]
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>
#include <levin/modules/export/export_program.h>
#include <torch/torch.h>
#include "networks.h"
#include "old_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

using levin::Batch;
using levin::State;

Batch samples_of(const Batch& batch, int64_t size) {
  Batch samples;
  for (const std::string& name : batch.names())
    samples.set(name, batch[name].index_select(0, torch::arange(size).remainder(batch.size())).contiguous());
  return samples;
}

State tensors_of(const Batch& batch, const std::vector<std::string>& names) {
  State list = State::list();
  for (const std::string& name : names) list.push_back(batch[name].detach().clone());
  return list;
}

/// Writes a network of int8 as NAME.WAY.onnx; returns its results for each size, or why there is none.
State quantized(const networks::Case& one, const std::filesystem::path& folder, const std::string& way,
                const std::vector<Batch>& calibration) {
  networks::Network& network = *one.network;
  levin::ExportedNetwork exported =
      levin::export_program(network, one.example, {.function = network.forward, .inference = true});
  try {
    exported.quantize(calibration);
    exported.save_onnx(folder / (one.name + "." + way + ".onnx"));
  } catch (const levin::UsageError& error) {
    return std::string(error.what());
  }
  State sizes = State::list();
  for (const int64_t size : {1, 3, 64}) {
    const Batch batch = samples_of(one.example, size);
    std::vector<at::Tensor> inputs;
    for (const std::string& name : exported.input_names()) inputs.push_back(batch[name]);
    State results = State::list();
    for (const at::Tensor& result : exported.run(inputs)) results.push_back(result.clone());
    sizes.push_back(results);
  }
  return sizes;
}

/// Ten steps of SGD, each with the same random numbers.
State trained(networks::Network& network, const Batch& example) {
  network.train();
  std::vector<at::Tensor> parameters;  // each once, also where two names are tied
  for (const at::Tensor& parameter : network.parameters())
    if (std::ranges::none_of(parameters, [&](const at::Tensor& one) { return one.is_same(parameter); }))
      parameters.push_back(parameter);
  torch::optim::SGD optimizer(parameters, 0.05);
  for (int step = 0; step < 10; ++step) {
    torch::manual_seed(7);
    optimizer.zero_grad();
    const Batch result = network.forward(example);
    at::Tensor loss = torch::zeros({});
    for (const std::string& name : result.names())
      if (result[name].requires_grad()) loss = loss + result[name].square().mean();
    loss.backward();
    optimizer.step();
  }
  State state = State::dict();
  for (const auto& item : network.named_parameters()) state[item.key()] = item.value().detach().clone();
  for (const auto& item : network.named_buffers()) state[item.key()] = item.value().clone();
  return state;
}

void write(const networks::Case& one, const std::filesystem::path& folder) {
  networks::Network& network = *one.network;
  const auto options = [&](bool inference) {
    return levin::ExportOptions{.function = network.forward, .inference = inference};
  };
  const levin::ExportedNetwork exported = levin::export_program(network, one.example, options(true));
  exported.save(folder / (one.name + ".pt2"));
  levin::export_program(network, one.example, options(false)).save(folder / (one.name + ".train.pt2"));
  std::vector<at::Tensor> example_inputs;
  for (const std::string& name : exported.input_names()) example_inputs.push_back(one.example[name]);
  write_old(folder / (one.name + ".train.pt2"), folder / (one.name + ".old.pt2"), example_inputs);
  try {
    exported.save_onnx(folder / (one.name + ".onnx"), {.metadata = {{"network", one.name}}});
  } catch (const levin::UsageError& error) {
    std::ofstream(folder / (one.name + ".refused")) << error.what();
  }
  State sizes = State::list();
  network.eval();
  for (const int64_t size : {1, 3, 64}) {
    const torch::NoGradGuard no_grad;
    const Batch batch = samples_of(one.example, size);
    sizes.push_back(State::dict({{"inputs", tensors_of(batch, exported.input_names())},
                                 {"outputs", tensors_of(network.forward(batch), exported.output_names())}}));
  }
  const torch::NoGradGuard no_grad;
  const State weights_alone = quantized(one, folder, "weights8", {}),
              int8 = quantized(one, folder, "int8", {one.example});
  State names = State::list();
  for (const std::string& name : exported.output_names()) names.push_back(name);
  const State example = tensors_of(one.example, exported.input_names());
  const torch::AutoGradMode gradients(true);
  levin::save_state(State::dict({{"sizes", sizes},
                                 {"names", names},
                                 {"example", example},
                                 {"weights8", weights_alone},
                                 {"int8", int8},
                                 {"trained", trained(network, one.example)}}),
                    folder / (one.name + ".pt"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int failures = 0;
  for (const networks::Case& one : networks::all()) {
    if (argc > 2 && one.name != argv[2]) continue;
    try {
      write(one, argv[1]);
      std::cout << one.name << std::endl;
    } catch (const std::exception& error) {
      std::cerr << one.name << ": " << error.what() << std::endl;
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
