#include <levin/data/collate.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <levin/core/system/error.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors tensors_of(const std::vector<Batch>& samples, const std::string& name) {
  Tensors tensors;
  for (const Batch& sample : samples) tensors.push_back(sample[name]);
  return tensors;
}

/// Returns the samples without the tensors of these names.
std::vector<Batch> without(const std::vector<Batch>& samples, const std::vector<std::string>& names) {
  std::vector<Batch> rest;
  for (const Batch& sample : samples) {
    std::vector<Batch::Item> items;
    for (const std::string& name : sample.names()) {
      if (std::ranges::count(names, name) > 0) continue;
      items.emplace_back(name, sample.is_list(name) ? Batch::Value(sample.list(name)) : Batch::Value(sample[name]));
    }
    rest.emplace_back(std::move(items));
  }
  return rest;
}

at::Tensor padded(const Tensors& sequences, const std::string& name, double value) {
  int64_t longest = 0;
  for (const at::Tensor& sequence : sequences) {
    const bool fits = sequence.dim() > 0 && sequence.sizes().slice(1) == sequences[0].sizes().slice(1) &&
                      sequence.scalar_type() == sequences[0].scalar_type();
    if (!fits) {
      throw Error("pad_to_longest: '", name, "' has the shapes ", sequences[0].sizes(), " and ", sequence.sizes(),
                  "; only dimension 0 may differ, and the dtype must be one");
    }
    longest = std::max(longest, sequence.size(0));
  }
  at::DimVector sizes(sequences[0].sizes());
  sizes[0] = longest;
  sizes.insert(sizes.begin(), static_cast<int64_t>(sequences.size()));
  at::Tensor all = at::full(sizes, value, sequences[0].options());
  for (size_t i = 0; i < sequences.size(); ++i) {
    all.select(0, static_cast<int64_t>(i)).narrow(0, 0, sequences[i].size(0)).copy_(sequences[i]);
  }
  return all;
}

at::Tensor lengths(const Tensors& sequences) {
  std::vector<int64_t> all;
  for (const at::Tensor& sequence : sequences) all.push_back(sequence.size(0));
  return at::tensor(all, at::TensorOptions(at::kLong));
}

}  // namespace

Collate pad_to_longest(PadOptions options) {
  return [options = std::move(options)](const std::vector<Batch>& samples) {
    std::vector<Batch::Item> items;
    for (const std::string& name : options.names) {
      const Tensors sequences = tensors_of(samples, name);
      items.emplace_back(name, padded(sequences, name, options.value));
      items.emplace_back(name + "_lengths", lengths(sequences));
    }
    const Batch others = Batch::stack(without(samples, options.names));
    for (const std::string& name : others.names()) {
      items.emplace_back(name, others.is_list(name) ? Batch::Value(others.list(name)) : Batch::Value(others[name]));
    }
    return Batch(std::move(items));
  };
}

}  // namespace levin::data
