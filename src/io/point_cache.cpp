#include "io/point_cache.h"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

#include "io/atomic_file.h"

namespace aegir {
namespace {

static_assert(std::endian::native == std::endian::little);

std::uint32_t word(const char* at, bool big) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return big ? __builtin_bswap32(value) : value;
}
std::int32_t integer(const char* at, bool big) { return static_cast<std::int32_t>(word(at, big)); }
float real(const char* at, bool big) { return std::bit_cast<float>(word(at, big)); }

constexpr std::size_t pc2_header = 32;
constexpr char pc2_magic[] = "POINTCACHE2";  // with its terminating zero

}  // namespace

Result<PointCache> PointCache::open(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return system_error("cannot read", path, errno);
  const auto size = static_cast<std::uint64_t>(stream.tellg());
  stream.seekg(0);
  char head[pc2_header] = {};
  stream.read(head, sizeof head);
  const auto got = static_cast<std::size_t>(stream.gcount());
  stream.clear();

  PointCache cache;
  cache.path_ = path;
  cache.in_frames_ = std::memcmp(head, pc2_magic, sizeof pc2_magic) == 0;
  if (got < (cache.in_frames_ ? pc2_header : 8)) return io_error("cannot read {}: it is too short for a header", path);
  const bool big = !cache.in_frames_;
  const std::int64_t samples = integer(head + (big ? 0 : 28), big), points = integer(head + (big ? 4 : 16), big);
  if (samples < 0 || points <= 0)
    return io_error("cannot read {}: it is neither an MDD nor a PC2 file ({} samples of {} points)", path, samples,
                    points);
  if (samples == 0) return io_error("cannot read {}: there are no samples in it", path);
  cache.points_ = static_cast<std::size_t>(points);
  cache.data_ = big ? 8 + 4 * static_cast<std::size_t>(samples) : pc2_header;
  const std::uint64_t wanted = cache.data_ + 12 * static_cast<std::uint64_t>(samples) * cache.points_;
  if (size < wanted || (size > wanted && big))
    return io_error("cannot read {}: {} samples of {} points take {} bytes, but the file has {}", path, samples, points,
                    wanted, size);
  if (big) {
    std::vector<char> raw(4 * static_cast<std::size_t>(samples));
    stream.seekg(8);
    if (!stream.read(raw.data(), static_cast<std::streamsize>(raw.size())))
      return io_error("cannot read {}: it ends in its times", path);
    for (std::int64_t i = 0; i < samples; ++i) cache.times_.push_back(real(raw.data() + 4 * i, true));
  } else {
    const double start = real(head + 20, false), apart = real(head + 24, false);
    for (std::int64_t i = 0; i < samples; ++i) cache.times_.push_back(start + static_cast<double>(i) * apart);
  }
  for (std::size_t i = 0; i < cache.times_.size(); ++i)
    if (!std::isfinite(cache.times_[i]) || (i > 0 && !(cache.times_[i] > cache.times_[i - 1])))
      return io_error("cannot read {}: the times of its samples do not increase at sample {}", path, i + 1);
  return cache;
}

Status PointCache::read(std::size_t sample, std::vector<Vec3d>& places) const {
  std::ifstream stream(path_, std::ios::binary);
  if (!stream) return system_error("cannot read", path_, errno);
  std::vector<char> raw(12 * points_);
  stream.seekg(static_cast<std::streamoff>(data_ + sample * raw.size()));
  if (!stream.read(raw.data(), static_cast<std::streamsize>(raw.size())))
    return io_error("cannot read {}: sample {} is cut short", path_, sample + 1);
  places.resize(points_);
  for (std::size_t i = 0; i < points_; ++i) {
    const char* at = raw.data() + 12 * i;
    places[i] = {real(at, !in_frames_), real(at + 4, !in_frames_), real(at + 8, !in_frames_)};
    if (!is_finite(places[i]))
      return io_error("cannot read {}: vertex {} of sample {} is not finite", path_, i, sample + 1);
  }
  return {};
}

}  // namespace aegir
