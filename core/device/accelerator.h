#pragma once
#include <levin/core/options/choice.h>

#include <cstdint>

namespace levin {

/// The kind of device of a run. Auto: GPUs if there are any, else the CPU.
enum class Accelerator : uint8_t { Auto, Cpu, Gpu, Cuda, Mps, Xpu };
template <>
inline constexpr auto kWords<Accelerator> = words_of<Accelerator>({{"auto", Accelerator::Auto},
                                                                   {"cpu", Accelerator::Cpu},
                                                                   {"gpu", Accelerator::Gpu},
                                                                   {"cuda", Accelerator::Cuda},
                                                                   {"mps", Accelerator::Mps},
                                                                   {"xpu", Accelerator::Xpu}});

}  // namespace levin
