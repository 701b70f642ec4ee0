#include <levin/data/tokenizers/vocabulary.h>
#include <levin/core/system/error.h>
#include <levin/data/tokenizers/text_hash.h>

#include <bit>
#include <limits>
#include <utility>

namespace levin::data::tokenizers {

void Vocabulary::reserve(size_t tokens) {
  if (tokens * 2 > slots_.size()) grow(std::bit_ceil(tokens * 2 + 2));
}

void Vocabulary::grow(size_t count) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(count));
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    size_t i = slot.hash & (count - 1);
    while (slots_[i].id >= 0) i = (i + 1) & (count - 1);
    slots_[i] = slot;
  }
}

void Vocabulary::add(std::string_view text, int32_t id) {
  if (texts_.size() + text.size() > std::numeric_limits<uint32_t>::max()) {
    throw UsageError("the tokens of a vocabulary have more than 4 GB");
  }
  reserve(count_ + 1);
  const uint64_t hash = hash_text(text);
  size_t i = hash & (slots_.size() - 1);
  const auto matches = [&](const Slot& slot) {
    return slot.hash == hash && std::string_view(texts_).substr(slot.begin, slot.size) == text;
  };
  while (slots_[i].id >= 0 && !matches(slots_[i])) i = (i + 1) & (slots_.size() - 1);
  Slot& slot = slots_[i];
  if (slot.id < 0) {
    slot = {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(text.size()), id};
    texts_.append(text);
    ++count_;
  } else {
    slot.id = id;
  }
  const auto index = static_cast<size_t>(id);
  if (index >= places_.size()) places_.resize(index + 1);
  places_[index] = {slot.begin, slot.size, true};
}

int32_t Vocabulary::id(std::string_view text) const {
  if (slots_.empty()) return -1;
  const uint64_t hash = hash_text(text);
  for (size_t i = hash & (slots_.size() - 1); slots_[i].id >= 0; i = (i + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[i];
    if (slot.hash == hash && std::string_view(texts_).substr(slot.begin, slot.size) == text) return slot.id;
  }
  return -1;
}

std::string_view Vocabulary::text(int32_t id) const {
  if (id < 0 || id >= end_id() || !places_[static_cast<size_t>(id)].is_there) return {};
  const Place& place = places_[static_cast<size_t>(id)];
  return {texts_.data() + place.begin, place.size};
}

}  // namespace levin::data::tokenizers
