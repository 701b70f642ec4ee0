// Writes synthetic digits as MNIST's four files: write_mnist FOLDER TRAIN_SIZE TEST_SIZE
#include <levin/data/datasets/synthetic_digits.h>

#include <string>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  levin::data::write_synthetic_mnist(argv[1], std::stoll(argv[2]), std::stoll(argv[3]), /*compressed=*/true);
}
