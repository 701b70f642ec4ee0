#include <levin/trainer/loggers/mlflow_queue.h>
#include <fcntl.h>
#include <levin/core/state/atomic_file.h>
#include <levin/core/system/error.h>
#include <levin/core/system/json_text.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

namespace levin {
namespace {

namespace fs = std::filesystem;
constexpr const char* kFacts = "mlflow.json";
constexpr const char* kRows = "mlflow_queue.jsonl";
constexpr const char* kLock = "mlflow.lock";

/// Returns a descriptor that holds the lock, or -1 if another process does.
int try_lock(const fs::path& folder) {
  const fs::path file = folder / kLock;
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw Error(file.string(), ": cannot be written: ", std::strerror(errno));
  // Some network mounts have no locks.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return descriptor;
  ::close(descriptor);
  return -1;
}

int wait_for_lock(const fs::path& folder, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const int descriptor = try_lock(folder);
    if (descriptor >= 0) return descriptor;
    if (std::chrono::steady_clock::now() >= end)
      throw Error(folder.string(), ": another process is sending what waits there to its MLflow server");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

MLflowQueue::Json read_facts(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return MLflowQueue::Json::object();
  auto facts = MLflowQueue::Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!facts.is_object()) throw Error(file.string(), ": expected the facts about a run of MLflow; move the file away");
  return facts;
}

bool is_row(const MLflowQueue::Json& thing) { return thing.is_object() && thing.contains("row"); }

}  // namespace

MLflowQueue::MLflowQueue(const fs::path& folder, double patience_seconds)
    : folder_(folder), lock_(wait_for_lock(folder, patience_seconds)), rows_(folder / kRows) {
  try {
    facts_ = read_facts(folder_ / kFacts);
    size_ = static_cast<int64_t>(fs::file_size(file()));
    if (sent_bytes() < 0 || sent_bytes() > size_) facts_["sent_bytes"] = 0;
    count_ = facts_.value("sent_rows", int64_t{0});
    std::ifstream in(file(), std::ios::binary);
    in.seekg(sent_bytes());
    for (std::string line; std::getline(in, line);) {
      const Json thing = Json::parse(line, nullptr, false);
      if (is_row(thing)) count_ = std::max(count_, thing["row"].get<int64_t>() + 1);
    }
  } catch (const nlohmann::json::exception&) {
    throw Error((folder_ / kFacts).string(), ": expected the facts about a run of MLflow; move the file away");
  }
}

MLflowQueue::Lock::~Lock() { ::close(descriptor); }

bool MLflowQueue::waits_in(const fs::path& folder) {
  std::error_code missing;
  const auto size = fs::file_size(folder / kRows, missing);
  if (missing || size == 0 || !fs::exists(folder / kFacts, missing)) return false;
  const int lock = try_lock(folder);
  if (lock < 0) return false;
  ::close(lock);
  return read_facts(folder / kFacts).value("sent_bytes", int64_t{0}) < static_cast<int64_t>(size);
}

MLflowQueue::Json MLflowQueue::fact(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return facts_.value(name, Json());
}

void MLflowQueue::set_facts(const Json& facts) {
  const std::lock_guard lock(mutex_);
  facts_.update(facts);
  write_facts();
}

void MLflowQueue::write_facts() { write_text_file_atomically(folder_ / kFacts, json_text(facts_, 2) + '\n'); }

void MLflowQueue::add(Json thing) {
  const std::lock_guard lock(mutex_);
  if (thing.contains("values")) {
    if (repeated_ > 0 && thing.at("step").get<int64_t>() <= facts_.value("sent_step", int64_t{-1})) {
      --repeated_;
      ++count_;
      return;
    }
    repeated_ = 0;
    thing["row"] = count_;
  }
  const std::string line = json_text(thing) + '\n';
  rows_.append(line);
  size_ += static_cast<int64_t>(line.size());
  count_ += is_row(thing);
}

int64_t MLflowQueue::rows() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void MLflowQueue::rewind(int64_t rows) {
  const std::lock_guard lock(mutex_);
  if (rows >= count_) return;
  std::string kept;
  std::ifstream in(file(), std::ios::binary);
  in.seekg(sent_bytes());
  for (std::string line; std::getline(in, line);) {
    const Json thing = Json::parse(line, nullptr, false);
    if (!is_row(thing) || thing["row"].get<int64_t>() < rows) kept += line + '\n';
  }
  // First the facts: a process that is killed in between sends some lines twice, which the server tells apart by their
  // times.
  facts_["sent_bytes"] = 0;
  write_facts();
  rows_.replace(kept);
  size_ = static_cast<int64_t>(kept.size());
  count_ = rows;
  ++rewinds_;
  repeated_ = std::max<int64_t>(0, facts_.value("sent_rows", int64_t{0}) - rows);
}

MLflowQueue::Part MLflowQueue::next() const {
  constexpr int64_t kMost = 1 << 18;
  const std::lock_guard lock(mutex_);
  Part part{.rewinds = rewinds_};
  std::ifstream in(file(), std::ios::binary);
  int64_t end = sent_bytes();
  const int64_t begin = end;
  in.seekg(begin);
  for (std::string line; end < size_ && (part.things.empty() || end - begin < kMost) && std::getline(in, line);) {
    end += static_cast<int64_t>(line.size()) + 1;
    Json thing = Json::parse(line, nullptr, false);
    if (!thing.is_object()) continue;
    part.things.push_back(std::move(thing));
    part.ends.push_back(end);
  }
  return part;
}

bool MLflowQueue::sent(const Part& part, size_t things, int64_t rows, std::optional<int64_t> step) {
  constexpr int64_t kLarge = 1 << 20;
  const std::lock_guard lock(mutex_);
  if (part.rewinds != rewinds_) return false;
  const int64_t end = part.ends[things - 1];
  facts_["sent_bytes"] = end;
  facts_["sent_rows"] = std::max(facts_.value("sent_rows", int64_t{0}), rows);
  if (step) facts_["sent_step"] = std::max(facts_.value("sent_step", int64_t{-1}), *step);
  const bool is_all = end >= size_ && size_ > kLarge;
  if (is_all) facts_["sent_bytes"] = 0;
  if (is_all) rows_.replace("");
  if (is_all) size_ = 0;
  write_facts();
  return true;
}

bool MLflowQueue::empty() const {
  const std::lock_guard lock(mutex_);
  return sent_bytes() >= size_;
}

}  // namespace levin
