#include <levin/hosts/c/signature.h>
#include <levin/core/ranks/c_dtype.h>
#include <levin/hosts/c/arrays.h>
#include <levin/hosts/c/model.h>
#include <levin/hosts/c/status.h>
#include <levin/modules/nn/image_classifier.h>
#include <levin/modules/nn/language_model.h>
#include <levin/modules/nn/tabular.h>
#include <levin/modules/transformers/causal_lm.h>

#include <cstdint>
#include <optional>
#include <string>

namespace levin::c {
namespace {

constexpr int64_t kAnySize = -1;

ImportedTensor tensor_of(const std::string& name, at::ScalarType dtype, std::vector<int64_t> sizes) {
  return {.name = name, .dtype = dtype, .sizes = std::move(sizes)};
}

/// Rows of a table, and what is predicted for each.
Signature of_table(const nn::TabularNetOptions& options, std::optional<int64_t> outputs, at::ScalarType real) {
  if (!options.features || !outputs)
    throw UsageError("the model takes its sizes from the data of a run; set ",
                     options.features ? "model.num_classes" : "model.features");
  Signature signature{.outputs = {tensor_of("input", real, {kAnySize, *outputs})}};
  if (*options.features > 0) signature.inputs.push_back(tensor_of("input", real, {kAnySize, *options.features}));
  const auto columns = static_cast<int64_t>(options.category_sizes.size());
  if (columns > 0) signature.inputs.push_back(tensor_of("category", at::kLong, {kAnySize, columns}));
  return signature;
}

Signature of_images(const nn::ImageClassifierOptions& options, at::ScalarType real) {
  std::vector<int64_t> sizes = options.image_shape;
  if (options.net == nn::NamedNet::ResNet18) std::fill(sizes.begin() + 1, sizes.end(), kAnySize);
  sizes.insert(sizes.begin(), kAnySize);
  return {.inputs = {tensor_of("input", real, std::move(sizes))},
          .outputs = {tensor_of("input", real, {kAnySize, options.num_classes})}};
}

/// Tokens, and the probabilities of the next one.
Signature of_tokens(int64_t vocabulary, at::ScalarType real) {
  return {.inputs = {tensor_of("input", at::kLong, {kAnySize, kAnySize})},
          .outputs = {tensor_of("input", real, {kAnySize, vocabulary})}};
}

}  // namespace

Signature signature_of(const LightningModule& module) {
  const at::ScalarType real = ModuleInputs(module).dtypes().real;
  if (const auto* imported = dynamic_cast<const ImportedModule*>(&module))
    return {.inputs = imported->described_inputs(), .outputs = {imported->described_output()}};
  if (const auto* regressor = dynamic_cast<const nn::MLPRegressor*>(&module))
    return of_table(regressor->options.net, regressor->options.outputs, real);
  if (const auto* classifier = dynamic_cast<const nn::MLPClassifier*>(&module))
    return of_table(classifier->options.net, classifier->options.num_classes, real);
  if (const auto* images = dynamic_cast<const nn::ImageClassifier*>(&module)) return of_images(images->options, real);
  if (const auto* language = dynamic_cast<const nn::LanguageModel*>(&module))
    return of_tokens(language->options.gpt.vocab_size, real);
  if (const auto* decoder = dynamic_cast<const nn::CausalLM*>(&module))
    return of_tokens(decoder->decoder->config.vocabulary, real);
  throw UsageError("the class of the model does not say what it takes and returns; set its example_input in C++");
}

void describe(const std::vector<ImportedTensor>& tensors, size_t place, levin_array& array) {
  if (place >= tensors.size()) throw UsageError("there is no array ", place, ": there are ", tensors.size());
  const ImportedTensor& tensor = tensors[place];
  const size_t size = sized(&array, "the array").struct_size;
  array = {};
  array.struct_size = size;
  array.name = tensor.name.c_str();
  array.dtype = tensor.dtype ? dtype_of(*tensor.dtype) : -1;
  array.rank = tensor.sizes ? static_cast<int32_t>(tensor.sizes->size()) : -1;
  array.shape = tensor.sizes ? tensor.sizes->data() : nullptr;
}

}  // namespace levin::c
