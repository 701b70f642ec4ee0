#include <levin/core/ranks/memory/exchange_texts.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace levin {

std::vector<std::string> exchange_texts(c10d::Store& store, const std::string& what, int64_t rank, int64_t ranks,
                                        const std::string& own) {
  const auto key = [&](int64_t one) { return c10::str("memory/", what, "/", one); };
  store.set(key(rank), std::vector<uint8_t>(own.begin(), own.end()));
  std::vector<std::string> all;
  for (int64_t one = 0; one < ranks; ++one) {
    const std::vector<uint8_t> text = store.get(key(one));
    all.emplace_back(text.begin(), text.end());
  }
  return all;
}

}  // namespace levin
