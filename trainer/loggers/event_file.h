#pragma once
#include <levin/trainer/loggers/row_file.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace levin {

/// A message in protobuf's wire format, built field by field. TensorBoard needs so few messages that this is smaller
/// than a dependency on protobuf and its .proto files.
/// Source: https://protobuf.dev/programming-guides/encoding/
class WireMessage {
 public:
  WireMessage& add(int field, int64_t value);
  WireMessage& add(int field, double value);
  WireMessage& add_float(int field, float value);
  WireMessage& add(int field, std::string_view bytes);
  WireMessage& add(int field, const WireMessage& message) { return add(field, std::string_view(message.bytes_)); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value);
  std::string bytes_ = {};
};

/// An event file of TensorBoard: records of length and data, each with its checksum. Each event is written at once, so
/// a killed run keeps all events.
class EventFile {
 public:
  /// Creates `events.out.tfevents.<seconds>.<host>.<process>.<n>`. Throws levin::Error if the file cannot be written.
  explicit EventFile(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return file_.path(); }
  /// Adds a summary; `summary` holds TensorBoard's Summary.Value messages in field 1.
  void add_summary(const WireMessage& summary, int64_t step);
  /// Adds the graph of a module: a GraphDef message.
  void add_graph(const WireMessage& graph);
  /// Tells TensorBoard to drop the events of the folder's other files from `step` on.
  void add_restart(int64_t step);
  void sync() { file_.sync(); }

 private:
  void add_event(int field, std::string_view content, int64_t step);
  RowFile file_;
};

/// CRC-32C (Castagnoli) of `data`. Source: RFC 3720, appendix B.4
uint32_t crc32c(std::string_view data);

}  // namespace levin
