#include "solvers/linear/viscosity_solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "solvers/linear/viscosity_rows.h"

namespace aegir {

ViscositySolve::ViscositySolve(Exec& exec, const ViscosityLevel& level, const ViscosityInput& input,
                               GridStore& velocity, const GridStore& solid_velocity, const ViscositySettings& settings)
    : exec_(exec),
      level_(level),
      input_(input),
      settings_(settings),
      velocity_(velocity),
      solid_velocity_(solid_velocity),
      cycle_(exec, level, input, settings.memory),
      x_(level.topology(), settings.memory),
      d_(level.topology(), settings.memory),
      p_(level.topology(), settings.memory),
      r_(cycle_.residual()) {}

/// x of one bucket: u* at unknowns, the solid's velocity where it is prescribed, 0 where nothing is; what is wrong.
std::string ViscositySolve::start_bucket(int b) {
  const ViscosityBucket* own = level_.bucket(b);
  const auto wrong = [&](const char* channel, int f) {
    const int c = f % bucket_cells;
    const Vec3i at = level_.topology().key(b).coord * bucket_size + Vec3i{c >> 6, (c >> 3) & 7, c & 7};
    return fmt::format("'{}' of cell ({}, {}, {}) is not a finite number", channel, at.x, at.y, at.z);
  };
  const auto first = static_cast<std::size_t>(b) * bucket_cells;
  for (int a = 0; a < 3; ++a) {
    float* u = velocity_.plane<float>(a) + first;
    const float* solid = solid_velocity_.plane<float>(a) + first;
    const float* known = input_.known[a] + first;
    double* x = x_.at(b) + a * bucket_cells;
    for (int c = 0; c < bucket_cells; ++c) {
      const int f = a * bucket_cells + c;
      const bool unknown = !own || own->inverse[f] > 0;
      if (unknown && !std::isfinite(u[c])) {
        if (known[c] > 0) return wrong(velocity_.info.name.c_str(), f);
        u[c] = 0;
      }
      x[c] = unknown ? static_cast<double>(u[c]) : 0.0;
      if (!own || !own->is_fixed(f)) continue;
      if (!std::isfinite(solid[c])) return wrong(solid_velocity_.info.name.c_str(), f);
      x[c] = static_cast<double>(solid[c]);
    }
  }
  return {};
}

Status ViscositySolve::start() {
  const auto count = static_cast<std::size_t>(level_.topology().local_count());
  std::vector<std::string> wrong(count);
  std::atomic<bool> moving{false};
  parallel_for(0, count, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      if (level_.kind(static_cast<int>(b)) == ViscosityKind::far) continue;
      wrong[b] = start_bucket(static_cast<int>(b));
      const ViscosityBucket* own = level_.bucket(static_cast<int>(b));
      for (int f = 0; own && f < face_values; ++f)
        if (own->is_fixed(f) && x_.at(static_cast<int>(b))[f] != 0) moving = true;
    }
  });
  moving_ = exec_.comm.any(moving);
  Status found;
  for (std::size_t b = 0; b < count && found; ++b)
    if (!wrong[b].empty()) found = simulation_error("{}", wrong[b]);
  return exec_.comm.agree(found);
}

/// r = b - A x from x in double; returns its norm.
double ViscositySolve::evaluate() {
  x_.exchange(exec_, level_.topology());
  const auto [square] = level_.sums<1>(exec_, "viscosity.residual", 48, [&](int b) {
    VelocityTile<double> tile;
    load_velocity(tile, level_.topology(), b, x_.data());
    const auto first = static_cast<std::size_t>(b) * bucket_cells;
    const float* const start[3] = {velocity_.plane<float>(0) + first, velocity_.plane<float>(1) + first,
                                   velocity_.plane<float>(2) + first};
    return std::array{viscosity_residual(tile, start, level_.bucket_operator(b), r_.at(b))};
  });
  return std::sqrt(square);
}

/// |b|, where b = mass u* - K (what is prescribed).
double ViscositySolve::norm_of_right_side() {
  FaceField<float>& q = cycle_.scratch();
  if (moving_) {
    for (int b = 0; b < level_.topology().local_count(); ++b)
      if (const ViscosityBucket* own = level_.bucket(b))
        for (int f = 0; f < face_values; ++f)
          if (own->is_fixed(f)) p_.at(b)[f] = static_cast<float>(x_.at(b)[f]);
    p_.exchange(exec_, level_.topology());
    level_.for_unknowns([&](int b) {
      VelocityTile<float> tile;
      load_velocity(tile, level_.topology(), b, p_.data());
      viscosity_product(tile, level_.bucket_operator(b), q.at(b));
    });
  }
  const auto [square] = level_.sums<1>(exec_, "viscosity.norm", 24, [&](int b) {
    const ViscosityBucket* own = level_.bucket(b);
    double sum = 0;
    for (int f = 0; f < face_values; ++f) {
      const double mass = own ? static_cast<double>(own->mass[f]) : 1.0;
      const double value = own && !(own->inverse[f] > 0) ? 0.0 : mass * x_.at(b)[f] - static_cast<double>(q.at(b)[f]);
      sum += value * value;
    }
    return std::array{sum};
  });
  if (moving_) p_ = FaceField<float>(level_.topology(), settings_.memory);
  return std::sqrt(square);
}

void ViscositySolve::run(SolveReport& report) {
  if (const Status status = start(); !status) {
    report.trouble = status.error().message + "; the velocity was left as it is";
    return;
  }
  report.method = SolveMethod::multigrid_cg;
  const double norm_b = norm_of_right_side(), first = evaluate();
  const double against = std::max(norm_b, 1e-6 * first);  // where only faces without mass move, b is next to nothing
  const double target = settings_.tolerance * against;
  double norm = first;
  for (int restart = 0; restart < 20 && norm > target && report.iterations < settings_.max_iterations; ++restart) {
    const bool good = iterate(report, norm, restart ? 0.5 * target : 0.9 * target);
    const double before = std::exchange(norm, evaluate());
    if (!(norm <= first)) {  // what was found is worse than nothing
      if (const Status again = start(); !again) return;
      norm = evaluate();
    }
    if (!good && cycle_.level_count() > 1) {  // the diagonal alone cannot break down like this
      cycle_.drop_levels();
      report.trouble.clear();
    } else if (!good || !(norm <= 0.5 * before)) {
      break;
    }
  }
  if (!(norm <= target)) {
    if (report.trouble.empty())
      report.trouble = fmt::format("{} iterations left a relative residual of {:.1e} instead of {:.1e}",
                                   report.iterations, norm / against, settings_.tolerance);
    if (report.unknowns <= settings_.failsafe_limit && solve_assembled(report, norm, target)) norm = evaluate();
  }
  report.residual = against > 0 ? norm / against : 0;
  report.converged = norm <= target;
  if (norm <= first) write_back();
}

/// x += A⁻¹ r by the general solver for assembled systems; false where there is no memory or no number.
bool ViscositySolve::solve_assembled(SolveReport& report, double norm, double target) {
  const ViscosityRows rows(exec_, level_);
  const Result<SparseMatrix> matrix = rows.matrix(exec_.comm);
  if (!matrix) return report.trouble += "; " + matrix.error().message, false;
  evaluate();
  std::vector<double> b(rows.rows()), d(rows.rows(), 0.0);
  rows.for_rows([&](std::size_t row, int bucket, int f) { b[row] = static_cast<double>(r_.at(bucket)[f]); });
  const SolveReport other = solve_sparse(exec_, *matrix, b, d, {.tolerance = 0.5 * target / norm});
  rows.for_rows([&](std::size_t row, int bucket, int f) { x_.at(bucket)[f] += d[row]; });
  report.method = other.method;
  report.iterations += other.iterations;
  report.trouble =
      fmt::format("solved by {}, because multigrid did not converge: {}", method_name(other.method), report.trouble) +
      (other.trouble.empty() ? "" : "; then: " + other.trouble);
  return true;
}

/// Conjugate gradients from r = b - A x, whose norm is given, until its recurrence says `target`; moves x. False when
/// it broke down; then the report says how.
bool ViscositySolve::iterate(SolveReport& report, double norm, double target) {
  const double size = norm / std::sqrt(static_cast<double>(report.unknowns));
  // Brings the residual into the range of single precision.
  const double scale = std::exp2(std::clamp(-std::ilogb(size), -120, 120));
  const double goal = scale * std::max(target, 1e-5 * norm);
  level_.for_unknowns([&](int b) {
    for (int f = 0; f < face_values; ++f) r_.at(b)[f] *= static_cast<float>(scale);
    for (FaceField<float>* field : {&d_, &p_, &cycle_.scratch()}) std::fill_n(field->at(b), face_values, 0.0f);
  });
  const auto advance = [&](double alpha) {
    return level_.sums<2>(exec_, "viscosity.advance", 120, [&](int b) {
      const auto [weighted, plain] =
          viscosity_advance(r_.at(b), d_.at(b), cycle_.solution().at(b), p_.at(b), cycle_.scratch().at(b),
                            static_cast<float>(alpha), cycle_.first_factor(), level_.bucket_operator(b));
      return std::array{weighted, plain};
    });
  };
  auto [weighted, rr] = advance(0);
  double rz_before = 0;
  bool good = true;
  while (std::sqrt(rr) > goal && report.iterations < settings_.max_iterations) {
    const double rz = cycle_.level_count() > 1 ? cycle_.run(exec_) : weighted;
    const double beta = rz_before > 0 ? rz / rz_before : 0;
    level_.for_unknowns(
        [&](int b) { viscosity_direction(p_.at(b), cycle_.solution().at(b), static_cast<float>(beta)); });
    p_.exchange(exec_, level_.topology());
    const auto [pq] = level_.sums<1>(exec_, "viscosity.product", 24, [&](int b) {
      VelocityTile<float> tile;
      load_velocity(tile, level_.topology(), b, p_.data());
      return std::array{viscosity_product(tile, level_.bucket_operator(b), cycle_.scratch().at(b))};
    });
    if (!(rz > 0) || !(pq > 0) || !std::isfinite(rz) || !std::isfinite(pq)) {
      report.trouble = fmt::format("conjugate gradients broke down after {} iterations (r·z = {:.1e}, p·Ap = {:.1e})",
                                   report.iterations, rz, pq);
      good = false;
      break;
    }
    const auto [weighted_next, rr_next] = advance(rz / pq);
    rz_before = rz, weighted = weighted_next, rr = rr_next;
    ++report.iterations;
  }
  level_.for_unknowns([&](int b) {
    for (int f = 0; f < face_values; ++f) x_.at(b)[f] += static_cast<double>(d_.at(b)[f]) / scale;
  });
  return good;
}

/// The velocity of unknowns and of faces in solids.
void ViscositySolve::write_back() {
  const auto count = static_cast<std::size_t>(level_.topology().local_count());
  parallel_for(0, count, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const int b = static_cast<int>(i);
      if (level_.kind(b) == ViscosityKind::far) continue;
      const ViscosityBucket* own = level_.bucket(b);
      for (int f = 0; f < face_values; ++f)
        if (!own || own->inverse[f] > 0 || own->is_fixed(f))
          velocity_.plane<float>(f / bucket_cells)[i * bucket_cells + static_cast<std::size_t>(f % bucket_cells)] =
              static_cast<float>(x_.at(b)[f]);
    }
  });
  velocity_.valid_ghosts = 0;
}

void ViscositySolve::forget_others(GridStore& known) const {
  const auto count = static_cast<std::size_t>(level_.topology().local_count());
  parallel_for(0, count, 8, [&](std::size_t begin, std::size_t end) {
    PaddedTile<float, 1> distance;
    for (std::size_t i = begin; i < end; ++i) {
      const int b = static_cast<int>(i);
      const ViscosityBucket* own = level_.bucket(b);
      const bool far = level_.kind(b) == ViscosityKind::far;
      if (!own && !far) continue;
      // Liquid without any viscosity is not in the system either, but keeps its velocity.
      const bool inviscid = input_.viscosity != nullptr;
      if (inviscid) load_tile<Halo<1>>(distance, level_.topology(), b, input_.liquid_distance, 4.0f);
      for (int f = 0; f < face_values; ++f) {
        if (own && (own->inverse[f] > 0 || own->is_fixed(f))) continue;
        const int a = f / bucket_cells, c = f % bucket_cells, x = c >> 6, y = (c >> 3) & 7, z = c & 7;
        if (inviscid && std::min(distance(x, y, z), distance(x - (a == 0), y - (a == 1), z - (a == 2))) < 0.5f)
          continue;
        known.plane<float>(a)[i * bucket_cells + static_cast<std::size_t>(c)] = 0;
      }
    }
  });
  known.valid_ghosts = 0;
}

}  // namespace aegir
