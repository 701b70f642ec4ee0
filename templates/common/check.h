#pragma once
#include <iostream>

inline int failures = 0;

inline void check(bool holds, const char* what) {
  if (!holds) std::cerr << "does not hold: " << what << "\n";
  failures += !holds;
}
