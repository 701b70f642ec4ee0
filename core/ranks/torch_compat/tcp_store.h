#pragma once
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace levin::torch_compat {

/// Returns options that work with every LibTorch: Debian's is built without libuv, which the defaults since 2.6
/// require.
template <class Options = c10d::TCPStoreOptions>
Options tcp_store_options() {
  Options options;
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
  return options;
}

}  // namespace levin::torch_compat
