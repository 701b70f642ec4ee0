#include <levin/callbacks/callback.h>
#include <c10/util/Type.h>

#include <typeinfo>

namespace levin {

std::string Callback::state_key() const {
  const std::string name = c10::demangle(typeid(*this).name());
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

}  // namespace levin
