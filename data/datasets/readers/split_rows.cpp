#include <levin/data/datasets/readers/split_rows.h>
#include <levin/core/system/error.h>
#include <levin/data/dataset.h>

namespace levin::data {
namespace {

/// A dataset that has only a size, for random_split of rows.
class Rows final : public Dataset {
 public:
  explicit Rows(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }

 private:
  int64_t size_;
};

}  // namespace

SplitRows split_rows(int64_t count, double val_fraction, int64_t seed, const std::string& place) {
  const auto parts = random_split(Rows(count), {1 - val_fraction, val_fraction}, seed);
  SplitRows rows{parts[0].indices(), parts[1].indices()};
  if (rows.train.empty() || rows.val.empty()) {
    throw UsageError("data.val_fraction: ", val_fraction, " of the ", count, " rows of ", place, " leaves ",
                     rows.train.size(), " for training and ", rows.val.size(), " for validation");
  }
  return rows;
}

}  // namespace levin::data
