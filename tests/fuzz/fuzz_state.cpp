#include <ATen/ATen.h>
#include <levin/core/state/format/state_to_pickle.h>
#include <levin/core/state/format/zip_writer.h>
#include <levin/core/state/state_file.h>
#include <levin/core/system/error.h>

#include <bit>
#include <cstring>

#include "tests/core/state/zip_builder.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/live_memory.h"

namespace levin::testing {
namespace {

constexpr int64_t kQuick = 1 << 16;  ///< elements of a tensor that is looked at

bool same(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.layout() != b.layout()) return false;
  if (a.is_sparse()) return same(a._indices(), b._indices()) && same(a._values(), b._values());
  if (a.numel() > kQuick) return true;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

/// Reads every value, so that memory that is not the tensor's own would be noticed.
bool same(const State& a, const State& b) {
  if (std::strcmp(a.kind(), b.kind()) != 0) return false;
  if (a.is_tensor()) return same(a.to_tensor(), b.to_tensor());
  if (a.is_bool()) return a.to_bool() == b.to_bool();
  if (a.is_int()) return a.to_int() == b.to_int();
  if (a.is_float()) return std::bit_cast<int64_t>(a.to_double()) == std::bit_cast<int64_t>(b.to_double());
  if (a.is_string()) return a.to_string() == b.to_string();
  if (a.is_bytes()) return a.to_bytes() == b.to_bytes();
  if (a.is_none()) return true;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a.is_dict() &&
        (a.to_dict()[i].first != b.to_dict()[i].first || !same(a.to_dict()[i].second, b.to_dict()[i].second)))
      return false;
    if (!a.is_dict() && !same(a.items()[i], b.items()[i])) return false;
  }
  return true;
}

void check_state_file(const std::string& bytes, bool verify_checksums) try {
  constexpr size_t kMost = 64 << 20;
  const FileBytes file = copy_file_bytes(bytes, "input");
  const LiveMemory memory;
  const State state = load_state_bytes(file, {.verify_checksums = verify_checksums});
  expect(memory.most() <= kMost + bytes.size(), "a file asks for no more memory than 64 MB and its size");
  if (!verify_checksums) return;
  const std::string written = save_state_bytes(state);
  expect(same(load_state_bytes(copy_file_bytes(written, "again")), state), "a state reads the same when it is written");
} catch (const UsageError&) {
}

/// Returns a state file with this pickle, and memory for tensors: 64 bytes under "0", 17 under "1".
std::string state_file_of(const std::string& pickle) {
  std::string bytes;
  ZipWriter writer("archive",
                   [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); });
  writer.add("data.pkl", pickle);
  std::string memory(64, '\0');
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i % 3);
  writer.add("data/0", memory);
  writer.add("data/1", std::string_view(memory).substr(0, 17));
  writer.finish();
  return bytes;
}

State seed_state() {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  State state = State::dict({{"base", base}, {"view", base.t()}, {"flag", at::ones({}, at::kBool)}});
  state["sparse"] = at::eye(2).to_sparse();
  state["uint16"] = at::ones({2}, at::kInt).to(at::kUInt16);
  state["values"] = State::list({State(1), State(-2), State(int64_t{1} << 40), State(0.5), State("t"), State()});
  state["bytes"] = State::Bytes{"\xff\x01"};
  state["tuple"] = State::Tuple{{State(true), State::dict({{int64_t{3}, "x"}})}};
  return state;
}

std::string text(const std::string& value) {
  return "X" + std::string({static_cast<char>(value.size()), '\0', '\0', '\0'}) + value;
}

/// Returns a pickled tensor of four elements of the storage "0", with more text after its six arguments.
std::string tensor(const std::string& storage_class, const std::string& rest) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage_class + "\n" + text("0") +
         text("cpu") + "K\x04tQK" + std::string(1, '\0') + "(K\x04t(K\x01t\x89" + "ccollections\nOrderedDict\n)R" +
         rest + "tR";
}

}  // namespace

void fuzz_state_file(const std::string& input) {
  check_state_file(input, true);
  check_state_file(input, false);
}

void fuzz_pickle(const std::string& input) { check_state_file(state_file_of(input), true); }

const std::vector<std::string>& state_file_seeds() {
  const static std::string small = save_state_bytes(State::dict({{"a", at::ones({3})}}));
  static const std::vector<std::string> seeds = [] {
    const std::string pickle = state_to_pickle(State::dict({{"a", at::ones({3})}})).pickle;
    ZipBuilder other{{{.name = "any/data.pkl", .contents = pickle, .is_deflated = true},
                      {.name = "any/data/0", .contents = std::string(12, '\1')}}};
    ZipBuilder bare = other;
    bare.records[0] = {.name = "data.pkl", .contents = pickle, .flags = 8};
    bare.records[1].name = "data/0";
    bare.comment = "comment";
    return std::vector<std::string>{small, save_state_bytes(seed_state()), other.build(), bare.build(), "PK\x03\x04"};
  }();
  return seeds;
}

const std::vector<std::string>& pickle_seeds() {
  const static std::string head = "\x80\x02", zero = std::string(1, '\0');
  static const std::vector<std::string> seeds = {
      state_to_pickle(seed_state()).pickle,
      head + tensor("FloatStorage", "") + ".",
      head + tensor("ComplexFloatStorage", "}" + text("conj") + "\x88s") + ".",
      head + "ctorch._utils\n_rebuild_parameter\n(" + tensor("HalfStorage", "") + "\x88" + "}tR.",
      head + "ccollections\nOrderedDict\n)R(" + text("a") + "K\x01" + text("b") + "]uq" + zero + "h" + zero + "\x86.",
      head + "cargparse\nNamespace\n)\x81}" + text("lr") + "G?\xb9\x99\x99\x99\x99\x99\x9asb.",
      head + "cbuiltins\nset\n](K\x01K\x02" + "e\x85R.",
      head + "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK" + zero + "\x85" + "C\x01" +
          "b\x87R(K\x01K\x02\x85" + "cnumpy\ndtype\n" + text("f4") + "\x89\x88\x87R(K\x03" + text("<") +
          "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK" + zero + "tb\x89" + "C\x08" + std::string(8, '\0') + "tb.",
      head + "cpathlib\nPosixPath\n" + text("/") + text("x") + "\x86R.",
      "\x80\x04\x95" + std::string(8, '\0') + "\x8c\x01" + "a\x94\x8c\x05torch\x8c\x07" + "float32\x93\x86.",
  };
  return seeds;
}

}  // namespace levin::testing
