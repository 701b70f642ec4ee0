#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

namespace levin::parallel {

// The containers that scatter and gather traverse.

template <class T>
concept IsList = !std::same_as<T, std::string> && requires(T list, const typename T::value_type& item) {
  list.push_back(item);
  list.begin();
};

template <class T>
concept IsMap = requires(T map, const typename T::key_type& key) {
  typename T::mapped_type;
  map.find(key);
};

template <class T>
concept IsTuple = requires { std::tuple_size<T>::value; };

template <class T>
concept IsOptional = std::same_as<T, std::optional<typename T::value_type>>;

}  // namespace levin::parallel
