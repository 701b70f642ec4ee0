#pragma once
#include <levin/core/state/state.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace levin {

/// The checkpoint that a fit resumes from, as far as its loops need it.
class Resumption {
 public:
  /// Records that the fit was resumed.
  void begin() { resumed_ = true; }
  bool is_resumed() const { return resumed_; }

  /// Returns the file, if the run does not continue in its folder; else empty.
  const std::filesystem::path& file() const { return file_; }
  void set_file(std::filesystem::path file) { file_ = std::move(file); }

  /// This rank's section of the checkpoint: its random numbers and the positions of its loaders. Null if there is none
  /// or the loops have taken it up.
  const State* places() const { return places_ ? &*places_ : nullptr; }
  void set_places(State places) { places_ = std::move(places); }
  void drop_places() { places_.reset(); }

 private:
  bool resumed_ = false;
  std::filesystem::path file_ = {};
  std::optional<State> places_ = {};
};

}  // namespace levin
