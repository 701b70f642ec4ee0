// A separate project that has levin as a subdirectory, and includes the one header that it needs.
#include <levin/core/system/error.h>

#include <iostream>

int main() { std::cout << levin::did_you_mean("epoch", {"epochs", "steps"}) << "\n"; }
