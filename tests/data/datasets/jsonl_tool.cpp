// For text_jsonl_python_test.py: prints the samples of a file as levin reads them, each a line of JSON with its tokens
// and targets.
//
//   jsonl_tool FILE OPTIONS    OPTIONS: a JSON object with options of TextJsonlDataset
#include <levin/core/system/error.h>
#include <levin/data/datasets/text_jsonl.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace {

nlohmann::json numbers_of(const at::Tensor& tensor) {
  const auto* const begin = tensor.const_data_ptr<int64_t>();
  return std::vector<int64_t>(begin, begin + tensor.numel());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    levin::data::TextJsonlDatasetOptions options;
    levin::schema_of<levin::data::TextJsonlDatasetOptions>().set(&options, "data",
                                                                 nlohmann::ordered_json::parse(argv[2]));
    const levin::data::TextJsonlDataset data({argv[1]}, options);
    for (int64_t i = 0; i < data.size(); ++i) {
      levin::data::Rng rng(0, 0, i);
      nlohmann::json line;
      try {
        const levin::Batch sample = data.get(i, rng);
        line = {{"input", numbers_of(sample.input())}, {"target", numbers_of(sample.target())}};
      } catch (const levin::UsageError& error) {
        line = {{"error", error.what()}};
      }
      std::cout << line.dump() << "\n";
    }
  } catch (const levin::Error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
