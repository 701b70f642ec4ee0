#pragma once
#include <levin/core/run/trainer_state.h>
#include <levin/data/batch.h>
#include <levin/modules/lightning_module.h>
#include <levin/trainer/options/trainer_options.h>
#include <torch/version.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace levin::detail {

inline constexpr std::string_view kPluginMark = "levin plugin, built with: ";
inline constexpr std::string_view kPluginVersion = "levin 0.1.0";
#ifdef __clang__
inline constexpr std::string_view kPluginCompiler = "clang " __clang_version__;
#else
inline constexpr std::string_view kPluginCompiler = "gcc " __VERSION__;
#endif

using PluginAbi = std::array<char, 256>;

/// Returns the mark, what a plugin must share with the program, and zeros. The sizes tell apart two states of levin's
/// headers that have one version.
constexpr PluginAbi plugin_abi() {
  PluginAbi text = {};
  size_t length = 0;
  const auto add = [&](std::string_view part) {
    for (const char c : part) text[length++] = c;
  };
  const auto add_number = [&](size_t number) {
    size_t power = 1;
    while (number / power >= 10) power *= 10;
    for (; power > 0; power /= 10) text[length++] = static_cast<char>('0' + number / power % 10);
  };
  add(kPluginMark);
  add(kPluginVersion);
  for (const size_t size : {sizeof(TrainerOptions), sizeof(LightningModule), sizeof(TrainerState), sizeof(Batch),
                            static_cast<size_t>(Hook::kCount)}) {
    add("-");
    add_number(size);
  }
  add(", LibTorch " TORCH_VERSION ", ");
  add(kPluginCompiler);
#ifdef _GLIBCXX_USE_CXX11_ABI
  add(", C++ ABI ");
  add_number(_GLIBCXX_USE_CXX11_ABI);
#endif
  return text;
}

}  // namespace levin::detail

/// Makes a shared library a plugin of the levin program, `levin --plugin ./libmine.so fit ...`. It stands once in the
/// library, at namespace scope; LEVIN_REGISTER_CALLBACK, LEVIN_REGISTER_MODULE and so on stand beside their classes:
///
///     LEVIN_PLUGIN();
///     LEVIN_REGISTER_CALLBACK(MyCallback);
///
/// The library links the target levin::plugin, which has levin's headers alone: the program has its functions.
#define LEVIN_PLUGIN()                                                                                               \
  extern "C" [[gnu::used, gnu::visibility("default")]] constinit const ::levin::detail::PluginAbi levin_plugin_abi = \
      ::levin::detail::plugin_abi()
