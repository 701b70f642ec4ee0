#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace c10d {
class Store;
}  // namespace c10d

namespace levin {

/// Writes this rank's text under `what` into the store, and returns those of all `ranks`, for which it waits as long as
/// the store does for a key.
std::vector<std::string> exchange_texts(c10d::Store& store, const std::string& what, int64_t rank, int64_t ranks,
                                        const std::string& own);

}  // namespace levin
