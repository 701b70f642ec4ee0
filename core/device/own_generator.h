#pragma once
#include <ATen/core/Generator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <optional>

namespace levin {

/// Returns the CPU generator that this thread draws from if no other is named: that of the innermost GeneratorScope, or
/// else LibTorch's default.
at::Generator default_generator();

/// Returns whether this thread is in a GeneratorScope with a generator of its own.
bool has_own_generator();

/// Makes a CPU generator that draws what LibTorch's default draws after at::manual_seed(seed).
at::Generator make_generator(uint64_t seed);

/// Seeds the generator of this thread and those of all GPUs. Without a GeneratorScope this is at::manual_seed.
void seed_generators(uint64_t seed);

/// While it lives, LibTorch's operations on CPU tensors that are given no generator draw from `own`, in this thread and
/// in the threads that LibTorch starts for it (backward, replicas): dropout, torch::randn, the initial weights of
/// layers. LibTorch's default generator is neither read nor written, and operations that draw nothing are dispatched as
/// before. GPUs draw from their default generators.
///
/// Source: LibTorch's dispatcher. Each operation with a `Generator?` argument has a kernel under a dispatch key that
/// nobody else uses; a scope includes the key in its thread (docs/decisions/072-own-generator.md).
class GeneratorScope {
 public:
  /// Unset: no change. An undefined generator: LibTorch's default, also inside another scope. Throws levin::Error if
  /// another library has taken the dispatch key.
  explicit GeneratorScope(const std::optional<at::Generator>& own);
  ~GeneratorScope() = default;
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  std::optional<c10::DebugInfoGuard> info_ = {};
  std::optional<c10::impl::IncludeDispatchKeyGuard> key_ = {};
};

}  // namespace levin
