#pragma once
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace levin::torch_compat {

/// Options whose store works in every LibTorch: Debian's is built without libuv, which the defaults of 2.6 and later
/// ask for.
template <class Options = c10d::TCPStoreOptions>
Options tcp_store_options() {
  Options options;
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
  return options;
}

}  // namespace levin::torch_compat
