#include <levin/data/batch.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <c10/util/Type.h>
#include <levin/core/device/memory_format.h>
#include <levin/core/system/error.h>
#include <levin/core/system/joined.h>

#include <algorithm>

namespace levin {
namespace {

int64_t rows(const at::Tensor& tensor) { return tensor.dim() == 0 ? 1 : tensor.size(0); }

/// Returns whether `tensor` is a plain CPU tensor with a single owner, without autograd state.
bool has_one_holder(const at::Tensor& tensor) {
  const auto& pointer = tensor.getIntrusivePtr();
  return pointer.use_count() == 1 && pointer.weak_use_count() == 1 && tensor.has_storage() &&
         tensor.storage().use_count() == 1 && tensor.is_cpu() && tensor.layout() == at::kStrided &&
         !pointer->autograd_meta() && !tensor.is_inference();
}

bool holds(const at::Tensor& tensor, at::IntArrayRef sizes, at::ScalarType dtype) {
  return tensor.scalar_type() == dtype && tensor.storage_offset() == 0 &&
         static_cast<size_t>(c10::multiply_integers(sizes)) * tensor.itemsize() <= tensor.storage().nbytes();
}

}  // namespace

Batch::Batch(std::vector<Item> items) {
  std::vector<Item> others;
  for (Item& item : items) {
    if (contains(item.first) || std::ranges::count(others, item.first, &Item::first)) {
      throw Error("Batch: the name '", item.first, "' is given twice");
    }
    if (item.first == "input" && !item.second.is_list) {
      input_ = std::move(item.second.tensor);
    } else if (item.first == "target" && !item.second.is_list) {
      target_ = std::move(item.second.tensor);
    } else {
      others.push_back(std::move(item));
    }
  }
  if (!others.empty()) named_ = std::make_shared<std::vector<Item>>(std::move(others));
}

const at::Tensor* Batch::find(std::string_view name) const {
  if (name == "input") return input_.defined() ? &input_ : nullptr;
  if (name == "target") return target_.defined() ? &target_ : nullptr;
  if (!named_) return nullptr;
  for (const auto& [key, value] : *named_) {
    if (key == name && !value.is_list) return &value.tensor;
  }
  return nullptr;
}

const Batch::List* Batch::find_list(std::string_view name) const {
  if (!named_) return nullptr;
  for (const auto& [key, value] : *named_) {
    if (key == name && value.is_list) return &value.list;
  }
  return nullptr;
}

const at::Tensor& Batch::operator[](std::string_view name) const {
  if (const at::Tensor* tensor = find(name)) return *tensor;
  throw_absent(name);
}

const Batch::List& Batch::list(std::string_view name) const {
  if (const List* items = find_list(name)) return *items;
  throw_absent(name);
}

void Batch::set(std::string_view name, at::Tensor tensor) {
  if (own_) throw Error("Batch::set: this batch holds ", contents(), "; make a new batch of the changed struct");
  if (name == "input") {
    input_ = std::move(tensor);
  } else if (name == "target") {
    target_ = std::move(tensor);
  } else {
    std::vector<Item> items = named_ ? *named_ : std::vector<Item>();
    const auto found = std::ranges::find(items, name, &Item::first);
    if (found == items.end()) {
      items.emplace_back(std::string(name), std::move(tensor));
    } else {
      found->second = Value(std::move(tensor));
    }
    named_ = std::make_shared<std::vector<Item>>(std::move(items));
  }
}

at::Tensor Batch::take_buffer(std::string_view name, at::IntArrayRef sizes, at::ScalarType dtype) {
  at::Tensor mine;
  if (name == "input") {
    mine = std::move(input_);
  } else if (name == "target") {
    mine = std::move(target_);
  } else if (named_ && named_.use_count() == 1) {
    const auto found = std::ranges::find(*named_, name, &Item::first);
    if (found != named_->end()) mine = std::move(found->second.tensor);
  }
  if (!mine.defined() || !has_one_holder(mine) || !holds(mine, sizes, dtype)) {
    return at::empty(sizes, at::TensorOptions(dtype));
  }
  if (mine.sizes() != sizes || !mine.is_contiguous()) mine.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return mine;
}

std::vector<std::string> Batch::names() const {
  std::vector<std::string> names;
  if (input_.defined()) names.push_back("input");
  if (target_.defined()) names.push_back("target");
  if (named_) {
    for (const Item& item : *named_) names.push_back(item.first);
  }
  return names;
}

std::string Batch::contents() const {
  if (own_) return "a " + c10::demangle(own_->type().name());
  return empty() ? "nothing" : joined(names());
}

void Batch::throw_absent(std::string_view name) const {
  if (own_) {
    const std::string type = c10::demangle(own_->type().name());
    throw Error("the batch has no tensor '", name, "': it is a ", type, "; use batch.as<", type, ">()");
  }
  if (find_list(name)) throw Error("the batch's '", name, "' is a list; use batch.list(\"", name, "\")");
  if (find(name)) throw Error("the batch's '", name, "' is a tensor; use batch[\"", name, "\"]");
  throw UsageError(
      "the batch has no '", name, "'; it holds ", contents(), did_you_mean(std::string(name), names()),
      name == "target" && !empty() ? "; name these data's target in their options (data.target of Csv)" : "");
}

void Batch::throw_not_a(const std::type_info& wanted) const {
  throw Error("Batch::as<", c10::demangle(wanted.name()), ">: the batch holds ", contents());
}

void Batch::throw_own_lacks(const std::type_info& type, const char* member) {
  throw Error("batches of ", c10::demangle(type.name()), " cannot be split, gathered or stacked; give it ", member);
}

int64_t Batch::size() const {
  if (C10_LIKELY(input_.defined())) return rows(input_);
  if (own_) return own_->size();
  if (target_.defined()) return rows(target_);
  if (!named_) return 0;
  const Value& first = named_->front().second;
  return first.is_list ? static_cast<int64_t>(first.list.size()) : rows(first.tensor);
}

bool Batch::is_on(c10::Device device) const {
  const auto there = [&](const at::Tensor& tensor) { return !tensor.defined() || tensor.device() == device; };
  if (own_ || !there(input_) || !there(target_)) return false;
  return !named_ || std::ranges::all_of(*named_, [&](const Item& item) {
    const Value& value = item.second;
    return value.is_list ? std::ranges::all_of(value.list, [&](const Batch& b) { return b.is_on(device); })
                         : there(value.tensor);
  });
}

template <class OfTensor, class OfList>
Batch Batch::map(const OfTensor& of_tensor, const OfList& of_list) const {
  Batch out;
  if (input_.defined()) out.input_ = of_tensor("input", input_);
  if (target_.defined()) out.target_ = of_tensor("target", target_);
  if (!named_) return out;
  std::vector<Item> items;
  items.reserve(named_->size());
  for (const auto& [name, value] : *named_) {
    items.emplace_back(name, value.is_list ? Value(of_list(value.list)) : Value(of_tensor(name, value.tensor)));
  }
  out.named_ = std::make_shared<std::vector<Item>>(std::move(items));
  return out;
}

Batch Batch::to(c10::Device device, bool non_blocking) const& {
  if (is_on(device)) return *this;
  if (own_) return own_->to(device, non_blocking);
  return map([&](const auto&, const at::Tensor& t) { return t.to(device, t.scalar_type(), non_blocking); },
             [&](const List& items) {
               List moved;
               for (const Batch& item : items) moved.push_back(item.to(device, non_blocking));
               return moved;
             });
}

Batch Batch::to(c10::Device device, bool non_blocking) && {
  if (is_on(device)) return std::move(*this);
  return std::as_const(*this).to(device, non_blocking);
}

Batch Batch::to(at::ScalarType dtype) const {
  if (own_) return own_->to(dtype);
  return map([&](const auto&, const at::Tensor& t) { return t.is_floating_point() ? t.to(dtype) : t; },
             [&](const List& items) {
               List converted;
               for (const Batch& item : items) converted.push_back(item.to(dtype));
               return converted;
             });
}

Batch Batch::pin_memory() const {
  if (own_) return own_->pin_memory();
  return map([](const auto&, const at::Tensor& t) { return t.pin_memory(); },
             [](const List& items) {
               List pinned;
               for (const Batch& item : items) pinned.push_back(item.pin_memory());
               return pinned;
             });
}

Batch Batch::channels_last() const {
  if (own_) return *this;
  return map([](const auto&, const at::Tensor& t) { return levin::channels_last(t); },
             [](const List& items) {
               List converted;
               for (const Batch& item : items) converted.push_back(item.channels_last());
               return converted;
             });
}

Batch Batch::narrow(int64_t start, int64_t length) const {
  const int64_t samples = size();
  if (start < 0 || length < 0 || start > samples - length) {
    throw Error("Batch::narrow: samples [", start, ", ", start, " + ", length, ") of a batch of ", samples);
  }
  if (own_) return own_->narrow(start, length);
  return map(
      [&](const auto& name, const at::Tensor& t) {
        if (t.dim() == 0 || t.size(0) != samples) {
          throw Error("the batch cannot be split: '", name, "' has the shape ", t.sizes(), ", the batch ", samples,
                      " samples");
        }
        return t.narrow(0, start, length);
      },
      [&](const List& items) {
        if (static_cast<int64_t>(items.size()) != samples) {
          throw Error("the batch cannot be split: a list of ", items.size(), " in a batch of ", samples, " samples");
        }
        return List(items.begin() + start, items.begin() + start + length);
      });
}

Batch Batch::clone() const {
  if (own_) throw Error("Batch::clone: the batch holds ", contents(), ", not tensors");
  return map([](const auto&, const at::Tensor& t) { return t.clone(); },
             [](const List& items) {
               List copies;
               for (const Batch& item : items) copies.push_back(item.clone());
               return copies;
             });
}

Batch Batch::index_select(const at::Tensor& indices) const {
  if (own_) throw Error("Batch::index_select: the batch holds ", contents(), ", not tensors");
  return map([&](const auto&, const at::Tensor& t) { return t.index_select(0, indices); },
             [&](const List& items) {
               List selected;
               const at::Tensor on_cpu = indices.to(at::kCPU);
               for (int64_t i = 0; i < on_cpu.numel(); ++i) {
                 selected.push_back(items.at(static_cast<size_t>(on_cpu[i].item<int64_t>())));
               }
               return selected;
             });
}

std::vector<Batch> Batch::chunk(int64_t chunks) const {
  if (chunks < 1) throw Error("Batch::chunk: at least 1 part, got ", chunks);
  const int64_t samples = size();
  const int64_t length = std::max<int64_t>(1, (samples + chunks - 1) / chunks);
  std::vector<Batch> parts;
  for (int64_t start = 0; start < samples; start += length) {
    parts.push_back(narrow(start, std::min(length, samples - start)));
  }
  return parts;
}

template <class Join>
Batch Batch::join(const std::vector<Batch>& parts, const Join& join_tensors) {
  const Batch& first = parts.front();
  for (const Batch& part : parts) {
    if (part.is_own() || part.names() != first.names()) {
      throw Error("batches cannot be put together: one holds ", first.contents(), ", another ", part.contents());
    }
  }
  std::vector<Item> items;
  for (const std::string& name : first.names()) {
    if (first.find(name)) {
      std::vector<at::Tensor> tensors;
      for (const Batch& part : parts) tensors.push_back(part[name]);
      items.emplace_back(name, join_tensors(tensors));
    } else {
      List all;
      for (const Batch& part : parts) all.insert(all.end(), part.list(name).begin(), part.list(name).end());
      items.emplace_back(name, std::move(all));
    }
  }
  return Batch(std::move(items));
}

Batch Batch::gather(const std::vector<Batch>& batches, c10::Device device) {
  if (batches.empty()) throw Error("Batch::gather: no batches");
  std::vector<Batch> moved;
  for (const Batch& batch : batches) moved.push_back(batch.to(device));
  if (moved.front().own_) return moved.front().own_->gather(moved);
  return join(moved, [](const std::vector<at::Tensor>& tensors) { return at::cat(tensors); });
}

Batch Batch::stack(const std::vector<Batch>& samples) {
  if (samples.empty()) throw Error("Batch::stack: no samples");
  if (samples.front().own_) return samples.front().own_->stack(samples);
  return join(samples, [](const std::vector<at::Tensor>& tensors) { return at::stack(tensors); });
}

}  // namespace levin
