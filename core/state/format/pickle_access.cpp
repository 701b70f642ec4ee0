#include <levin/core/state/format/pickle_access.h>

namespace levin {

using Kind = PickleNode::Kind;

const std::string& PickleAccess::callable(const PickleNode& object) const {
  static const std::string kUnnamed;
  return object.is(Kind::kObject) && object.callable->is(Kind::kGlobal) ? object.callable->text : kUnnamed;
}

const PickleNode& PickleAccess::argument(const PickleNode& object, size_t index) const {
  if (!object.is(Kind::kObject)) fail(object, "an object was expected");
  return item(*object.arguments, index);
}

const PickleNode* PickleAccess::argument_or_null(const PickleNode& object, size_t index) const {
  if (!object.is(Kind::kObject) || !object.arguments->is(Kind::kTuple)) return nullptr;
  return index < object.arguments->items.size() ? object.arguments->items[index] : nullptr;
}

const PickleNode& PickleAccess::item(const PickleNode& tuple, size_t index) const {
  if (!tuple.is(Kind::kTuple) || index >= tuple.items.size())
    fail(tuple, "a tuple of at least ", index + 1, " values was expected");
  return *tuple.items[index];
}

int64_t PickleAccess::integer(const PickleNode& node) const {
  if (!node.is(Kind::kInt)) fail(node, "an integer was expected");
  return node.integer;
}

const std::string& PickleAccess::text(const PickleNode& node) const {
  if (!node.is(Kind::kText)) fail(node, "text was expected");
  return node.text;
}

std::vector<int64_t> PickleAccess::integers(const PickleNode& node) const {
  const PickleNode& list = callable(node) == "torch.Size" ? argument(node, 0) : node;
  if (!list.is(Kind::kTuple) && !list.is(Kind::kList)) fail(node, "a tuple of integers was expected");
  std::vector<int64_t> values;
  for (const PickleNode* value : list.items) values.push_back(integer(*value));
  return values;
}

std::string PickleAccess::bytes(const PickleNode& node) const {
  if (node.is(Kind::kBytes)) return node.text;
  const std::string& maker = callable(node);
  if (maker == "builtins.bytes" && node.arguments->items.empty()) return {};  // empty bytes in protocol 2
  if (maker != "_codecs.encode" || text(argument(node, 1)) != "latin1") fail(node, "bytes were expected");
  std::string decoded;
  const std::string& utf8 = text(argument(node, 0));
  for (size_t i = 0; i < utf8.size(); ++i) {
    auto byte = static_cast<uint8_t>(utf8[i]);
    if (byte >= 0x80) {
      // U+0080 to U+00FF, as two bytes: 110000xx 10xxxxxx.
      if ((byte & 0xfc) != 0xc0 || i + 1 == utf8.size()) fail(node, "bytes that are not Latin-1");
      byte = static_cast<uint8_t>(byte << 6 | (static_cast<uint8_t>(utf8[++i]) & 0x3f));
    }
    decoded += static_cast<char>(byte);
  }
  return decoded;
}

}  // namespace levin
