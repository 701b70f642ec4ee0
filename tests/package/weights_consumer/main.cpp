// A program that only loads weights and computes with them.
#include <levin/core/system/error.h>
#include <levin/modules/nn/nets.h>
#include <levin/modules/script_file.h>
#include <levin/modules/weights.h>
#include <torch/torch.h>

#include <iostream>

int main() {
  const levin::nn::Net trained = levin::nn::make_net("lenet"), loaded = levin::nn::make_net("lenet");
  for (const char* file : {"weights.pt", "weights.safetensors"}) {
    levin::save_weights(*trained.module, file);
    levin::load_weights(*loaded.module, file);
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor images = torch::rand({2, 1, 28, 28});
  const bool equal = torch::equal(trained.forward(images), loaded.forward(images));
  try {
    levin::load_script("weights.pt");
    return 1;
  } catch (const levin::UsageError& error) {
    std::cout << error.what() << "\n";
  }
  std::cout << (equal ? "equal" : "different") << "\n";
  return equal ? 0 : 1;
}
