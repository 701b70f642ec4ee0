#pragma once
#include <levin/core/run/profiler.h>
#include <levin/trainer/profilers/memory_profiler_options.h>
#include <levin/trainer/profilers/memory_recorder.h>
#include <levin/trainer/profilers/profile_files.h>

#include <memory>
#include <optional>
#include <string>

namespace levin {

/// Shows the memory of tensors at the end of the run: the peak during each action, on each device, and where the
/// largest tensors were made (the operator, the layer, the action, and the function if the stack tells). Writes the
/// same into the run's folder as text and JSON. It follows the thread that began the run.
class MemoryProfiler final : public Profiler {
 public:
  using Options = MemoryProfilerOptions;

  explicit MemoryProfiler(const Parts& parts, Options options = {}) : Profiler(parts), options_(std::move(options)) {}
  ~MemoryProfiler() override;
  void begin(const Output& output) override;

 protected:
  void on_start(const ProfileSpan& span) override;
  void on_stop(const ProfileSpan& span, int64_t began, int64_t ended) noexcept override;
  void end() override;

 private:
  struct Result;
  std::string text_of(const Result& result) const;
  std::string json_of(const Result& result) const;

  Options options_;
  std::optional<Output> output_ = {};
  ProfileFiles files_ = {};
  std::shared_ptr<MemoryRecorder> recorder_ = {};  ///< null before `begin`
};

}  // namespace levin
