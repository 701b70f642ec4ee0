#pragma once
// LibTorch seeds its generator at random. Where a main includes this file, each case begins with Catch's seed
// (--rng-seed), so that it draws the same tensors in each run.
#include <ATen/Context.h>

#include "tests/catch.h"

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class SeededCases final : public ListenerBase {
 public:
  using ListenerBase::ListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& /*test*/) override { at::manual_seed(m_config->rngSeed()); }
};
CATCH_REGISTER_LISTENER(SeededCases)
