#pragma once
#include <levin/data/tables/module_interface.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace levin::data {

/// Memory of a column's buffer; none if no value is missing.
struct ColumnBuffer {
  std::shared_ptr<std::byte[]> bytes = {};
  int64_t size = 0;
  int64_t place = 0;  ///< where it lies in a SealedMemory

  std::byte* get() const { return bytes.get(); }
};

/// A column's values with what they own, for modules whose library does not make them.
struct OwnedColumn {
  int64_t length = 0;
  std::vector<ColumnBuffer> buffers = {};
  std::vector<OwnedColumn> children = {};
};

/// The type of a column.
struct OwnedType {
  std::string format = {}, name = {};
  std::vector<OwnedType> children = {};
};

namespace detail {

template <class C>
struct ColumnOwner {
  std::string format = {}, name = {};
  std::vector<ColumnBuffer> buffers = {};
  std::vector<const void*> places = {};
  std::vector<C> children = {};
  std::vector<C*> pointers = {};
};

/// Releases an owner and its children.
template <class C>
void release_column(C* column) {
  const std::unique_ptr<ColumnOwner<C>> owner(static_cast<ColumnOwner<C>*>(column->owner));
  for (C& child : owner->children)
    if (child.release) child.release(&child);
  column->release = nullptr;
}

template <class C>
void point_to_children(ColumnOwner<C>& owner) {
  for (C& child : owner.children) owner.pointers.push_back(&child);
}

}  // namespace detail

/// Hands values over to who reads them.
inline ColumnArray exported(OwnedColumn column) {
  auto owner = std::make_unique<detail::ColumnOwner<ColumnArray>>();
  owner->buffers = std::move(column.buffers);
  for (const ColumnBuffer& buffer : owner->buffers) owner->places.push_back(buffer.get());
  for (OwnedColumn& child : column.children) owner->children.push_back(exported(std::move(child)));
  detail::point_to_children(*owner);
  ColumnArray array = {};
  array.length = column.length;
  array.buffer_count = static_cast<int64_t>(owner->places.size());
  array.buffers = owner->places.data();
  array.child_count = static_cast<int64_t>(owner->children.size());
  array.children = owner->pointers.data();
  array.release = detail::release_column<ColumnArray>;
  array.owner = owner.release();
  return array;
}

inline ColumnSchema exported(const OwnedType& type) {
  auto owner = std::make_unique<detail::ColumnOwner<ColumnSchema>>();
  owner->format = type.format;
  owner->name = type.name;
  for (const OwnedType& child : type.children) owner->children.push_back(exported(child));
  detail::point_to_children(*owner);
  ColumnSchema schema = {};
  schema.format = owner->format.c_str();
  schema.name = owner->name.c_str();
  schema.child_count = static_cast<int64_t>(owner->children.size());
  schema.children = owner->pointers.data();
  schema.release = detail::release_column<ColumnSchema>;
  schema.owner = owner.release();
  return schema;
}

}  // namespace levin::data
