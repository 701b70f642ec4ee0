#include <levin/data/dataset.h>
#include <c10/util/Type.h>
#include <levin/trainer/core/error.h>

#include <typeinfo>
#include <vector>

namespace levin::data {

Batch Dataset::get(int64_t /*index*/, Rng& /*rng*/) const {
  const Dataset& self = *this;
  throw Error(c10::demangle(typeid(self).name()), " overrides neither get(index, rng) nor get_batch(indices, out)");
}

void Dataset::get_batch(const Indices& indices, Batch& out) const {
  std::vector<Batch> samples;
  samples.reserve(static_cast<size_t>(indices.size()));
  for (int64_t i = 0; i < indices.size(); ++i) {
    Rng rng = indices.rng(indices[i]);
    samples.push_back(get(indices[i], rng));
  }
  out = Batch::stack(samples);
}

TensorDataset::TensorDataset(Batch tensors) : tensors_(std::move(tensors)), size_(tensors_.size()) {
  if (tensors_.is_own()) throw UsageError("TensorDataset: needs a batch of named tensors, got a user's own struct");
  for (const std::string& name : tensors_.names()) {
    const at::Tensor& tensor = tensors_[name];
    if (tensor.dim() == 0 || tensor.size(0) != size_) {
      throw UsageError("TensorDataset: ", size_, " samples, but '", name, "' has the shape ", tensor.sizes(),
                       "; dimension 0 must count the samples");
    }
  }
}

Batch TensorDataset::get(int64_t index, Rng& /*rng*/) const {
  std::vector<Batch::Item> items;
  for (const std::string& name : tensors_.names()) items.emplace_back(name, tensors_[name].select(0, index));
  return Batch(std::move(items));
}

void TensorDataset::get_batch(const Indices& indices, Batch& out) const {
  out = indices.is_range() ? tensors_.narrow(indices.start(), indices.size()).clone()
                           : tensors_.index_select(indices.tensor());
}

}  // namespace levin::data
