#include <levin/trainer/core/pickle_reader.h>
#include <levin/trainer/core/error.h>

#include <bit>
#include <unordered_map>
#include <utility>

namespace levin {
namespace {

using Kind = PickleNode::Kind;
using Nodes = std::vector<const PickleNode*>;

// Opcodes whose character does not say what they do.
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

/// The stack machine that a pickle is a program for.
class Machine {
 public:
  Machine(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  PickleGraph run() {
    while (true) {
      start_ = position_;
      const auto opcode = static_cast<uint8_t>(unsigned_int(1));
      if (opcode == '.') break;
      if (!run_scalar(opcode) && !run_container(opcode) && !run_object(opcode) && !run_stack(opcode))
        fail("unknown opcode ", static_cast<int>(opcode), "; save it with torch.save's default pickle protocol");
    }
    graph_.root = pop();
    return std::move(graph_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw UsageError(file_, ": the file is damaged or of an unknown kind (byte ", start_,
                     " of its data.pkl): ", parts...);
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - position_) fail("it ends too early");
    const std::string_view taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }

  /// A little-endian integer of `width` bytes, up to 8.
  uint64_t unsigned_int(size_t width) {
    uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(width)) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(byte)) << shift;
      shift += 8;
    }
    return value;
  }

  std::string_view line() {
    const size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("it ends too early");
    const std::string_view taken = take(end - position_);
    ++position_;
    return taken;
  }

  PickleNode& push(Kind kind) {
    PickleNode& node = graph_.nodes.emplace_back();
    node.kind = kind;
    node.offset = start_;
    stack_.push_back(&node);
    return node;
  }

  /// The values above the last mark are all that an opcode may take.
  PickleNode* top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("a value is missing");
    return stack_.back();
  }

  PickleNode* pop() {
    PickleNode* node = top();
    stack_.pop_back();
    return node;
  }

  Nodes pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    Nodes nodes(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return nodes;
  }

  void push_integer(int64_t value) { push(Kind::kInt).integer = value; }

  void push_text(Kind kind, uint64_t length) {
    const std::string_view text = take(length);
    push(kind).text = text;
  }

  /// A two's complement integer of any width.
  void push_long(uint64_t width) {
    if (width > 8) {
      take(width);
      push(Kind::kBigInt);
      return;
    }
    uint64_t value = unsigned_int(width);
    if (width > 0 && width < 8 && (value >> (8 * width - 1))) value |= ~uint64_t{0} << (8 * width);
    push_integer(static_cast<int64_t>(value));
  }

  void push_float() {
    uint64_t value = 0;
    for (const char byte : take(8)) value = value << 8 | static_cast<uint8_t>(byte);
    push(Kind::kFloat).number = std::bit_cast<double>(value);
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
        push_integer(static_cast<int32_t>(unsigned_int(4)));
        return true;
      case 'K':
        push_integer(static_cast<int64_t>(unsigned_int(1)));
        return true;
      case 'M':
        push_integer(static_cast<int64_t>(unsigned_int(2)));
        return true;
      case kLong1:
        push_long(unsigned_int(1));
        return true;
      case kLong4:
        push_long(unsigned_int(4));
        return true;
      case 'G':
        push_float();
        return true;
      case 'X':
      case 'T':
        push_text(Kind::kText, unsigned_int(4));
        return true;
      case kShortText:
      case 'U':
        push_text(Kind::kText, unsigned_int(1));
        return true;
      case kText8:
        push_text(Kind::kText, unsigned_int(8));
        return true;
      case 'C':
        push_text(Kind::kBytes, unsigned_int(1));
        return true;
      case 'B':
        push_text(Kind::kBytes, unsigned_int(4));
        return true;
      case kBytes8:
      case kByteArray8:
        push_text(Kind::kBytes, unsigned_int(8));
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
      fail("items are appended to what is no list");
    target->items.insert(target->items.end(), items.begin(), items.end());
  }

  void set_items(const Nodes& pairs) {
    PickleNode* target = top();
    if (!target->is(Kind::kDict) && !target->is(Kind::kObject)) fail("keys are set on what is no dict");
    if (pairs.size() % 2 != 0) fail("a key has no value");
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
    if (!arguments->is(Kind::kTuple)) fail("a call without arguments");
    PickleNode& node = push(Kind::kObject);
    node.callable = callable;
    node.arguments = arguments;
  }

  bool run_object(uint8_t opcode) {
    switch (opcode) {
      case 'c': {
        const std::string_view module = line();
        push_global(module, line());
        return true;
      }
      case kStackGlobal: {
        const PickleNode* name = pop();
        const PickleNode* module = pop();
        if (!name->is(Kind::kText) || !module->is(Kind::kText)) fail("a global without a name");
        push_global(module->text, name->text);
        return true;
      }
      case 'R':
      case kNewObject:
        push_object();
        return true;
      case 'b': {
        const PickleNode* state = pop();
        if (!top()->is(Kind::kObject)) fail("state is set on what is no object");
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
    if (found == memo_.end()) fail("value ", index, " is used before it is there");
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
        memo_[unsigned_int(1)] = top();
        return true;
      case 'r':
        memo_[unsigned_int(4)] = top();
        return true;
      case kMemoize: {
        const uint64_t index = memo_.size();
        memo_[index] = top();
        return true;
      }
      case 'h':
        recall(unsigned_int(1));
        return true;
      case 'j':
        recall(unsigned_int(4));
        return true;
      case kProto:
        if (const uint64_t protocol = unsigned_int(1); protocol < 2 || protocol > 5) fail("pickle protocol ", protocol);
        return true;
      case kFrame:
        take(8);
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::string& file_;
  size_t position_ = 0;
  size_t start_ = 0;  // of the opcode that runs
  PickleGraph graph_;
  std::vector<PickleNode*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleNode*> memo_;
};

}  // namespace

PickleGraph read_pickle(std::string_view bytes, const std::string& file) { return Machine(bytes, file).run(); }

}  // namespace levin
