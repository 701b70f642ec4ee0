#pragma once
#include <levin/data/batch.h>
#include <levin/data/python/descriptor.h>
#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace levin::data {

/// Batches in memory that a worker of Python has written, without a copy: their tensors lie there. Once a batch has no
/// owner any more, its buffer is returned to the worker.
class SharedBatches {
 public:
  SharedBatches();
  ~SharedBatches();
  SharedBatches(const SharedBatches&) = delete;
  SharedBatches& operator=(const SharedBatches&) = delete;

  /// Returns the batch that a worker's answer describes; `memory` is that of a new buffer, if one came. An answer
  /// without `fields` has those of the answer before. Throws levin::Error for a description that does not fit its
  /// buffer.
  Batch take(const nlohmann::ordered_json& answer, Descriptor memory);
  /// Returns the buffers whose batches have no owner any more, for the worker.
  std::vector<int64_t> released();

 private:
  struct Memory;
  struct Returned;

  std::map<int64_t, std::shared_ptr<const Memory>> buffers_ = {};
  std::shared_ptr<Returned> returned_;
  std::unique_ptr<const nlohmann::ordered_json> fields_;  // as the answers describe them
};

}  // namespace levin::data
