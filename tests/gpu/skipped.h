#pragma once
#include <string>

/// Why the test at hand could not do what it is for; empty where it did. A test sets it and returns.
std::string& skipped_reason();
