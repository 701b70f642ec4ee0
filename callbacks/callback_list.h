#pragma once
#include <levin/core/options/option_type.h>
#include <levin/core/run/callback_entry.h>

#include <vector>

namespace levin {

/// A list of callbacks, each by class name or as an object with "class". Callbacks made in C++ are shown by their type.
LEVIN_DECLARE_OPTION_TYPE(std::vector<CallbackEntry>);

}  // namespace levin
