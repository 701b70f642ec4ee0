#pragma once
#include <type_traits>

namespace levin::detail {

/// False, but only once the template is used: for static_asserts that say what to write instead.
template <class...>
inline constexpr bool never = false;

/// The parameters and result of a member function, whichever class has it; noexcept does not count.
template <class>
struct SignatureOf {
  using type = void;
};
template <class R, class C, class... A>
struct SignatureOf<R (C::*)(A...)> {
  using type = R(A...);
};
template <class R, class C, class... A>
struct SignatureOf<R (C::*)(A...) noexcept> {
  using type = R(A...);
};
template <class R, class C, class... A>
struct SignatureOf<R (C::*)(A...) const> {
  using type = R(A...) const;
};
template <class R, class C, class... A>
struct SignatureOf<R (C::*)(A...) const noexcept> {
  using type = R(A...) const;
};

/// Whether a function, by its type as `&T::name`, hides the virtual one of that name instead of overriding it. A member
/// that is no function is meant as such.
template <class Found, class Virtual>
constexpr bool hides() {
  if constexpr (std::is_member_function_pointer_v<Found>)
    return !std::is_same_v<typename SignatureOf<Found>::type, typename SignatureOf<Virtual>::type>;
  else
    return std::is_pointer_v<Found> && std::is_function_v<std::remove_pointer_t<Found>>;  // a static one
}

}  // namespace levin::detail

/// Stops the compiler where class `T` has a function `name` that hides the virtual one of `Base`; `signature` is a text
/// that shows what to write. A name that is private, overloaded or ambiguous is not seen; so a class that means to have
/// an overload says `using Base::name;`.
#define LEVIN_REFUSE_HIDING(T, Base, name, signature)                                                         \
  if constexpr (requires { &T::name; })                                                                       \
    static_assert(!::levin::detail::hides<decltype(&T::name), decltype(&Base::name)>(),                       \
                  "levin: a class has a function " #name " with other parameters, which hides that of " #Base \
                  " and would never be called; write: " signature                                             \
                  " override, or, for an overload beside it: "                                                \
                  "using " #Base "::" #name ";");
