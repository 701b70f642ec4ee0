#include <levin/trainer/fit/process_settings.h>
#include <levin/core/device/first_calls.h>
#include <levin/core/device/own_generator.h>

namespace levin {
namespace {

TorchSettingsOptions settings_of(const ResolvedOptions& options) {
  return {.deterministic = options->deterministic,
          .benchmark = options->benchmark,
          .detect_anomaly = options->detect_anomaly,
          .flush_denormal = options->flush_denormal,
          .num_threads = options->num_threads,
          .float32_matmul_precision = options->float32_matmul_precision};
}

}  // namespace

ProcessSettings::ProcessSettings(const ResolvedOptions& options) {
  if (!options->keep_torch_settings) settings_.emplace(settings_of(options));
  make_first_calls();
  if (!options->keep_freed_memory) return;
  // With a sharded model memory matters more than time: keep only small freed blocks.
  constexpr size_t kLargestBesideShards = size_t{4} << 20;
  if (options.strategy().traits.shards_parameters)
    heap_.emplace(kLargestBesideShards);
  else
    heap_.emplace();
}

void ProcessSettings::seed(const ResolvedOptions& options, int64_t rank, c10::Device device) {
  in_progress_.emplace(RunDraws{.generator = options->random_generator,
                                .is_seeded = options->seed.has_value(),
                                .in_own_scope = has_own_generator(),
                                .on_gpu = device.is_cuda()});
  if (!options->seed) return;
  // Each rank has its own random numbers. Weights are those of rank 0, and the order of samples has its own seed.
  const auto seed = static_cast<uint64_t>(*options->seed + rank);
  if (in_progress_->has_own_generator())
    generator_ = make_generator(seed);
  else if (has_own_generator())
    generator_ = at::Generator();  // LibTorch's, though the run starts inside another one
  const GeneratorScope generator(generator_);
  if (!in_progress_->has_own_generator() || device.is_cuda()) generator_as_before_.emplace();
  if (generator_as_before_) seed_generators(seed);
}

void ProcessSettings::restore() {
  in_progress_.reset();
  generator_as_before_.reset();
  heap_.reset();
  settings_.reset();
}

}  // namespace levin
