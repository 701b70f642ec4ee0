#pragma once
#include <levin/core/system/error.h>
#include <levin/data/batch.h>
#include <levin/data/loading/indices.h>
#include <levin/data/python/channel.h>
#include <levin/data/python/shared_batches.h>
#include <nlohmann/json_fwd.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace levin::data {

class PythonHost;

/// A worker has ended, and does not answer.
class LostPythonWorker : public Error {
 public:
  explicit LostPythonWorker(const std::string& what, bool was_at_this_) : Error(what), was_at_this(was_at_this_) {}

  bool was_at_this;  ///< it ended while it made the batch, not while it made one that was asked for earlier
};

/// A worker has not answered in time, and was killed.
class LatePythonWorker : public Error {
 public:
  using Error::Error;
};

/// A process that makes batches of the data of a PythonHost. Used by one thread at a time, but for `ask`.
class PythonWorker {
 public:
  static constexpr int64_t kMostRequests = 4;

  PythonWorker(PythonHost& host, Channel channel, int64_t process);
  /// Ends the process, and all that it has started.
  ~PythonWorker();
  PythonWorker(const PythonWorker&) = delete;
  PythonWorker& operator=(const PythonWorker&) = delete;

  /// Asks for the batch of these samples and returns it; throws as `receive`. Called by kMostRequests threads at once
  /// at most, whose requests the worker has all the while, and answers in their order. If `may_wait`, a batch that is
  /// quickly made may come together with the next one: that saves half of the times that one process wakes the other,
  /// but if the worker ends meanwhile, both are lost.
  Batch ask(const Indices& indices, double seconds, bool may_wait);

  /// Sends a request, to which the buffers that are free are added.
  void send(nlohmann::ordered_json request);
  /// Waits for the answer to the first request without one, `seconds` at most unless that is 0. Throws levin::Error
  /// with the traceback for an exception in Python, after which the worker continues; LostPythonWorker;
  /// LatePythonWorker.
  nlohmann::ordered_json receive(double seconds);
  /// Returns the batch of the newest answer. Throws levin::Error for one that does not fit its memory.
  Batch batch(const nlohmann::ordered_json& answer);

 private:
  /// Gives the worker `grace` seconds to end by itself, kills it if it has not, and asks the host how it ended.
  void end(double grace);
  void send(const Indices& indices, bool may_wait);
  LostPythonWorker lost(bool was_at_this) const;

  PythonHost& host_;
  Channel channel_;
  int64_t process_;
  Descriptor watch_;
  Descriptor memory_ = {};  // that came with the newest answer
  SharedBatches batches_ = {};
  std::mutex mutex_ = {};                                            // of what `ask` shares
  std::array<std::condition_variable, kMostRequests> is_turn_ = {};  // by the turn's remainder: none wakes another's
  int64_t asked_ = 0, answered_ = 0;
  bool has_ended_ = false;
  std::string how_it_ended_ = {};
};

}  // namespace levin::data
