// A project of its own that uses the installed levin: one file that needs the headers, the library and LibTorch.
#include <levin/levin.h>

#include <iostream>

int main() {
  levin::State state = levin::State::dict({{"weight", torch::ones({2, 3})}});
  if (state.at("weight").to_tensor().sum().item<double>() != 6) return 1;
  try {
    state.at("bias");
  } catch (const levin::Error& error) {
    std::cout << "levin is installed: " << error.what() << "\n";
    return 0;
  }
  return 1;
}
