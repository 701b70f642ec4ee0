#pragma once
#include <type_traits>

namespace levin::detail {

/// Always false, but only once the template is used: for static_asserts whose message says what to write instead.
template <class...>
inline constexpr bool never = false;

/// The parameters and result of a member function, without its class and without noexcept.
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

/// Returns whether a function, given by the type of `&T::name`, hides the virtual function of that name instead of
/// overriding it. A data member is taken to be intended.
template <class Found, class Virtual>
constexpr bool hides() {
  if constexpr (std::is_member_function_pointer_v<Found>)
    return !std::is_same_v<typename SignatureOf<Found>::type, typename SignatureOf<Virtual>::type>;
  else
    return std::is_pointer_v<Found> && std::is_function_v<std::remove_pointer_t<Found>>;  // a static one
}

}  // namespace levin::detail

/// Fails to compile if class `T` has a function `name` that hides the virtual function of `Base`; `signature` is the
/// text that shows what to write. A name that is private, overloaded or ambiguous is not checked; so a class that wants
/// an overload writes `using Base::name;`.
#define LEVIN_REFUSE_HIDING(T, Base, name, signature)                                                         \
  if constexpr (requires { &T::name; })                                                                       \
    static_assert(!::levin::detail::hides<decltype(&T::name), decltype(&Base::name)>(),                       \
                  "levin: a class has a function " #name " with other parameters, which hides that of " #Base \
                  " and would never be called; write: " signature                                             \
                  " override, or, for an overload beside it: "                                                \
                  "using " #Base "::" #name ";");
