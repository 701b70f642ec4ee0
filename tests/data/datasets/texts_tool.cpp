// For texts_python_test.py: prints the training batches of a data module of texts, each a line of JSON with its
// tensors, and then what it has learned.
//
//   texts_tool CLASS OPTIONS BATCH    OPTIONS: a JSON object with options of the class
#include <levin/core/state/json_state.h>
#include <levin/core/system/error.h>
#include <levin/data/datasets/labeled_texts.h>
#include <levin/data/datasets/tagged_words.h>
#include <levin/data/datasets/text_pairs.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace {

nlohmann::json json_of(const at::Tensor& tensor) {
  if (tensor.dim() == 0) {
    if (tensor.is_floating_point()) return tensor.item<double>();
    return tensor.item<int64_t>();
  }
  nlohmann::json rows = nlohmann::json::array();
  for (int64_t i = 0; i < tensor.size(0); ++i) rows.push_back(json_of(tensor[i]));
  return rows;
}

template <class Module>
void print_batches(const char* options_text, int64_t size) {
  typename Module::Options options;
  levin::schema_of<typename Module::Options>().set(&options, "data", nlohmann::ordered_json::parse(options_text));
  Module module(options);
  module.setup(levin::Stage::Fit);
  const levin::data::DatasetPtr data = module.dataset(levin::data::Split::Train);
  levin::Batch batch;
  for (int64_t begin = 0; begin < data->size(); begin += size) {
    data->get_batch(levin::data::Indices(begin, std::min(size, data->size() - begin)), batch);
    nlohmann::json line;
    for (const std::string& name : batch.names()) line[name] = json_of(batch[name]);
    std::cout << line.dump() << "\n";
  }
  std::cout << levin::json_of_state(module.learned_state()) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string name = argv[1];
  const int64_t size = std::stoll(argv[3]);
  try {
    if (name == "LabeledTexts") print_batches<levin::data::LabeledTexts>(argv[2], size);
    if (name == "TaggedWords") print_batches<levin::data::TaggedWords>(argv[2], size);
    if (name == "TextPairs") print_batches<levin::data::TextPairs>(argv[2], size);
  } catch (const levin::Error& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
