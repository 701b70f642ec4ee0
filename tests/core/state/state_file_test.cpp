#include <levin/core/state/state_file.h>

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <sys/resource.h>

#include <csignal>

#include "tests/catch.h"
#include "tests/error_text.h"
#include "tests/temporary_folder.h"

using levin::load_state;
using levin::save_state;
using levin::State;

namespace {

State round_trip(const State& state) {
  const TemporaryFolder folder;
  save_state(state, folder / "state.pt");
  return load_state(folder / "state.pt");
}

at::Tensor round_trip(const at::Tensor& tensor) { return round_trip(State(tensor)).to_tensor(); }

/// Bit for bit, dtype and sizes included.
bool same(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  return x.numel() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

bool share(const at::Tensor& a, const at::Tensor& b) { return a.storage().data() == b.storage().data(); }

}  // namespace

TEST_CASE("plain values come back as they were") {
  State state;
  state["none"] = State();
  state["flags"] = State::list({State(true), State(false)});
  for (const int64_t value : {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{-1}, int64_t{70000}, int64_t{1} << 40,
                              std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()})
    state["ints"].push_back(value);
  for (const double value :
       {0.1, -0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()})
    state["floats"].push_back(value);
  state["nan"] = std::nan("");
  state["text"] = "ключ \xf0\x9f\x8c\xa9";
  state["file name"] = "caf\xe9\xed\xa0\x80.pt";
  state["bytes"] = State::Bytes{std::string("\0\x7f\x80\xff", 4)};
  state["tuple"] = State::Tuple{{State(1), State(State::Tuple{}), State::list(), State::dict()}};
  state[int64_t{7}] = State::dict({{"deep", State::list({State::list({State("x")})})}});

  const State back = round_trip(state);
  REQUIRE(back.size() == state.size());
  for (size_t i = 0; i < state.size(); ++i) CHECK(back.to_dict()[i].first == state.to_dict()[i].first);
  CHECK(back.at("none").is_none());
  CHECK(back.at("flags").items()[0].to_bool());
  CHECK_FALSE(back.at("flags").items()[1].to_bool());
  for (size_t i = 0; i < state.at("ints").size(); ++i)
    CHECK(back.at("ints").items()[i].to_int() == state.at("ints").items()[i].to_int());
  for (size_t i = 0; i < state.at("floats").size(); ++i)
    CHECK(back.at("floats").items()[i].to_double() == state.at("floats").items()[i].to_double());
  CHECK(std::signbit(back.at("floats").items()[1].to_double()));
  CHECK(std::isnan(back.at("nan").to_double()));
  for (const char* key : {"text", "file name"}) CHECK(back.at(key).to_string() == state.at(key).to_string());
  CHECK(back.at("bytes").to_bytes() == state.at("bytes").to_bytes());
  CHECK(back.at("tuple").is_tuple());
  CHECK(back.at("tuple").items()[1].is_tuple());
  CHECK(back.at("tuple").items()[2].is_list());
  CHECK(back.at("tuple").items()[3].is_dict());
  CHECK(back.at(int64_t{7}).at("deep").items()[0].items()[0].to_string() == "x");
}

TEST_CASE("tensors of every dtype come back bit for bit") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                                    at::kChar, at::kByte, at::kBool, at::kComplexFloat, at::kComplexDouble, at::kUInt16,
                                    at::kUInt32, at::kUInt64, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    CAPTURE(type);
    const at::Tensor tensor = at::arange(6, at::kFloat).view({2, 3}).to(type);
    CHECK(same(round_trip(tensor), tensor));
  }
}

TEST_CASE("tensors of unusual shape come back") {
  const at::Tensor base = at::arange(24, at::kFloat).view({2, 3, 4});
  for (const at::Tensor& tensor : {at::tensor(3.5), at::empty({0}), at::empty({3, 0, 2}), base.transpose(0, 2),
                                   base.select(1, 2), base.slice(2, 1, 4, 2), at::arange(3).expand({1000, 3}),
                                   at::ones({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                                   at::complex(base, -base).conj(), at::imag(at::complex(base, -base).conj())}) {
    CAPTURE(tensor.sizes(), tensor.strides());
    CHECK(same(round_trip(tensor), tensor.resolve_conj().resolve_neg()));
  }
  CHECK(round_trip(base.transpose(0, 2)).strides() == base.transpose(0, 2).strides());
  const at::Tensor sparse = at::eye(3).to_sparse();
  CHECK(same(round_trip(sparse).to_dense(), sparse.to_dense()));
  CHECK_FALSE(round_trip(at::ones({2}).requires_grad_()).requires_grad());
}

TEST_CASE("tensors that share a storage still share it") {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  const State back =
      round_trip(State::dict({{"base", base}, {"transposed", base.t()}, {"row", base[1]}, {"twin", base}}));
  const at::Tensor loaded = back.at("base").to_tensor();
  for (const char* key : {"transposed", "row", "twin"}) CHECK(share(back.at(key).to_tensor(), loaded));
  back.at("row").to_tensor().fill_(-1);
  CHECK(loaded[1][2].item<float>() == -1);
  CHECK(loaded[2][2].item<float>() == 10);
}

TEST_CASE("of a large storage only what the tree's tensors reach is written") {
  const at::Tensor large = at::arange(1'000'000, at::kFloat);
  const TemporaryFolder folder;
  const auto bytes_of = [&](const State& state) {
    save_state(state, folder / "state.pt");
    return std::filesystem::file_size(folder / "state.pt");
  };
  CHECK(bytes_of(large.slice(0, 500, 510)) < 4000);
  CHECK(bytes_of(large.view({1000, 1000}).select(1, 7)) < 8000);
  const State pair = State::list({State(large.slice(0, 500, 510)), State(large.slice(0, 505, 520))});
  CHECK(bytes_of(pair) < 4000);
  const State back = load_state(folder / "state.pt");
  const at::Tensor first = back.items()[0].to_tensor(), second = back.items()[1].to_tensor();
  CHECK(share(first, second));
  CHECK(first[5].item<float>() == 505);
  CHECK(second[0].item<float>() == 505);
  // One storage seen as two dtypes, which Python's own torch.save refuses.
  const State two_types =
      round_trip(State::list({State(large.slice(0, 0, 4)), State(large.slice(0, 0, 4).view(at::kInt))}));
  CHECK(same(two_types.items()[1].to_tensor(), large.slice(0, 0, 4).view(at::kInt)));
}

TEST_CASE("one part of a file can be read alone") {
  const TemporaryFolder folder;
  save_state(State::dict({{"epoch", 3}, {"state_dict", State::dict({{"w", at::ones({2})}})}}), folder / "a.ckpt");
  CHECK(load_state(folder / "a.ckpt", "state_dict").contains("w"));
  CHECK(load_state(folder / "a.ckpt", "other").contains("epoch"));
}

TEST_CASE("what a file cannot hold is an error that names its place, and leaves no file") {
  const TemporaryFolder folder;
  const auto save = [&](State state) { return error_text([&] { save_state(state, folder / "state.pt"); }); };
  CHECK(
      contains(save(State::dict({{"a", State::list({State(at::Tensor())})}})), "state['a']['0']: an undefined tensor"));
  CHECK(contains(save(State::dict({{"m", at::empty({2}, at::kMeta)}})), "state['m']: a tensor on the meta device"));
  State deep;
  for (int i = 0; i < 600; ++i) deep = State::list({deep});
  CHECK(contains(save(deep), "nested more than 500 deep"));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a file that cannot be written is a clear error, and the old one stays") {
  const TemporaryFolder folder;
  const auto save = [&](const std::filesystem::path& path) {
    return error_text<levin::UsageError>([&] { save_state(State(1), path); });
  };
  CHECK(contains(save(folder / "none/state.pt"), "cannot be written, there is no folder"));
  CHECK(contains(save(folder.path()), "it is a folder"));
  save_state(State("old"), folder / "state.pt");
  save_state(State("new"), folder / "state.pt");
  CHECK(load_state(folder / "state.pt").to_string() == "new");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK(contains(save(folder / std::string(250, 'x')), "File name too long"));
}

TEST_CASE("a write that fails half way is an error, and the old file stays") {
  const TemporaryFolder folder;
  save_state(State("old"), folder / "state.pt");
  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const rlimit small = {100'000, limit.rlim_max};
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string text = error_text([&] { save_state(State(at::ones({100'000})), folder / "state.pt"); });
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, previous);
  CHECK(contains(text, "state.pt: writing failed: File too large"));
  CHECK(load_state(folder / "state.pt").to_string() == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("attributes of a dict are no items of it, and are read by their name, as an item is") {
  const TemporaryFolder folder;
  const State weights = State::dict({{"w", at::arange(3)}});
  save_state(weights, folder / "with.pt", State::dict({{"about", State::dict({{"mean", State::list({0.5})}})}}));
  const State read = load_state(folder / "with.pt");
  CHECK(read.size() == 1);
  CHECK(same(read.at("w").to_tensor(), at::arange(3)));
  CHECK(levin::load_entry(folder / "with.pt", "about").at("mean").items()[0].to_double() == 0.5);
  CHECK(same(levin::load_entry(folder / "with.pt", "w").to_tensor(), at::arange(3)));
  CHECK(levin::load_entry(folder / "with.pt", "other").is_none());
  save_state(weights, folder / "without.pt");
  CHECK(levin::load_entry(folder / "without.pt", "about").is_none());
}
