#pragma once
#include <string>

/// The reason why the current test was skipped; empty if it ran. A test sets it and returns.
std::string& skipped_reason();
