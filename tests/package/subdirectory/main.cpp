// A project of its own that has levin as a subdirectory.
#include <levin/levin.h>

#include <iostream>

int main() {
  levin::State state = levin::State::dict({{"weight", torch::ones({2, 3})}});
  if (state.at("weight").to_tensor().sum().item<double>() != 6) return 1;
  try {
    state.at("bias");
  } catch (const levin::Error& error) {
    std::cout << "levin is built: " << error.what() << "\n";
    return 0;
  }
  return 1;
}
