#include <levin/core/state/state_file.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/catch.h"
#include "tests/core/state/torch_archive.h"
#include "tests/error_text.h"
#include "tests/file_bytes.h"
#include "tests/temporary_folder.h"

using levin::load_state;
using levin::save_state;
using levin::State;
namespace fs = std::filesystem;

namespace {

State rich_state() {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  State state = State::dict(
      {{"base", base}, {"view", base.t()}, {"scalar", at::ones({}, at::kBool)}, {"half", base.to(at::kHalf)}});
  state["sparse"] = at::eye(3).to_sparse();
  state["uint16"] = at::ones({2}, at::kInt).to(at::kUInt16);
  state["values"] =
      State::list({State(1), State(-2), State(int64_t{1} << 40), State(0.5), State("t"), State(), State(true)});
  state["bytes"] = State::Bytes{"\xff\x01"};
  state["tuple"] = State::Tuple{{State(1), State::dict({{int64_t{3}, "x"}})}};
  return state;
}

/// Reads all that the state holds, so that memory outside of a storage would be noticed.
void touch(const State& state) {
  if (state.is_tensor() && !state.to_tensor().is_sparse() && state.to_tensor().numel() < 1'000'000)
    state.to_tensor().clone();
  if (state.is_tensor() && state.to_tensor().is_sparse()) state.to_tensor().coalesce();
  if (state.is_dict())
    for (const auto& [key, value] : state.to_dict()) touch(value);
  if (state.is_list() || state.is_tuple())
    for (const State& item : state.items()) touch(item);
}

/// Returns "read", or the message of a levin::UsageError; any other exception leaves the function and fails the test.
std::string outcome(const fs::path& path) {
  try {
    touch(load_state(path));
    return "read";
  } catch (const levin::UsageError& error) {
    return error.what();
  }
}

/// Reads a pickle given by its bytes, with the records of a file with one storage of 4 floats.
std::string outcome_of_pickle(const std::string& pickle) {
  const TemporaryFolder folder;
  TorchArchive{pickle, {{"data/0", std::string(16, '\0')}}}.write(folder / "state.pt");
  return outcome(folder / "state.pt");
}

std::string text(const std::string& value) {
  return "X" + std::string({static_cast<char>(value.size()), '\0', '\0', '\0'}) + value;
}

/// Returns a pickled call of `_rebuild_tensor_v2` on a storage of `numel` floats.
std::string tensor(const std::string& numel, const std::string& offset, const std::string& sizes,
                   const std::string& strides, const std::string& storage_class = "FloatStorage",
                   const std::string& key = "0") {
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((" +
         text("storage") + "ctorch\n" + storage_class + "\n" + text(key) + text("cpu") + numel + "tQ" + offset + "(" +
         sizes + "t(" + strides +
         "t\x89"
         "ccollections\nOrderedDict\n)RtR.";
}

const std::string kHuge = std::string("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 10);
const std::string kFour = "K\x04", kOne = "K\x01", kZero = std::string("K\0", 2), kMinusOne = "J\xff\xff\xff\xff";

}  // namespace

TEST_CASE("a pickle cut off anywhere is an error") {
  const TemporaryFolder folder;
  save_state(rich_state(), folder / "good.pt");
  TorchArchive archive = TorchArchive::read(folder / "good.pt");
  const std::string pickle = archive.pickle;
  archive.write(folder / "whole.pt");
  REQUIRE(outcome(folder / "whole.pt") == "read");
  for (size_t length = 0; length < pickle.size(); ++length) {
    archive.pickle = pickle.substr(0, length);
    archive.write(folder / "cut.pt");
    CAPTURE(length);
    REQUIRE(contains(outcome(folder / "cut.pt"), "cut.pt: the file is damaged"));
  }
}

TEST_CASE("a pickle with any byte changed is read or gives an error, nothing else") {
  const TemporaryFolder folder;
  save_state(rich_state(), folder / "good.pt");
  TorchArchive archive = TorchArchive::read(folder / "good.pt");
  const std::string pickle = archive.pickle;
  std::mt19937 random(7);
  size_t errors = 0;
  constexpr int kTries = 4000;
  for (int i = 0; i < kTries; ++i) {
    archive.pickle = pickle;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      archive.pickle[random() % pickle.size()] = static_cast<char>(random());
    archive.write(folder / "changed.pt");
    errors += outcome(folder / "changed.pt") != "read";
  }
  CHECK(errors > kTries / 10);
}

TEST_CASE("a zip file cut off or changed anywhere is read or gives an error, nothing else") {
  const TemporaryFolder folder;
  save_state(rich_state(), folder / "good.pt");
  const std::string good = read_bytes(folder / "good.pt");
  for (size_t length = 0; length < good.size(); length += 37) {
    write_bytes(folder / "cut.pt", good.substr(0, length));
    CAPTURE(length);
    REQUIRE(contains(outcome(folder / "cut.pt"), "cut.pt: "));
  }
  std::mt19937 random(11);
  for (int i = 0; i < 1500; ++i) {
    std::string changed = good;
    changed[random() % changed.size()] = static_cast<char>(random());
    write_bytes(folder / "changed.pt", changed);
    outcome(folder / "changed.pt");
  }
}

TEST_CASE("a tensor must fit its storage") {
  CHECK(outcome_of_pickle(tensor(kFour, kZero, kFour, kOne)) == "read");
  CHECK(contains(outcome_of_pickle(tensor(kFour, kOne, kFour, kOne)), "needs 20 bytes, its storage has 16"));
  CHECK(contains(outcome_of_pickle(tensor("K\x05", kZero, kFour, kOne)), "data/0 has 16 bytes, its tensors need 20"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kMinusOne, kFour, kOne)), "negative offset -1"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kMinusOne, kOne)), "negative size or stride"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kFour, kMinusOne)), "negative size or stride"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kFour, kHuge)), "too large"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kHuge, kFour, kOne)), "too large"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kHuge + kHuge, kZero + kZero)), "too large"));
  CHECK(contains(outcome_of_pickle(tensor(kHuge, kZero, kFour, kOne)), "elements"));
  CHECK(contains(outcome_of_pickle(tensor(kMinusOne, kZero, kFour, kOne)), "a storage of -1 elements"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kFour + kOne, kOne)), "2 sizes and 1 strides"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kFour, kOne, "OddStorage")), "unknown class torch.OddStorage"));
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, kFour, kOne, "FloatStorage", "9")),
                 "it lacks the tensor data data/9"));
  // An empty tensor reads nothing, whatever its offset.
  CHECK(outcome_of_pickle(tensor(kFour, "K\x09", kZero, kOne)) == "read");
}

TEST_CASE("what a tensor's flags ask to compute is computed for the elements that there are") {
  const auto flagged = [](const std::string& flag, const std::string& sizes, const std::string& strides) {
    std::string pickle = tensor("K\x02", kZero, sizes, strides, "ComplexFloatStorage");
    pickle.resize(pickle.size() - 3);  // "tR."
    return pickle + "}" + text(flag) + "\x88stR.";
  };
  const std::string many = "J" + std::string("\0\0\0\x40", 4);
  for (const char* flag : {"conj", "neg"}) {
    CHECK(outcome_of_pickle(flagged(flag, kOne, kOne)) == "read");
    CHECK(outcome_of_pickle(flagged(flag, many, kZero)) == "read");
  }
  std::string ones;
  for (int i = 0; i < 65; ++i) ones += kOne;
  CHECK(contains(outcome_of_pickle(tensor(kFour, kZero, ones, ones)), "a tensor of 65 dimensions"));
}

TEST_CASE("a pickle that misuses the stack is an error that names the byte") {
  const std::string head = "\x80\x02";
  CHECK(contains(outcome_of_pickle(head + "."),
                 "state.pt: the file is damaged or of an unknown kind (byte 2 of its data.pkl): a value"));
  CHECK(contains(outcome_of_pickle(head + "K\x01t."), "a mark is missing"));
  CHECK(contains(outcome_of_pickle(head + "K\x01(a."), "a value is missing"));
  CHECK(contains(outcome_of_pickle(head + "K\x01K\x01"
                                          "a."),
                 "appended to what is no list"));
  CHECK(contains(outcome_of_pickle(head + "}(K\x01u."), "a key has no value"));
  CHECK(contains(outcome_of_pickle(head + "h\x05."), "value 5 is used before it is there"));
  CHECK(contains(outcome_of_pickle(head + "K\x01K\x01R."), "a call without arguments"));
  CHECK(contains(outcome_of_pickle(head + "K\x01N"
                                          "b."),
                 "state is set on what is no object"));
  CHECK(contains(outcome_of_pickle(head + "i"), "unknown opcode 105"));
  CHECK(contains(outcome_of_pickle(head + "X\xff\xff\xff\xff"
                                          "a."),
                 "it ends too early"));
  CHECK(contains(outcome_of_pickle("\x80\x09N."), "pickle protocol 9"));
  CHECK(contains(outcome_of_pickle(head + "Nq"), "it ends too early"));
}

TEST_CASE("values that hold themselves or unfold without end are an error") {
  const std::string head = "\x80\x02";
  CHECK(contains(outcome_of_pickle(head + "]q\x01h\x01"
                                          "a."),
                 "nested more than 500 deep"));
  CHECK(contains(outcome_of_pickle(head + std::string(100'000, ']') + std::string(99'999, 'a') + "."),
                 "nested more than 500"));
  std::string doubling = head + "]q" + std::string(1, '\0');
  for (char i = 0; i < 60; ++i)
    doubling += "](h" + std::string(1, i) + "h" + std::string(1, i) + "eq" + std::string(1, i + 1);
  CHECK(contains(outcome_of_pickle(doubling + "."), "refer to each other so often"));
  // A list of 100 items, in one of 1000 times that list, in one of 1000 times that one.
  const auto times = [](const std::string& item, size_t count) {
    std::string list = "](";
    for (size_t i = 0; i < count; ++i) list += item;
    return list + "e";
  };
  const std::string wide = times("N", 100) + "q\x01" + times("h\x01", 1000) + "q\x02" + times("h\x02", 1000);
  CHECK(contains(outcome_of_pickle(head + wide + "."), "refer to each other so often"));
  const std::string parameter = "ctorch._utils\n_rebuild_parameter\n";
  CHECK(contains(outcome_of_pickle(head + parameter + "(" + parameter + "(NtRtR."), "a parameter within a parameter"));
}

TEST_CASE("nothing that a file names is called; an object that is no plain value is an error") {
  const std::string head = "\x80\x02";
  const std::string call = outcome_of_pickle(head + "cos\nsystem\n" + text("true") + "\x85R.");
  CHECK(contains(call, "state.pt: it holds an object of os.system, which is not a plain value"));
  CHECK(contains(call, "byte"));
  CHECK(outcome_of_pickle(head + "}" + text("activation") + "ctorch.nn.modules.activation\nReLU\ns.") == "read");
  CHECK(contains(outcome_of_pickle(head + "}NNs."), "a dict key that is a none"));
  CHECK(contains(outcome_of_pickle(head + "\x8a\x09" + std::string(9, '\1') + "."), "does not fit in 64 bits"));
}

TEST_CASE("a file that is not from torch.save is recognised") {
  const TemporaryFolder folder;
  CHECK(contains(outcome(folder / "none.pt"), "none.pt: there is no such file"));
  CHECK(contains(outcome(folder.path()), "this is a folder"));
  write_bytes(folder / "empty.pt", "");
  CHECK(contains(outcome(folder / "empty.pt"), "not a PyTorch file"));
  write_bytes(folder / "text.pt", "hello, world");
  CHECK(contains(outcome(folder / "text.pt"), "not a PyTorch file"));
  write_bytes(folder / "legacy.pt", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  CHECK(contains(outcome(folder / "legacy.pt"), "save it again with torch.save"));
  write_bytes(folder / "zip.pt", "PK\x03\x04 and no more");
  CHECK(contains(outcome(folder / "zip.pt"), "damaged, or not a PyTorch file"));
  TorchArchive archive{"\x80\x02N.", {}};
  archive.records["byteorder"] = "big";
  archive.write(folder / "big.pt");
  CHECK(contains(outcome(folder / "big.pt"), "big-endian"));
  archive.records = {{"constants.pkl", "\x80\x02)."}};
  archive.write(folder / "script.pt");
  CHECK(contains(outcome(folder / "script.pt"), "a TorchScript file"));
}
