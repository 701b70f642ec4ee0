#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/format/pickle_writer.h>
#include <levin/core/state/format/python_dtypes.h>
#include <levin/core/state/format/tensor_storages.h>
#include <levin/core/system/error.h>

#include <utility>

namespace levin {
namespace {

/// Visits the tree twice: first to find tensors that share memory, then to write.
class StatePickler {
 public:
  PickledState run(const State& state, const PickleOptions& options) {
    collect(state);
    collect(options.attributes);
    storages_.plan();
    if (options.attributes.is_none() && options.parameters.empty()) {
      write(state);
    } else {
      options.attributes.is_none() ? writer_.write_empty_dict() : write_ordered_dict();
      write_items(state, options.parameters);
    }
    if (!options.attributes.is_none()) {
      write(options.attributes);
      writer_.set_attributes();
    }
    return {std::move(writer_).finish(), storages_.storages()};
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    std::string place = "state";
    for (const std::string& step : path_) place += "['" + step + "']";
    throw Error(place, ": ", parts...);
  }

  template <class Function>
  void within(std::string step, Function visit) {
    path_.push_back(std::move(step));
    if (path_.size() >= State::kMaxDepth) fail("values nested more than ", State::kMaxDepth, " deep");
    visit();
    path_.pop_back();
  }

  void collect(const State& state) {
    if (state.is_tensor()) collect_tensor(state.to_tensor());
    if (state.is_dict())
      for (const State::Item& item : state.to_dict()) within(to_text(item.first), [&] { collect(item.second); });
    if (state.is_list() || state.is_tuple())
      for (size_t i = 0; i < state.size(); ++i) within(std::to_string(i), [&] { collect(state.items()[i]); });
  }

  void collect_tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) fail("an undefined tensor cannot be saved; leave it out or save nothing in its place");
    if (tensor.layout() == at::kSparse) {
      storages_.add(tensor._indices());
      storages_.add(tensor._values());
      return;
    }
    if (tensor.layout() != at::kStrided || tensor.is_nested() || !tensor.has_storage())
      fail("a tensor of layout ", tensor.layout(), " cannot be saved; make it dense");
    if (tensor.is_meta()) fail("a tensor on the meta device has no values to save");
    if (!find_dtype(tensor.scalar_type())) fail("a tensor of dtype ", tensor.scalar_type(), " cannot be saved");
    storages_.add(tensor);
  }

  void write(const State& state) {
    if (state.is_none()) writer_.write_none();
    if (state.is_bool()) writer_.write_bool(state.to_bool());
    if (state.is_int()) writer_.write_int(state.to_int());
    if (state.is_float()) writer_.write_float(state.to_double());
    if (state.is_string()) writer_.write_text(state.to_string());
    if (state.is_bytes()) writer_.write_bytes(state.to_bytes());
    if (state.is_tensor()) write_tensor(state.to_tensor());
    if (state.is_list()) write_list(state);
    if (state.is_tuple()) write_tuple(state);
    if (state.is_dict()) write_dict(state);
  }

  void write_list(const State& state) {
    writer_.write_empty_list();
    if (state.size() == 0) return;
    writer_.write_mark();
    for (const State& item : state.items()) write(item);
    writer_.append_items();
  }

  void write_tuple(const State& state) {
    writer_.write_mark();
    for (const State& item : state.items()) write(item);
    writer_.write_tuple();
  }

  void write_dict(const State& state) {
    writer_.write_empty_dict();
    write_items(state);
  }

  void write_ordered_dict() {
    writer_.write_global("collections", "OrderedDict");
    writer_.write_empty_tuple();
    writer_.call();
  }

  void write_items(const State& state, const std::set<std::string>& parameters = {}) {
    if (state.size() == 0) return;
    writer_.write_mark();
    for (const auto& [key, value] : state.to_dict()) {
      const auto* const name = std::get_if<std::string>(&key);
      if (name != nullptr)
        writer_.write_text(*name);
      else
        writer_.write_int(std::get<int64_t>(key));
      if (name != nullptr && parameters.contains(*name))
        write_parameter(value.to_tensor());
      else
        write(value);
    }
    writer_.set_items();
  }

  /// Writes `_rebuild_parameter(tensor, requires_grad, hooks)`.
  void write_parameter(const at::Tensor& tensor) {
    writer_.write_global("torch._utils", "_rebuild_parameter");
    writer_.write_mark();
    write_tensor(tensor);
    writer_.write_bool(tensor.is_floating_point());
    write_ordered_dict();
    writer_.write_tuple();
    writer_.call();
  }

  void write_tensor(const at::Tensor& tensor) {
    if (tensor.layout() == at::kSparse)
      write_sparse(tensor);
    else
      write_dense(storages_.place(next_tensor_++));
  }

  void write_ints(at::IntArrayRef values) {
    writer_.write_mark();
    for (const int64_t value : values) writer_.write_int(value);
    writer_.write_tuple();
  }

  /// Writes `_rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks)`; v3 also has the dtype, for
  /// dtypes without a storage class.
  void write_dense(const TensorStorages::Place& place) {
    const PythonDtype& dtype = *find_dtype(place.tensor.scalar_type());
    writer_.write_global("torch._utils", dtype.storage_class ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    writer_.write_mark();
    write_storage(place.storage, dtype);
    writer_.write_int(place.offset);
    write_ints(place.tensor.sizes());
    write_ints(place.tensor.strides());
    writer_.write_bool(false);
    write_ordered_dict();
    if (!dtype.storage_class) writer_.write_global("torch", dtype.name);
    writer_.write_tuple();
    writer_.call();
  }

  void write_storage(size_t index, const PythonDtype& dtype) {
    const at::Tensor& storage = storages_.storages()[index];
    writer_.write_mark();
    writer_.write_text("storage");
    if (dtype.storage_class)
      writer_.write_global("torch", dtype.storage_class);
    else
      writer_.write_global("torch.storage", "UntypedStorage");
    writer_.write_text(std::to_string(index));
    writer_.write_text("cpu");
    writer_.write_int(dtype.storage_class ? storage.numel() : static_cast<int64_t>(storage.nbytes()));
    writer_.write_tuple();
    writer_.write_persistent();
  }

  /// Writes `_rebuild_sparse_tensor(layout, (indices, values, sizes, is_coalesced))`.
  void write_sparse(const at::Tensor& tensor) {
    writer_.write_global("torch._utils", "_rebuild_sparse_tensor");
    writer_.write_mark();
    writer_.write_global("torch.serialization", "_get_layout");
    writer_.write_mark();
    writer_.write_text("torch.sparse_coo");
    writer_.write_tuple();
    writer_.call();
    writer_.write_mark();
    write_dense(storages_.place(next_tensor_++));
    write_dense(storages_.place(next_tensor_++));
    write_ints(tensor.sizes());
    writer_.write_bool(tensor.is_coalesced());
    writer_.write_tuple();
    writer_.write_tuple();
    writer_.call();
  }

  PickleWriter writer_;
  TensorStorages storages_;
  size_t next_tensor_ = 0;
  std::vector<std::string> path_;
};

}  // namespace

PickledState state_to_pickle(const State& state, const PickleOptions& options) {
  return StatePickler().run(state, options);
}

}  // namespace levin
