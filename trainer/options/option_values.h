#pragma once
#include <levin/core/device/accelerator.h>
#include <levin/core/options/choice.h>
#include <levin/core/ranks/process_group_backend.h>
#include <levin/core/system/generator_choice.h>
#include <levin/modules/gradient_clip_algorithm.h>

#include <cstdint>

// The values of the trainer's options that are one of a few words.
namespace levin {

/// Of the early versions' `distributed_backend`.
enum class DistributedBackend : uint8_t { Dp, Ddp, DdpSpawn, Zero1 };
template <>
inline constexpr auto kWords<DistributedBackend> =
    words_of<DistributedBackend>({{"dp", DistributedBackend::Dp},
                                  {"ddp", DistributedBackend::Ddp},
                                  {"ddp_spawn", DistributedBackend::DdpSpawn},
                                  {"zero1", DistributedBackend::Zero1}});

/// Of the early versions' `amp_level`: 32 bit, autocast, float32 master weights, all in float16.
enum class AmpLevel : uint8_t { O0, O1, O2, O3 };
template <>
inline constexpr auto kWords<AmpLevel> =
    words_of<AmpLevel>({{"O0", AmpLevel::O0}, {"O1", AmpLevel::O1}, {"O2", AmpLevel::O2}, {"O3", AmpLevel::O3}});

/// How the largest batch size is looked for: by doubling it, or by bisection after that.
enum class BatchSizeMode : uint8_t { Power, Binsearch };
template <>
inline constexpr auto kWords<BatchSizeMode> =
    words_of<BatchSizeMode>({{"power", BatchSizeMode::Power}, {"binsearch", BatchSizeMode::Binsearch}});

/// The rule by which the learning rate scales with the batch size.
enum class LRScalingRule : uint8_t {
  Linear,  ///< proportional to the batch size; Goyal et al., "Accurate, Large Minibatch SGD",
           ///< https://arxiv.org/abs/1706.02677
  Sqrt     ///< proportional to its square root; Krizhevsky, "One weird trick", https://arxiv.org/abs/1404.5997
};
template <>
inline constexpr auto kWords<LRScalingRule> =
    words_of<LRScalingRule>({{"linear", LRScalingRule::Linear}, {"sqrt", LRScalingRule::Sqrt}});

/// Who starts the ranks.
enum class Launcher : uint8_t { Auto, None };
template <>
inline constexpr auto kWords<Launcher> = words_of<Launcher>({{"auto", Launcher::Auto}, {"none", Launcher::None}});

/// How images and convolutions lie in memory.
enum class MemoryLayout : uint8_t { Preserve, ChannelsLast };
template <>
inline constexpr auto kWords<MemoryLayout> =
    words_of<MemoryLayout>({{"preserve", MemoryLayout::Preserve}, {"channels_last", MemoryLayout::ChannelsLast}});

/// What the program does at SIGUSR1 or SIGUSR2.
enum class OnSignal : uint8_t { Auto, Save, Stop, Requeue, Ignore };
template <>
inline constexpr auto kWords<OnSignal> = words_of<OnSignal>({{"auto", OnSignal::Auto},
                                                             {"save", OnSignal::Save},
                                                             {"stop", OnSignal::Stop},
                                                             {"requeue", OnSignal::Requeue},
                                                             {"ignore", OnSignal::Ignore}});

/// What a checkpoint does that cannot be saved.
enum class CheckpointErrors : uint8_t { Raise, Warn };
template <>
inline constexpr auto kWords<CheckpointErrors> =
    words_of<CheckpointErrors>({{"raise", CheckpointErrors::Raise}, {"warn", CheckpointErrors::Warn}});

/// Whose options the optimizers of a resumed run have: the checkpoint's, or those of configure_optimizers.
enum class ResumedOptions : uint8_t { Saved, Present };
template <>
inline constexpr auto kWords<ResumedOptions> =
    words_of<ResumedOptions>({{"saved", ResumedOptions::Saved}, {"present", ResumedOptions::Present}});

}  // namespace levin
