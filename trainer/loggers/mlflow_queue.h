#pragma once
#include <levin/trainer/loggers/row_file.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace levin {

/// What a run has for an MLflow server and the server has not got, in the run's folder: `mlflow_queue.jsonl`, one thing
/// a line, and `mlflow.json`, which says what run it is and how far it was sent. Both survive the process.
///
/// One thread may add while another takes. One process at a time may hold the queue (`mlflow.lock`).
class MLflowQueue {
 public:
  using Json = nlohmann::ordered_json;

  /// Opens or creates the queue. Waits for `patience_seconds` for a process that holds it. Throws levin::Error if it
  /// still does, or a file cannot be read or written.
  MLflowQueue(const std::filesystem::path& folder, double patience_seconds);

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& file() const { return rows_.path(); }
  /// Returns whether the folder has things for a server that no process is sending.
  static bool waits_in(const std::filesystem::path& folder);

  /// Returns one of the facts about the run: its id, its experiment. Null if unknown.
  Json fact(const std::string& name) const;
  void set_facts(const Json& facts);

  /// Adds one thing. One with values is a row, and gets its number.
  void add(Json thing);
  /// Returns how many rows were added since the run began.
  int64_t rows() const;
  /// Goes back to so many rows. Rows that the server has already are left out when they come again.
  void rewind(int64_t rows);

  /// A part of the queue.
  struct Part {
    std::vector<Json> things = {};
    std::vector<int64_t> ends = {};  ///< for each thing, the position behind it
    int64_t rewinds = 0;             ///< of the queue, when the part was taken
  };
  /// Returns the first things that were not sent yet, of 256 kB or one thing at least. A line that is no JSON is left
  /// out.
  Part next() const;
  /// Notes that the server has the first `things` of the part, of which `rows` were rows and the last of these of a
  /// step. Returns false if the queue went back since the part was taken: the rest of the part is not to be sent then,
  /// and the positions in it mean nothing.
  bool sent(const Part& part, size_t things, int64_t rows, std::optional<int64_t> step);
  bool empty() const;

 private:
  void write_facts();
  int64_t sent_bytes() const { return facts_.value("sent_bytes", int64_t{0}); }

  struct Lock {
    explicit Lock(int descriptor_) : descriptor(descriptor_) {}
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    int descriptor;
  };

  std::filesystem::path folder_;
  Lock lock_;
  mutable std::mutex mutex_ = {};
  RowFile rows_;
  Json facts_ = {};
  int64_t size_ = 0;      ///< of the file, in bytes
  int64_t count_ = 0;     ///< rows added
  int64_t repeated_ = 0;  ///< rows that come again and that the server has
  int64_t rewinds_ = 0;   ///< how often the queue went back
};

}  // namespace levin
