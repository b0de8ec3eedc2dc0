#include "surfacing/carried_particles.h"

namespace aegir {

CarriedParticles::CarriedParticles(std::vector<PointAttribute> values, std::size_t count, int rank)
    : rank_(rank), own_(count), company_(count, 1.0f) {
  points_.attributes = std::move(values);
}

void CarriedParticles::pack(std::span<const std::int32_t> numbers, Bytes& bytes) {
  place_.resize(size(), -1);
  std::vector<std::uint32_t> named;
  std::vector<std::int32_t> places(numbers.size(), -1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    std::int32_t& place = place_[static_cast<std::size_t>(numbers[i])];
    if (place < 0)
      place = static_cast<std::int32_t>(named.size()), named.push_back(static_cast<std::uint32_t>(numbers[i]));
    places[i] = place;
  }
  std::vector<Name> names;
  for (const std::uint32_t number : named) names.push_back(name_of(number)), place_[number] = -1;
  const auto count = static_cast<std::uint64_t>(names.size());
  put_bytes(bytes, std::span<const std::uint64_t>(&count, 1));
  put_bytes(bytes, std::span<const Name>(names));
  put_picked(bytes, company_.data(), sizeof(float), named);
  for (const PointAttribute& a : points_.attributes)
    put_picked(bytes, a.data.data(), PointAttribute::size_of(a.type), named);
  put_bytes(bytes, std::span<const std::int32_t>(places));
}

std::vector<std::int32_t> CarriedParticles::unpack(Parcel& parcel, std::size_t count) {
  const auto named = static_cast<std::size_t>(parcel.take<std::uint64_t>());
  const auto names = parcel.take_all<Name>(named);
  const auto company = parcel.take_all<float>(named);
  std::vector<std::int32_t> here(named);
  std::vector<std::uint32_t> fresh;
  for (std::size_t i = 0; i < named; ++i) {
    if (names[i] >> 32 == static_cast<Name>(rank_)) {
      here[i] = static_cast<std::int32_t>(names[i] & 0xffffffff);
      continue;
    }
    const auto [at, added] = known_.try_emplace(names[i], static_cast<std::int32_t>(size()));
    here[i] = at->second;
    if (added)
      fresh.push_back(static_cast<std::uint32_t>(i)), foreign_.push_back(names[i]), company_.push_back(company[i]);
  }
  for (PointAttribute& a : points_.attributes) {
    const std::size_t width = PointAttribute::size_of(a.type);
    const auto values = parcel.take_all<std::byte>(named * width);
    put_picked(a.data, values.data(), width, fresh);
  }
  auto numbers = parcel.take_all<std::int32_t>(count);
  for (std::int32_t& n : numbers)
    if (n >= 0) n = here[static_cast<std::size_t>(n)];
  return numbers;
}

}  // namespace aegir
