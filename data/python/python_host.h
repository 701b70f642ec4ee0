#pragma once
#include <levin/core/run/stage.h>
#include <levin/data/dataset_module.h>
#include <levin/data/python/channel.h>
#include <levin/data/python/child_process.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace levin::data {

class PythonWorker;

/// A user's Python file, and how it is run.
struct PythonCode {
  std::string python = {};  ///< the interpreter; empty: that of LibTorch, or python3
  std::string file = {};
  std::vector<std::string> functions = {};  ///< all that `make` may name
  std::string arguments = "{}";             ///< for each of them: an object in JSON
  std::vector<std::string> fields = {};     ///< the names of the parts of tuples; empty: input, target
};

/// What a function of the file has returned for a split.
struct PythonData {
  enum class Kind { None, Map, Samples, Batches };
  Kind kind = Kind::None;
  std::optional<int64_t> size = {};  ///< of samples, or of batches
  std::vector<std::string> class_names = {};
};

/// What to call, and with which values of the parameters that levin fills in.
struct PythonCall {
  std::string function = {};
  bool is_own = false;  ///< the function is for this split alone
  Split split = Split::Train;
  Stage stage = Stage::Fit;
  int64_t rank = 0, world = 1;
};

/// The process of Python that has read the user's file and called his functions. It makes workers of itself, which have
/// the same data without copying them, as torch's loader does. Thread-safe.
///
/// The process ends with the object, however levin ends; so do the workers, and what they have started.
class PythonHost {
 public:
  /// Throws levin::UsageError for an interpreter or a file that cannot be run, and with the traceback of what the file
  /// has raised.
  explicit PythonHost(PythonCode code);
  ~PythonHost();

  /// Returns whether levin fills in a parameter of a function: "split", or "rank" for that or `world_size`.
  bool takes(const std::string& function, const std::string& parameter) const;
  /// Calls `prepare_data` of what the function returns, if that is like a LightningDataModule. Throws as `make`.
  void prepare(const PythonCall& call);
  /// Throws levin::UsageError with the traceback of what the function has raised, and if it returned what levin cannot
  /// take.
  PythonData make(const PythonCall& call);
  /// Makes a worker for the data of a split. Starts a process again that was killed, once. Throws levin::Error.
  std::unique_ptr<PythonWorker> start_worker(Split split, std::optional<int64_t> rank);
  /// Returns how a worker has ended.
  std::string end_of_worker(int64_t process);

  const std::string& file() const { return code_.file; }

 private:
  nlohmann::ordered_json ask(const nlohmann::ordered_json& request, int descriptor = -1);
  nlohmann::ordered_json ask_user(const nlohmann::ordered_json& request);
  void start();
  void start_again();

  PythonCode code_;
  mutable std::mutex mutex_ = {};
  std::unique_ptr<ChildProcess> process_ = {};
  Channel channel_ = {};
  std::map<std::string, std::vector<std::string>> takes_ = {};  // the parameters of each function
  std::vector<PythonCall> made_ = {};                           // to be made again
  bool was_started_again_ = false;
};

/// Returns the text of an error that Python reports: the place in the user's file, the exception, the traceback.
std::string text_of_python_error(const nlohmann::ordered_json& error, const std::string& file);

}  // namespace levin::data
