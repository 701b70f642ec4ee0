#pragma once
// Catch2 v2 (Debian 12) and v3 (Debian 13) under one name. LibTorch's logging defines a CHECK of its own, which aborts.
#include <c10/util/Logging.h>
#undef CHECK
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
