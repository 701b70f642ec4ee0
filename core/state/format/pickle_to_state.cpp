#include <levin/core/state/format/pickle_to_state.h>
#include <levin/core/state/format/pickle_text.h>

#include <c10/core/Scalar.h>

#include <map>
#include <utility>

namespace levin {
namespace {

using Kind = PickleNode::Kind;
using Nodes = std::vector<const PickleNode*>;

/// Returns a global's name as it is in `known_objects`.
std::string canonical_name(const std::string& name) {
  constexpr std::string_view kNewPathlib = "pathlib._local.";
  if (name.starts_with(kNewPathlib)) return "pathlib." + name.substr(kNewPathlib.size());
  return without_numpy_2(name);
}

class Converter {
 public:
  Converter(const PickleAccess& access, const StorageLoader& load_storage, size_t pickle_bytes)
      : access_(access), load_storage_(load_storage), bytes_left_(kBytesPerByte * pickle_bytes + kFreeBytes) {}

  State convert(const PickleNode& node) {
    spend(node, node.text.size());
    if (++depth_ > State::kMaxDepth) access_.fail(node, "values nested more than ", State::kMaxDepth, " deep");
    State state = convert_value(node);
    --depth_;
    return state;
  }

 private:
  using Convert = State (Converter::*)(const PickleNode&);

  // Estimates of the memory that values take, and its limit. An object that is not shared costs less than its bytes in
  // the pickle allow.
  static constexpr size_t kBytesPerByte = 256, kFreeBytes = 8 << 20;
  static constexpr size_t kItemBytes = 64, kPairBytes = 320, kTensorBytes = 448;

  /// Objects may be shared or contain themselves: without a limit, a small file could expand endlessly.
  void spend(const PickleNode& node, size_t bytes) {
    if (bytes > bytes_left_)
      access_.fail(node, "its values refer to each other so often that they do not fit in memory");
    bytes_left_ -= bytes;
  }

  /// Returns the memory of a tensor that is not part of the file.
  static size_t own_bytes(const at::Tensor& tensor) {
    if (tensor.is_sparse()) return own_bytes(tensor._indices()) + own_bytes(tensor._values());
    return kTensorBytes + (tensor.storage().resizable() ? tensor.storage().nbytes() : 0);
  }

  State convert_value(const PickleNode& node) {
    switch (node.kind) {
      case Kind::kNone:
        return State();
      case Kind::kBool:
        return State(node.integer != 0);
      case Kind::kInt:
        return State(node.integer);
      case Kind::kBigInt:
        access_.fail(node, "an integer that does not fit in 64 bits");
      case Kind::kFloat:
        return State(node.number);
      case Kind::kText:
        return State(from_pickle_text(node.text));
      case Kind::kBytes:
        return State(State::Bytes{node.text});
      case Kind::kList:
      case Kind::kSet:
        return State(convert_all(node, node.items));
      case Kind::kTuple:
        return State(State::Tuple{convert_all(node, node.items)});
      case Kind::kDict:
        return dict_of(node, node.pairs);
      case Kind::kGlobal:
        return State(from_pickle_text(node.text));
      case Kind::kPersistent:
      case Kind::kObject:
        return convert_object(node);
    }
    return State();
  }

  State convert_object(const PickleNode& node) {
    const std::string& name = access_.callable(node);
    if (is_pickled_tensor(node, access_)) {
      at::Tensor tensor = tensor_from_pickle(node, access_, load_storage_);
      spend(node, own_bytes(tensor));
      return State(std::move(tensor));
    }
    const auto& known = known_objects();
    if (const auto found = known.find(canonical_name(name)); found != known.end()) return (this->*found->second)(node);
    access_.fail(node, "it holds an object of ", name.empty() ? "an unnamed class" : name,
                 ", which is not a plain value; save numbers, text, tensors, lists and dicts of them instead");
  }

  static const std::map<std::string, Convert>& known_objects() {
    static const std::map<std::string, Convert> kKnown = {
        {"collections.OrderedDict", &Converter::to_dict},
        {"collections.Counter", &Converter::to_dict},
        {"collections.defaultdict", &Converter::to_default_dict},
        {"lightning.fabric.utilities.data.AttributeDict", &Converter::to_dict},
        {"lightning.pytorch.utilities.parsing.AttributeDict", &Converter::to_dict},
        {"lightning_fabric.utilities.data.AttributeDict", &Converter::to_dict},
        {"pytorch_lightning.utilities.parsing.AttributeDict", &Converter::to_dict},
        {"argparse.Namespace", &Converter::to_namespace},
        {"types.SimpleNamespace", &Converter::to_namespace},
        {"builtins.set", &Converter::to_list},
        {"builtins.frozenset", &Converter::to_list},
        {"builtins.bytes", &Converter::to_bytes},
        {"builtins.bytearray", &Converter::to_bytes},
        {"_codecs.encode", &Converter::to_bytes},
        {"torch.Size", &Converter::to_size},
        {"torch.device", &Converter::to_device},
        {"torch.serialization._get_layout", &Converter::first_argument},
        {"torch.jit._pickle.restore_type_tag", &Converter::first_argument},
        {"torch.jit._pickle.build_intlist", &Converter::first_argument},
        {"torch.jit._pickle.build_tensorlist", &Converter::first_argument},
        {"torch.jit._pickle.build_doublelist", &Converter::first_argument},
        {"torch.jit._pickle.build_boollist", &Converter::first_argument},
        {"numpy.dtype", &Converter::first_argument},
        {"numpy.core.multiarray.scalar", &Converter::to_number},
        {"pathlib.Path", &Converter::to_path},
        {"pathlib.PosixPath", &Converter::to_path},
        {"pathlib.PurePosixPath", &Converter::to_path},
        {"pathlib.WindowsPath", &Converter::to_path},
        {"pathlib.PureWindowsPath", &Converter::to_path},
    };
    return kKnown;
  }

  State::List convert_all(const PickleNode& owner, const Nodes& nodes) {
    spend(owner, kItemBytes * nodes.size());
    State::List items;
    items.reserve(nodes.size());
    for (const PickleNode* node : nodes) items.push_back(convert(*node));
    return items;
  }

  State::Key key_of(const PickleNode& node) {
    const State key = convert(node);
    if (key.is_string()) return key.to_string();
    if (key.is_int()) return key.to_int();
    if (key.is_bool()) return static_cast<int64_t>(key.to_bool());
    access_.fail(node, "a dict key that is a ", key.kind(), "; keys must be text or integers");
  }

  /// A repeated key keeps its place and takes the later value, as in Python.
  State dict_of(const PickleNode& owner, const Nodes& pairs) {
    spend(owner, kPairBytes * (pairs.size() / 2));
    State state = State::dict();
    State::Dict& dict = state.to_dict();
    dict.reserve(pairs.size() / 2);
    std::map<State::Key, size_t> places;
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const State::Key key = key_of(*pairs[i]);
      State value = convert(*pairs[i + 1]);
      const auto [place, is_new] = places.emplace(key, dict.size());
      if (is_new)
        dict.emplace_back(key, std::move(value));
      else
        dict[place->second].second = std::move(value);
    }
    return state;
  }

  /// Converts a dict class: its constructor's dict or list of pairs, then the items set later. Attributes are dropped.
  State to_dict(const PickleNode& object) {
    Nodes pairs;
    if (!object.arguments->items.empty()) {
      const PickleNode& initial = access_.argument(object, 0);
      spend(object, kItemBytes * (initial.pairs.size() + initial.items.size()));
      pairs = initial.pairs;
      for (const PickleNode* item : initial.items) {
        if (!item->is(Kind::kTuple) && !item->is(Kind::kList)) access_.fail(*item, "a pair was expected");
        if (item->items.size() != 2) access_.fail(*item, "a pair was expected");
        pairs.insert(pairs.end(), item->items.begin(), item->items.end());
      }
    }
    pairs.insert(pairs.end(), object.pairs.begin(), object.pairs.end());
    return dict_of(object, pairs);
  }

  /// The argument is the factory of missing values, which a plain value cannot represent.
  State to_default_dict(const PickleNode& object) { return dict_of(object, object.pairs); }

  State to_namespace(const PickleNode& object) {
    if (!object.state) return State::dict();
    if (!object.state->is(Kind::kDict)) access_.fail(object, "a namespace whose attributes are no dict");
    return convert(*object.state);
  }

  State to_list(const PickleNode& object) {
    if (object.arguments->items.empty()) return State::list();
    return State(convert_all(object, access_.argument(object, 0).items));
  }

  State to_size(const PickleNode& object) {
    State::Tuple sizes;
    const std::vector<int64_t> values = access_.integers(object);
    spend(object, 2 * kItemBytes * values.size());
    for (const int64_t size : values) sizes.items.emplace_back(size);
    return State(std::move(sizes));
  }

  State to_path(const PickleNode& object) {
    std::string path;
    for (const PickleNode* part : object.arguments->items) {
      spend(object, kItemBytes + part->text.size());
      if (!path.empty() && path.back() != '/') path += '/';
      path += from_pickle_text(access_.text(*part));
    }
    return State(path.empty() ? "." : path);
  }

  State to_device(const PickleNode& object) {
    std::string device = access_.text(access_.argument(object, 0));
    if (object.arguments->items.size() > 1)
      device += ":" + std::to_string(access_.integer(access_.argument(object, 1)));
    return State(std::move(device));
  }

  State to_bytes(const PickleNode& object) {
    if (object.arguments->items.empty()) return State(State::Bytes{});
    const bool wraps_bytes = access_.callable(object) != "_codecs.encode";
    std::string bytes = access_.bytes(wraps_bytes ? access_.argument(object, 0) : object);
    spend(object, bytes.size());
    return State(State::Bytes{std::move(bytes)});
  }

  State first_argument(const PickleNode& object) { return convert(access_.argument(object, 0)); }

  State to_number(const PickleNode& object) {
    const at::Tensor value = tensor_from_numpy_scalar(object, access_);
    if (value.is_complex()) return State(value);
    if (value.is_floating_point()) return State(value.item().toDouble());
    if (value.scalar_type() == at::kBool) return State(value.item().toBool());
    return State(value.to(at::kLong).item().toLong());
  }

  const PickleAccess& access_;
  const StorageLoader& load_storage_;
  size_t bytes_left_;
  int depth_ = 0;
};

}  // namespace

State pickle_to_state(const PickleNode& node, const PickleAccess& access, const StorageLoader& load_storage,
                      size_t pickle_bytes) {
  return Converter(access, load_storage, pickle_bytes).convert(node);
}

}  // namespace levin
