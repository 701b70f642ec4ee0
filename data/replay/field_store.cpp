#include <levin/data/replay/field_store.h>
#include <ATen/core/Formatting.h>
#include <ATen/ops/empty.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>

#include <algorithm>

namespace levin::data {
FieldList fields_of(const Batch& batch) {
  if (batch.is_own())
    throw UsageError(
        "a buffer of Batch takes named tensors, the batch holds a struct; describe the struct by LEVIN_BATCH_FIELDS "
        "and use a buffer of that type");
  FieldList fields{.names = batch.names()};
  for (const std::string& name : fields.names) {
    if (batch.is_list(name)) throw UsageError("a buffer keeps tensors, but \"", name, "\" of the batch is a list");
    fields.tensors.push_back(batch[name]);
  }
  return fields;
}

int64_t FieldStore::take(const FieldList& batch) {
  if (batch.names.empty()) throw UsageError(owner_, "::add: the batch holds no tensors");
  for (size_t i = 0; i < batch.names.size(); ++i) {
    const at::Tensor& tensor = batch.tensors[i];
    if (!tensor.defined()) throw UsageError(owner_, "::add: \"", batch.names[i], "\" is not set");
    if (tensor.dim() == 0)
      throw UsageError(owner_, "::add: \"", batch.names[i],
                       "\" is a scalar; dimension 0 counts the transitions, so use unsqueeze(0) for a single one");
    if (tensor.size(0) != batch.tensors[0].size(0))
      throw UsageError(owner_, "::add: \"", batch.names[i], "\" has ", tensor.size(0), " rows, \"", batch.names[0],
                       "\" has ", batch.tensors[0].size(0), "; all tensors of a batch need as many");
  }
  if (!is_allocated()) allocate(batch, 1);
  if (batch.names != names())
    throw UsageError(owner_, "::add: the batch holds ", joined(batch.names), "; the buffer holds ", joined(names()),
                     ", as its first batch did");
  for (size_t i = 0; i < batch.names.size(); ++i) {
    const at::IntArrayRef row = batch.tensors[i].sizes().slice(1),
                          known = fields_.tensors[i].sizes().slice(sizes_.size());
    if (row != known || batch.tensors[i].scalar_type() != fields_.tensors[i].scalar_type())
      throw UsageError(owner_, "::add: rows of \"", batch.names[i], "\" are ", batch.tensors[i].scalar_type(), " ", row,
                       "; the buffer has ", fields_.tensors[i].scalar_type(), " ", known,
                       ", as its first batch did; convert them");
  }
  return batch.tensors[0].size(0);
}

void FieldStore::allocate(const FieldList& like, size_t row_begins) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor& tensor : like.tensors) {
    std::vector<int64_t> sizes = sizes_;
    const at::IntArrayRef row = tensor.sizes().slice(row_begins);
    sizes.insert(sizes.end(), row.begin(), row.end());
    tensors.push_back(at::empty(sizes, at::TensorOptions(tensor.scalar_type()).device(device_)));
  }
  fields_ = {like.names, std::move(tensors)};
}

int64_t FieldStore::find(const std::string& name) const {
  const auto found = std::ranges::find(names(), name);
  return found == names().end() ? -1 : found - names().begin();
}

size_t FieldStore::at(const std::string& name, const char* purpose) const {
  const int64_t found = find(name);
  if (found < 0)
    throw UsageError(owner_, ": ", purpose, " needs a tensor \"", name, "\"; the batches hold ", joined(names()));
  return static_cast<size_t>(found);
}

at::Tensor& FieldStore::writable(size_t field) {
  at::Tensor& tensor = fields_.tensors[field];
  if (tensor.storage().use_count() > 1) tensor = tensor.clone();
  return tensor;
}

State FieldStore::state_dict(int64_t rows) const {
  State state = State::dict();
  for (size_t i = 0; i < count(); ++i) state[names()[i]] = fields_.tensors[i].narrow(0, 0, rows);
  return state;
}

void FieldStore::load_state_dict(const State& state, int64_t rows) {
  FieldList saved;
  for (const auto& [name, value] : state.to_dict()) {
    saved.names.push_back(to_text(name));
    saved.tensors.push_back(value.to_tensor());
  }
  if (saved.names.empty()) return;
  const std::vector<std::string>& mine = is_allocated() ? names() : expected_;
  if (!mine.empty() && saved.names != mine)
    throw UsageError(owner_, ": the saved buffer holds ", joined(saved.names), "; this one takes ", joined(mine),
                     "; give both the same batches");
  for (size_t i = 0; i < count(); ++i) {
    const at::IntArrayRef old = saved.tensors[i].sizes().slice(sizes_.size()),
                          row = fields_.tensors[i].sizes().slice(sizes_.size());
    if (old != row || saved.tensors[i].scalar_type() != fields_.tensors[i].scalar_type())
      throw UsageError(owner_, ": rows of \"", saved.names[i], "\" are ", saved.tensors[i].scalar_type(), " ", old,
                       " in the saved buffer and ", fields_.tensors[i].scalar_type(), " ", row, " in this one");
  }
  allocate(saved, sizes_.size());
  for (size_t i = 0; i < count(); ++i) fields_.tensors[i].narrow(0, 0, rows).copy_(saved.tensors[i]);
}

}  // namespace levin::data
