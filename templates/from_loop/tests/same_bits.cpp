// Trains with both programs, and compares their weights: same_bits BY_HAND WITH_LEVIN FOLDER. What is in FOLDER goes.
#include "problem.h"

#include <levin/modules/weights.h>
#include <torch/serialize.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>

namespace fs = std::filesystem;

void run(const std::string& program, const fs::path& folder) {
  const std::string command = "\"" + program + "\" \"" + folder.string() + "\" --max-epochs 2";
  if (std::system(command.c_str()) != 0) throw std::runtime_error(program + " has failed");
}

/// Returns the only weights.pt below a folder.
fs::path weights_below(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename() == "weights.pt") return entry.path();
  throw std::runtime_error("no weights.pt below " + folder.string());
}

int compare(const std::string& by_hand, const std::string& with_levin, const fs::path& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  run(by_hand, folder / "by_hand");
  run(with_levin, folder / "with_levin");

  Net hand, levin;
  torch::serialize::InputArchive archive;
  archive.load_from((folder / "by_hand/weights.pt").string());
  hand->load(archive);
  levin::load_weights(*levin, weights_below(folder / "with_levin"));

  int differences = 0;
  for (const auto& weight : hand->named_parameters()) {
    const auto distance = (weight.value() - levin->named_parameters()[weight.key()]).abs().max().item<double>();
    std::cout << weight.key() << (distance == 0 ? " is the same\n" : " differs by " + std::to_string(distance) + "\n");
    differences += distance != 0;
  }
  return differences == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: same_bits BY_HAND WITH_LEVIN FOLDER");
    return compare(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
