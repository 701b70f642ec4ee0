#pragma once
// Catch2 v2 (Debian 12) and v3 (Debian 13) by one include. LibTorch's logging also defines CHECK, and its CHECK aborts.
#include <c10/util/Logging.h>
#undef CHECK
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
