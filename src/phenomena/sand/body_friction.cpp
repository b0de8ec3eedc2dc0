#include "phenomena/sand/body_friction.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace aegir::sand {
namespace {

/// Value, gradient and second derivatives of what is minimised.
constexpr std::size_t pass_numbers = 1 + 6 + matrix_numbers;
using Pass = std::array<double, pass_numbers>;

/// Steps at most, and how much energy a step may still promise when the search ends, over that of `creep`.
constexpr int most_passes = 40;
constexpr double enough = 1e-4;
/// How often contacts may let go and hold again.
constexpr int most_partings = 6;
/// How often friction is found anew under the loads that it leaves: it hardly changes them.
constexpr int load_turns = 2;

Vec3d slip_of(const BodyContact& c, const Row6& motion) {
  const Vec3d v = velocity_at(motion, c.place) - c.solid;
  return v - c.normal * dot(v, c.normal);
}

/// Adds T |s| of one contact, rounded off below `creep`.
void add_contact(Pass& sums, const BodyContact& c, const Row6& motion, double creep) {
  const Vec3d slip = slip_of(c, motion);
  const double speed = length(slip), round = std::max(speed, creep);
  sums[0] += c.most * (speed < creep ? 0.5 * speed * speed / creep : speed - 0.5 * creep);
  // T/s (1 - n nᵀ - ŝ ŝᵀ) where it slips, T/creep (1 - n nᵀ) where it holds.
  const Vec3d way = speed < creep ? Vec3d{} : slip / speed;
  for (int axis = 0; axis < 3; ++axis) {
    Vec3d along = c.normal * -c.normal[axis], curved = way * -way[axis];
    along[axis] += 1;
    curved += along;
    const Row6 column = row_of(curved, c.place);
    Vec3d own;
    own[axis] = 1;
    const Row6 one = row_of(own, c.place);
    for (std::size_t i = 0; i < 6; ++i) {
      sums[1 + i] += c.most / round * one[i] * slip[axis];
      for (std::size_t j = i; j < 6; ++j) sums[7 + upper_place(i, j)] += c.most / round * one[i] * column[j];
    }
  }
}

/// Where the search for one body's motion stands.
struct Search {
  Row6 motion{}, step{};  // the best so far, and the step that is tried
  double value = 0;       // at `motion`
  double promise = 0;     // what the whole step gains to first order
  double share = 1;       // of the step that is tried
  bool done = false;
};

Row6 tried(const Search& s) {
  Row6 motion = s.motion;
  for (std::size_t i = 0; i < 6; ++i) motion[i] += s.share * s.step[i];
  return motion;
}

/// Adds ½ Vᵀ A V - bᵀ V.
void add_body(Pass& sums, const Equations& body, const Row6& motion) {
  for (std::size_t i = 0; i < 6; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < 6; ++j) row += body[upper_place(i, j)] * motion[j];
    sums[0] += motion[i] * (0.5 * row - body[matrix_numbers + i]);
    sums[1 + i] += row - body[matrix_numbers + i];
    for (std::size_t j = i; j < 6; ++j) sums[7 + upper_place(i, j)] += body[upper_place(i, j)];
  }
}

/// Takes the tried step if it gains enough, and chooses the next one.
void advance(Search& s, const Pass& sums, double scale) {
  if (s.promise > 0 && !(sums[0] <= s.value - 1e-4 * s.share * s.promise)) {
    s.share *= 0.5;
    s.done = s.share * s.promise < enough * scale;
    return;
  }
  s.motion = tried(s), s.value = sums[0], s.share = 1;
  Equations newton;
  for (std::size_t i = 0; i < matrix_numbers; ++i) newton[i] = sums[7 + i];
  for (std::size_t i = 0; i < 6; ++i) newton[matrix_numbers + i] = -sums[1 + i];
  s.step = solve_six(newton);
  s.promise = 0;
  for (std::size_t i = 0; i < 6; ++i) s.promise -= sums[1 + i] * s.step[i];
  s.done = !(s.promise > enough * scale);
}

/// Motions under friction of at most `most` at each contact.
std::vector<Row6> motions_under_loads(Exec& exec, std::span<const Equations> free,
                                      const std::vector<std::vector<BodyContact>>& contacts, double creep) {
  const std::size_t count = free.size();
  // All contacts hold: what is minimised is a square then.
  const auto held = body_sums<1 + equation_numbers>(exec, contacts.size(), count, [&](int b, auto& list) {
    for (const BodyContact& c : contacts[static_cast<std::size_t>(b)]) {
      auto& sums = list.of(c.body);
      sums[0] += c.most;
      for (int axis = 0; axis < 3; ++axis) {
        Vec3d along = c.normal * -c.normal[axis];
        along[axis] += 1;
        add_row(sums.data() + 1, row_of(along, c.place), c.most / creep, dot(along, c.solid));
      }
    }
  });
  std::vector<Search> searches(count);
  std::vector<double> scale(count);
  bool any = false;
  for (std::size_t g = 0; g < count; ++g) {
    Equations all = free[g];
    for (std::size_t i = 0; i < equation_numbers; ++i) all[i] += held[g][1 + i];
    searches[g].motion = solve_six(all);
    scale[g] = held[g][0] * creep;
    searches[g].done = !(held[g][0] > 0);
    any |= !searches[g].done;
  }
  for (int pass = 0; pass < most_passes && any; ++pass) {
    auto sums = body_sums<pass_numbers>(exec, contacts.size(), count, [&](int b, auto& list) {
      for (const BodyContact& c : contacts[static_cast<std::size_t>(b)])
        if (const Search& s = searches[static_cast<std::size_t>(c.body)]; !s.done)
          add_contact(list.of(c.body), c, tried(s), creep);
    });
    any = false;
    for (std::size_t g = 0; g < count; ++g) {
      if (searches[g].done) continue;
      add_body(sums[g], free[g], tried(searches[g]));
      advance(searches[g], sums[g], scale[g]);
      any |= !searches[g].done;
    }
  }
  std::vector<Row6> motions;
  for (const Search& s : searches) motions.push_back(s.motion);
  return motions;
}

void for_contacts(std::vector<std::vector<BodyContact>>& contacts, const auto& visit) {
  parallel_for(0, contacts.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n)
      for (BodyContact& c : contacts[n]) visit(c);
  });
}

/// The equations of bodies without the rows of solids that let them go, and the motions without friction.
struct Parted {
  std::vector<Equations> bodies;
  std::vector<Row6> motions;
};
Parted part(Exec& exec, std::span<const Equations> free, std::vector<std::vector<BodyContact>>& contacts,
            double recede) {
  Parted parted{{free.begin(), free.end()}, {}};
  for (const Equations& body : free) parted.motions.push_back(solve_six(body));
  for (int turn = 0; turn < most_partings && std::isfinite(recede); ++turn) {
    std::atomic<bool> changed{false};
    for_contacts(contacts, [&](BodyContact& c) {
      const Row6& motion = parted.motions[static_cast<std::size_t>(c.body)];
      const double away = dot(c.normal, velocity_at(motion, c.place) - c.solid);
      const bool recedes = dot(c.normal, c.solid) < -recede;
      const bool now = c.holds ? !(recedes && c.stiff * away > c.load) : away < 0;
      if (std::exchange(c.holds, now) != now) changed = true;
    });
    if (!exec.comm.any(changed)) break;
    const auto gone = body_sums<equation_numbers>(exec, contacts.size(), free.size(), [&](int b, auto& list) {
      for (const BodyContact& c : contacts[static_cast<std::size_t>(b)])
        if (!c.holds) add_row(list.of(c.body).data(), row_of(c.normal, c.place), c.stiff, dot(c.normal, c.solid));
    });
    for (std::size_t g = 0; g < free.size(); ++g) {
      for (std::size_t i = 0; i < equation_numbers; ++i) parted.bodies[g][i] = free[g][i] - gone[g][i];
      parted.motions[g] = solve_six(parted.bodies[g]);
    }
  }
  return parted;
}

}  // namespace

void add_over_ranks(Comm& comm, std::span<ExactSum> sums) {
  if (comm.size() == 1 || sums.empty()) return;
  constexpr std::size_t stride = ExactSum::limbs + 3;
  std::vector<std::int64_t> packed(sums.size() * stride);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto one = sums[i].packed();
    std::copy(one.begin(), one.end(), packed.begin() + static_cast<std::ptrdiff_t>(i * stride));
  }
  comm.sum(std::span<std::int64_t>(packed));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    std::array<std::int64_t, stride> one;
    std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(i * stride), stride, one.begin());
    sums[i] = ExactSum::unpacked(one);
  }
}

Row6 solve_six(const Equations& equations) {
  double a[6][6];
  Row6 x;
  double trace = 0;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j) a[i][j] = equations[upper_place(i, j)];
  for (std::size_t i = 0; i < 6; ++i) trace += a[i][i], x[i] = equations[matrix_numbers + i];
  for (std::size_t i = 0; i < 6; ++i) a[i][i] += 1e-13 * trace;
  for (std::size_t j = 0; j < 6; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(std::max(a[j][j], 1e-14 * trace));
    for (std::size_t i = j + 1; i < 6; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t k = 0; k < i; ++k) x[i] -= a[i][k] * x[k];
    x[i] /= a[i][i];
  }
  for (std::size_t i = 6; i-- > 0;) {
    for (std::size_t k = i + 1; k < 6; ++k) x[i] -= a[k][i] * x[k];
    x[i] /= a[i][i];
  }
  return x;
}

std::vector<Row6> rub_bodies(Exec& exec, std::span<const Equations> free,
                             std::vector<std::vector<BodyContact>>& contacts, double creep, double recede) {
  Parted parted = part(exec, free, contacts, recede);
  std::vector<Row6>& motions = parted.motions;
  for (int turn = 0; turn < load_turns; ++turn) {
    for_contacts(contacts, [&](BodyContact& c) {
      const Row6& motion = motions[static_cast<std::size_t>(c.body)];
      const double held = c.stiff * dot(c.normal, c.solid - velocity_at(motion, c.place));
      c.most = c.holds ? c.rough * std::max(0.0, c.load + held) : 0.0;
    });
    motions = motions_under_loads(exec, parted.bodies, contacts, creep);
  }
  for_contacts(contacts, [&](BodyContact& c) {
    const Vec3d slip = slip_of(c, motions[static_cast<std::size_t>(c.body)]);
    c.friction = slip * (-c.most / std::max(length(slip), creep));
  });
  return motions;
}

}  // namespace aegir::sand
