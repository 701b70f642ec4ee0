#include <levin/trainer/loggers/event_file.h>
#include <levin/core/system/host_name.h>
#include <levin/trainer/loggers/unix_seconds.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>

namespace levin {
namespace {

// Field numbers of TensorBoard's Event.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kGraph = 4, kSummary = 5, kSessionLog = 7;
// Wire types of protobuf.
constexpr int kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof(T), '\0');
  for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

/// Masks the CRC of a record, because the data may itself hold CRCs.
uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data);
  return std::rotr(crc, 15) + 0xa282ead8u;
}

std::string record(std::string_view data) {
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + little_endian(masked_crc(length)) + std::string(data) + little_endian(masked_crc(data));
}

std::filesystem::path new_name(const std::filesystem::path& folder) {
  static std::atomic<int> files = 0;
  return folder / ("events.out.tfevents." + std::to_string(static_cast<int64_t>(unix_seconds())) + "." + host_name() +
                   "." + std::to_string(::getpid()) + "." + std::to_string(files++));
}

}  // namespace

uint32_t crc32c(std::string_view data) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> made{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0u);
      made[byte] = value;
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char byte : data) crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return ~crc;
}

void WireMessage::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

WireMessage& WireMessage::add(int field, int64_t value) {
  varint(static_cast<uint64_t>(field << 3 | kVarint));
  varint(static_cast<uint64_t>(value));
  return *this;
}

WireMessage& WireMessage::add(int field, double value) {
  varint(static_cast<uint64_t>(field << 3 | kFixed64));
  bytes_ += little_endian(std::bit_cast<uint64_t>(value));
  return *this;
}

WireMessage& WireMessage::add_float(int field, float value) {
  varint(static_cast<uint64_t>(field << 3 | kFixed32));
  bytes_ += little_endian(std::bit_cast<uint32_t>(value));
  return *this;
}

WireMessage& WireMessage::add(int field, std::string_view bytes) {
  varint(static_cast<uint64_t>(field << 3 | kLengthDelimited));
  varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

EventFile::EventFile(const std::filesystem::path& folder) : file_(new_name(folder)) {
  add_event(kFileVersion, "brain.Event:2", 0);
}

void EventFile::add_summary(const WireMessage& summary, int64_t step) { add_event(kSummary, summary.bytes(), step); }

void EventFile::add_graph(const WireMessage& graph) { add_event(kGraph, graph.bytes(), 0); }

void EventFile::add_restart(int64_t step) {
  constexpr int64_t kStart = 1;
  add_event(kSessionLog, WireMessage().add(1, kStart).bytes(), step);
}

void EventFile::add_event(int field, std::string_view content, int64_t step) {
  file_.append(record(WireMessage().add(kWallTime, unix_seconds()).add(kStep, step).add(field, content).bytes()));
}

}  // namespace levin
