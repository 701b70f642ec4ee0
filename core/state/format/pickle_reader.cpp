#include <levin/core/state/format/pickle_reader.h>
#include <levin/core/state/format/pickle_input.h>

#include <unordered_map>
#include <utility>

namespace levin {
namespace {

using Kind = PickleNode::Kind;
using Nodes = std::vector<const PickleNode*>;

// Opcodes that have no printable character.
enum Opcode : uint8_t {
  kProto = 0x80,
  kNewObject = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortText = 0x8c,
  kText8 = 0x8d,
  kBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

/// The stack machine that runs a pickle.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& file) : input_(bytes, file) {}

  PickleGraph run() {
    while (true) {
      const uint8_t opcode = input_.opcode();
      if (opcode == '.') break;
      if (!run_scalar(opcode) && !run_container(opcode) && !run_object(opcode) && !run_stack(opcode))
        input_.fail("unknown opcode ", static_cast<int>(opcode), "; save it with torch.save's default pickle protocol");
    }
    graph_.root = pop();
    return std::move(graph_);
  }

 private:
  PickleNode& push(Kind kind) {
    PickleNode& node = graph_.nodes.emplace_back();
    node.kind = kind;
    node.offset = input_.offset();
    stack_.push_back(&node);
    return node;
  }

  /// An opcode may only take values above the last mark.
  PickleNode* top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) input_.fail("a value is missing");
    return stack_.back();
  }

  PickleNode* pop() {
    PickleNode* node = top();
    stack_.pop_back();
    return node;
  }

  Nodes pop_to_mark() {
    if (marks_.empty()) input_.fail("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Nodes nodes(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return nodes;
  }

  void push_integer(int64_t value) { push(Kind::kInt).integer = value; }

  void push_text(Kind kind, uint64_t length) {
    const std::string_view text = input_.take(length);
    push(kind).text = text;
  }

  void push_long(uint64_t width) {
    if (const std::optional<int64_t> value = input_.signed_int(width))
      push_integer(*value);
    else
      push(Kind::kBigInt);
  }

  bool run_scalar(uint8_t opcode) {
    switch (opcode) {
      case 'N':
        push(Kind::kNone);
        return true;
      case kNewTrue:
        push(Kind::kBool).integer = 1;
        return true;
      case kNewFalse:
        push(Kind::kBool);
        return true;
      case 'J':
        push_integer(static_cast<int32_t>(input_.unsigned_int(4)));
        return true;
      case 'K':
        push_integer(static_cast<int64_t>(input_.unsigned_int(1)));
        return true;
      case 'M':
        push_integer(static_cast<int64_t>(input_.unsigned_int(2)));
        return true;
      case kLong1:
        push_long(input_.unsigned_int(1));
        return true;
      case kLong4:
        push_long(input_.unsigned_int(4));
        return true;
      case 'G':
        push(Kind::kFloat).number = input_.float64();
        return true;
      case 'X':
      case 'T':
        push_text(Kind::kText, input_.unsigned_int(4));
        return true;
      case kShortText:
      case 'U':
        push_text(Kind::kText, input_.unsigned_int(1));
        return true;
      case kText8:
        push_text(Kind::kText, input_.unsigned_int(8));
        return true;
      case 'C':
        push_text(Kind::kBytes, input_.unsigned_int(1));
        return true;
      case 'B':
        push_text(Kind::kBytes, input_.unsigned_int(4));
        return true;
      case kBytes8:
      case kByteArray8:
        push_text(Kind::kBytes, input_.unsigned_int(8));
        return true;
      default:
        return false;
    }
  }

  void push_tuple(size_t count) {
    Nodes items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    push(Kind::kTuple).items = std::move(items);
  }

  void push_filled(Kind kind) {
    Nodes items = pop_to_mark();
    push(kind).items = std::move(items);
  }

  void append(const Nodes& items) {
    PickleNode* target = top();
    if (!target->is(Kind::kList) && !target->is(Kind::kSet) && !target->is(Kind::kObject))
      input_.fail("items are appended to what is no list");
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  void set_items(const Nodes& pairs) {
    PickleNode* target = top();
    if (!target->is(Kind::kDict) && !target->is(Kind::kObject)) input_.fail("keys are set on what is no dict");
    if (pairs.size() % 2 != 0) input_.fail("a key has no value");
    target->pairs.insert(target->pairs.end(), pairs.begin(), pairs.end());
  }

  bool run_container(uint8_t opcode) {
    switch (opcode) {
      case ']':
        push(Kind::kList);
        return true;
      case ')':
        push(Kind::kTuple);
        return true;
      case '}':
        push(Kind::kDict);
        return true;
      case kEmptySet:
        push(Kind::kSet);
        return true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        push_tuple(opcode - kTuple1 + 1u);
        return true;
      case 't':
        push_filled(Kind::kTuple);
        return true;
      case 'l':
        push_filled(Kind::kList);
        return true;
      case kFrozenSet:
        push_filled(Kind::kSet);
        return true;
      case 'a': {
        const PickleNode* item = pop();
        append({item});
        return true;
      }
      case 'e':
      case kAddItems:
        append(pop_to_mark());
        return true;
      case 'd': {
        const Nodes pairs = pop_to_mark();
        push(Kind::kDict);
        set_items(pairs);
        return true;
      }
      case 's': {
        const PickleNode* value = pop();
        const PickleNode* key = pop();
        set_items({key, value});
        return true;
      }
      case 'u':
        set_items(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  void push_global(std::string_view module, std::string_view name) {
    // Protocol 2 writes Python 2's name of the module.
    if (module == "__builtin__") module = "builtins";
    PickleNode& node = push(Kind::kGlobal);
    node.text.append(module).append(".").append(name);
  }

  void push_object() {
    const PickleNode* arguments = pop();
    const PickleNode* callable = pop();
    if (!arguments->is(Kind::kTuple)) input_.fail("a call without arguments");
    PickleNode& node = push(Kind::kObject);
    node.callable = callable;
    node.arguments = arguments;
  }

  bool run_object(uint8_t opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = input_.line();
        push_global(module, input_.line());
        return true;
      }
      case kStackGlobal: {
        const PickleNode* name = pop();
        const PickleNode* module = pop();
        if (!name->is(Kind::kText) || !module->is(Kind::kText)) input_.fail("a global without a name");
        push_global(module->text, name->text);
        return true;
      }
      case 'R':
      case kNewObject:
        push_object();
        return true;
      case 'b': {
        const PickleNode* state = pop();
        if (!top()->is(Kind::kObject)) input_.fail("state is set on what is no object");
        top()->state = state;
        return true;
      }
      case 'Q': {
        const PickleNode* id = pop();
        push(Kind::kPersistent).arguments = id;
        return true;
      }
      default:
        return false;
    }
  }

  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) input_.fail("value ", index, " is used before it is there");
    stack_.push_back(found->second);
  }

  bool run_stack(uint8_t opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '0':
        pop();
        return true;
      case '1':
        pop_to_mark();
        return true;
      case '2':
        stack_.push_back(top());
        return true;
      case 'q':
        memo_[input_.unsigned_int(1)] = top();
        return true;
      case 'r':
        memo_[input_.unsigned_int(4)] = top();
        return true;
      case kMemoize: {
        const uint64_t index = memo_.size();
        memo_[index] = top();
        return true;
      }
      case 'h':
        recall(input_.unsigned_int(1));
        return true;
      case 'j':
        recall(input_.unsigned_int(4));
        return true;
      case kProto:
        if (const uint64_t protocol = input_.unsigned_int(1); protocol < 2 || protocol > 5)
          input_.fail("pickle protocol ", protocol);
        return true;
      case kFrame:
        input_.take(8);
        return true;
      default:
        return false;
    }
  }

  PickleInput input_;
  PickleGraph graph_;
  std::vector<PickleNode*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleNode*> memo_;
};

}  // namespace

PickleGraph read_pickle(std::string_view bytes, const std::string& file) { return Machine(bytes, file).run(); }

}  // namespace levin
