// For text_jsonl_python_test.py: prints the samples of a file as levin reads them, each a line of JSON with its tokens
// and targets.
//
//   jsonl_tool FILE OPTIONS [preferences]    OPTIONS: a JSON object with options of TextJsonlDataset, or
//                                            TextPreferencesDataset, whose samples are two lines each
#include <levin/core/system/error.h>
#include <levin/data/datasets/text_jsonl.h>
#include <levin/data/datasets/text_preferences.h>

#include <iostream>
#include <nlohmann/json.hpp>

namespace {

nlohmann::json numbers_of(const at::Tensor& tensor) {
  const auto* const begin = tensor.const_data_ptr<int64_t>();
  return std::vector<int64_t>(begin, begin + tensor.numel());
}

nlohmann::json line_of(const at::Tensor& input, const at::Tensor& target) {
  return {{"input", numbers_of(input)}, {"target", numbers_of(target)}};
}

template <class Options>
Options options_of(const char* json) {
  Options options;
  levin::schema_of<Options>().set(&options, "data", nlohmann::ordered_json::parse(json));
  return options;
}

/// Prints the lines of each sample, or its error.
template <class LinesOf>
void print(const levin::data::Dataset& data, const LinesOf& lines_of) {
  for (int64_t i = 0; i < data.size(); ++i) {
    levin::data::Rng rng(0, 0, i);
    try {
      for (const nlohmann::json& line : lines_of(data.get(i, rng))) std::cout << line.dump() << "\n";
    } catch (const levin::UsageError& error) {
      std::cout << nlohmann::json{{"error", error.what()}}.dump() << "\n";
    }
  }
}

std::vector<nlohmann::json> line_of_sample(const levin::Batch& sample) {
  return {line_of(sample.input(), sample.target())};
}

/// Returns a line for the chosen and one for the rejected, without their padding.
std::vector<nlohmann::json> lines_of_preference(const levin::Batch& sample) {
  std::vector<nlohmann::json> lines;
  for (int64_t row = 0; row < 2; ++row) {
    const int64_t size = sample["attention_mask"].view({2, -1})[row].sum().item<int64_t>();
    lines.push_back(line_of(sample.input().view({2, -1})[row].narrow(0, 0, size),
                            sample.target().view({2, -1})[row].narrow(0, 0, size)));
  }
  return lines;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  try {
    if (argc == 3) {
      print(levin::data::TextJsonlDataset({argv[1]}, options_of<levin::data::TextJsonlDatasetOptions>(argv[2])),
            line_of_sample);
    } else {
      const auto lines = std::make_shared<const levin::data::TextLines>(std::vector<std::string>{argv[1]});
      print(levin::data::TextPreferencesDataset(lines, options_of<levin::data::TextPreferencesDatasetOptions>(argv[2])),
            lines_of_preference);
    }
  } catch (const levin::Error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
