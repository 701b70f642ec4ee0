#pragma once
// Everything a program that trains needs. Files that use one part can include that part's header and compile faster.
#include <torch/torch.h>

#include <levin/trainer/core/error.h>
#include <levin/trainer/core/state.h>
