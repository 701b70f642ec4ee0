#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace levin {

/// One object of a pickle, as the file describes it. Nothing is imported and nothing is called: a class or function is
/// its name (`kGlobal`), a call is the name with its arguments (`kObject`), a tensor's memory is a reference
/// (`kPersistent`).
struct PickleNode {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kBigInt,
    kFloat,
    kText,
    kBytes,
    kList,
    kTuple,
    kSet,
    kDict,
    kGlobal,
    kObject,
    kPersistent
  };

  Kind kind = Kind::kNone;
  size_t offset = 0;      ///< byte in the pickle of the opcode that made it
  int64_t integer = 0;    ///< of a bool and an int
  double number = 0;      ///< of a float
  std::string text = {};  ///< text (UTF-8, may contain surrogates), bytes, or a global's dotted name
  std::vector<const PickleNode*> items = {};  ///< of a list, tuple or set; the items appended to an object
  std::vector<const PickleNode*> pairs = {};  ///< alternating keys and values, of a dict or set on an object
  const PickleNode* callable = nullptr;       ///< of an object: the class or function
  const PickleNode* arguments = nullptr;      ///< of an object: a tuple; of a persistent reference: its id
  const PickleNode* state = nullptr;          ///< of an object: the argument of its `__setstate__`

  bool is(Kind other) const { return kind == other; }
};

/// The objects of one pickle; they may refer to each other in any way, cycles included.
struct PickleGraph {
  std::deque<PickleNode> nodes = {};
  const PickleNode* root = nullptr;
};

/// Reads a pickle of protocol 2 to 5 into its objects. `file` is for messages. Throws levin::UsageError, with the file
/// and the byte, if the pickle is damaged or uses an unknown opcode. Format: Python's `pickletools` module.
PickleGraph read_pickle(std::string_view bytes, const std::string& file);

}  // namespace levin
