#include <levin/core/state/format/pickle_tensors.h>
#include <levin/core/state/format/checked_tensor.h>
#include <levin/core/state/format/python_dtypes.h>

#include <ATen/ops/conj_physical.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace levin {
namespace {

using Kind = PickleNode::Kind;

/// Builds tensors from the calls of Python's `torch._utils` in files of torch.save.
class TensorBuilder {
 public:
  TensorBuilder(const PickleAccess& access, const StorageLoader& load_storage)
      : access_(access), load_storage_(load_storage) {}

  using Build = at::Tensor (TensorBuilder::*)(const PickleNode&);
  static Build find(const std::string& callable) {
    static const std::map<std::string, Build> kBuilders = {
        {"torch._utils._rebuild_tensor", &TensorBuilder::strided},
        {"torch._utils._rebuild_tensor_v2", &TensorBuilder::strided},
        {"torch._utils._rebuild_tensor_v3", &TensorBuilder::strided},
        {"torch._utils._rebuild_parameter", &TensorBuilder::parameter},
        {"torch._utils._rebuild_parameter_with_state", &TensorBuilder::parameter},
        {"torch._tensor._rebuild_from_type_v2", &TensorBuilder::subclass},
        {"torch._utils._rebuild_sparse_tensor", &TensorBuilder::sparse},
        {"numpy.core.multiarray._reconstruct", &TensorBuilder::numpy_array},
    };
    const auto found = kBuilders.find(without_numpy_2(callable));
    return found == kBuilders.end() ? nullptr : found->second;
  }

  at::Tensor build(const PickleNode& node) {
    if (node.is(Kind::kPersistent)) return bare_storage(node);
    const Build builder = find(access_.callable(node));
    if (!builder) access_.fail(node, "a tensor was expected");
    return (this->*builder)(node);
  }

  at::Tensor numpy_scalar(const PickleNode& node) {
    return tensor_from_bytes(access_.bytes(access_.argument(node, 1)), numpy_type(access_.argument(node, 0)), {});
  }

 private:
  struct Memory {
    c10::Storage storage;
    at::ScalarType type;
    int64_t numel;
  };

  /// The id is ("storage", class, key, device, number of elements). `seen_as` replaces the storage's own dtype.
  Memory load(const PickleNode& persistent, std::optional<at::ScalarType> seen_as = {}) {
    if (!persistent.is(Kind::kPersistent)) access_.fail(persistent, "a tensor without a storage");
    const PickleNode& id = *persistent.arguments;
    if (access_.text(access_.item(id, 0)) != "storage") access_.fail(id, "a reference that is no storage");
    const at::ScalarType type = storage_type(access_.item(id, 1));
    if (access_.text(access_.item(id, 3)) == "meta")
      access_.fail(id, "a tensor on the meta device, which has no values");
    const int64_t numel = access_.integer(access_.item(id, 4));
    const auto width = static_cast<int64_t>(c10::elementSize(type));
    if (numel < 0 || numel > std::numeric_limits<int64_t>::max() / width)
      access_.fail(id, "a storage of ", numel, " elements");
    const at::ScalarType seen_type = seen_as.value_or(type);
    c10::Storage storage =
        load_storage_(access_.text(access_.item(id, 2)), static_cast<size_t>(numel * width), seen_type);
    return {std::move(storage), seen_type, numel};
  }

  at::ScalarType storage_type(const PickleNode& global) const {
    const std::string& name = global.text;
    if (global.is(Kind::kGlobal) && name.starts_with("torch.")) {
      const std::string class_name = name.substr(name.rfind('.') + 1);
      if (class_name == "UntypedStorage") return at::kByte;
      if (const PythonDtype* dtype = find_dtype_by_storage_class(class_name)) return dtype->type;
    }
    access_.fail(global, "a storage of the unknown class ", name);
  }

  at::Tensor bare_storage(const PickleNode& node) {
    const Memory memory = load(node);
    return view_of_storage(memory.storage, memory.type, 0, {memory.numel}, {1});
  }

  /// Arguments: storage, offset, sizes, strides, requires_grad, hooks, then a dtype (v3) or flags (v2).
  at::Tensor strided(const PickleNode& node) {
    const PickleNode* extra = access_.argument_or_null(node, 6);
    const bool has_dtype = extra && extra->is(Kind::kGlobal);
    const Memory memory = load(access_.argument(node, 0), has_dtype ? std::optional(dtype_of(*extra)) : std::nullopt);
    const auto sizes = access_.integers(access_.argument(node, 2));
    const auto strides = access_.integers(access_.argument(node, 3));
    const int64_t offset = access_.integer(access_.argument(node, 1));
    const at::Tensor tensor = view_of_storage(memory.storage, memory.type, offset, sizes, strides);
    const bool is_conj = extra && has_flag(*extra, "conj"), is_neg = extra && has_flag(*extra, "neg");
    if ((!is_conj && !is_neg) || tensor.numel() == 0) return tensor;
    // Works on the storage's elements: through strides of 0 the tensor may repeat the same elements many times.
    at::Tensor flat = at::empty({0}, tensor.options()).set_(memory.storage, offset, {reach(sizes, strides)}, {1});
    if (is_conj) flat = at::conj_physical(flat);
    if (is_neg) flat = at::neg(flat);
    return flat.as_strided(sizes, strides);
  }

  /// Returns the number of elements from the first to the last one of a tensor that is not empty.
  static int64_t reach(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
    int64_t last = 0;
    for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
    return last + 1;
  }

  static bool has_flag(const PickleNode& flags, const char* name) {
    for (size_t i = 0; i + 1 < flags.pairs.size(); i += 2)
      if (flags.pairs[i]->text == name && flags.pairs[i + 1]->is(Kind::kBool)) return flags.pairs[i + 1]->integer != 0;
    return false;
  }

  at::ScalarType dtype_of(const PickleNode& global) const {
    const PythonDtype* dtype =
        global.text.starts_with("torch.") ? find_dtype_by_name(std::string_view(global.text).substr(6)) : nullptr;
    if (!dtype) access_.fail(global, "a tensor of the unknown dtype ", global.text);
    return dtype->type;
  }

  at::Tensor parameter(const PickleNode& node) {
    const PickleNode& data = access_.argument(node, 0);
    const Build builder = find(access_.callable(data));
    // Nested parameters could recurse as deep as a file likes.
    if (builder == &TensorBuilder::parameter || builder == &TensorBuilder::subclass)
      access_.fail(data, "a parameter within a parameter");
    return build(data);
  }

  /// Arguments: the function that builds the tensor, its class, the function's arguments, Python attributes.
  at::Tensor subclass(const PickleNode& node) {
    PickleNode call;
    call.kind = Kind::kObject;
    call.offset = node.offset;
    call.callable = &access_.argument(node, 0);
    call.arguments = &access_.argument(node, 2);
    const std::string& type = access_.argument(node, 1).text;
    if (type != "torch.Tensor" && type != "torch._tensor.Tensor" && type != "torch.nn.parameter.Parameter" &&
        type != "torch.nn.parameter.Buffer")
      access_.fail(node, "a tensor of the class ", type, ", which levin does not know; save a plain tensor");
    if (find(access_.callable(call)) == &TensorBuilder::subclass) access_.fail(node, "a tensor within a tensor");
    return build(call);
  }

  /// Arguments: layout, (indices, values, size, is_coalesced).
  at::Tensor sparse(const PickleNode& node) {
    const PickleNode& layout = access_.argument(node, 0);
    if (access_.callable(layout) != "torch.serialization._get_layout" ||
        access_.text(access_.argument(layout, 0)) != "torch.sparse_coo")
      access_.fail(node, "a sparse tensor of another layout than COO; save it as to_dense() or to_sparse_coo()");
    const PickleNode& data = access_.argument(node, 1);
    const PickleNode &indices = access_.item(data, 0), &values = access_.item(data, 1);
    for (const PickleNode* part : {&indices, &values})
      if (find(access_.callable(*part)) != &TensorBuilder::strided)
        access_.fail(*part, "a sparse tensor without values");
    const at::Tensor index = strided(indices);
    TORCH_CHECK(index.scalar_type() == at::kLong && index.dim() == 2, "a sparse tensor's indices must be 2-d int64");
    // Checking reads all indices, and indices repeated through a stride of 0 could be any number.
    TORCH_CHECK(index.numel() == 0 || static_cast<size_t>(index.numel()) <= index.storage().nbytes() / sizeof(int64_t),
                "a sparse tensor of more indices than its storage has");
    const std::vector<int64_t> sizes = access_.integers(access_.item(data, 2));
    check_dimensions(sizes);
    return at::sparse_coo_tensor(index, strided(values), sizes, at::TensorOptions());
  }

  at::ScalarType numpy_type(const PickleNode& dtype) const {
    if (access_.callable(dtype) != "numpy.dtype") access_.fail(dtype, "a numpy dtype was expected");
    const std::string& code = access_.text(access_.argument(dtype, 0));
    const PythonDtype* known = find_dtype_by_numpy_code(code);
    if (!known) access_.fail(dtype, "numpy values of the dtype '", code, "', which is no plain number");
    if (dtype.state && access_.text(access_.item(*dtype.state, 1)) == ">")
      access_.fail(dtype, "numpy values with the bytes in big-endian order");
    return known->type;
  }

  /// The state is (version, shape, dtype, is_fortran, bytes).
  at::Tensor numpy_array(const PickleNode& node) {
    if (!node.state) access_.fail(node, "a numpy array without values");
    std::vector<int64_t> sizes = access_.integers(access_.item(*node.state, 1));
    const at::ScalarType type = numpy_type(access_.item(*node.state, 2));
    const bool is_fortran = access_.item(*node.state, 3).integer != 0;
    const std::string bytes = access_.bytes(access_.item(*node.state, 4));
    if (!is_fortran) return tensor_from_bytes(bytes, type, sizes);
    std::reverse(sizes.begin(), sizes.end());
    std::vector<int64_t> order(sizes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
    return tensor_from_bytes(bytes, type, sizes).permute(order);
  }

  const PickleAccess& access_;
  const StorageLoader& load_storage_;
};

/// Calls `build` and adds the place in the file to errors of ATen and of the bounds checks.
template <class Function>
at::Tensor with_place(const PickleNode& node, const PickleAccess& access, Function build) {
  try {
    return build();
  } catch (const c10::Error& error) {
    access.fail(node, error.what_without_backtrace());
  }
}

}  // namespace

bool is_pickled_tensor(const PickleNode& node, const PickleAccess& access) {
  return node.is(Kind::kPersistent) || TensorBuilder::find(access.callable(node));
}

at::Tensor tensor_from_pickle(const PickleNode& node, const PickleAccess& access, const StorageLoader& load_storage) {
  return with_place(node, access, [&] { return TensorBuilder(access, load_storage).build(node); });
}

at::Tensor tensor_from_numpy_scalar(const PickleNode& node, const PickleAccess& access) {
  const StorageLoader no_storage;
  return with_place(node, access, [&] { return TensorBuilder(access, no_storage).numpy_scalar(node); });
}

std::string without_numpy_2(const std::string& name) {
  constexpr std::string_view kNewPrefix = "numpy._core.";
  return name.starts_with(kNewPrefix) ? "numpy.core." + name.substr(kNewPrefix.size()) : name;
}

}  // namespace levin
