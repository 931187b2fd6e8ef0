#!/usr/bin/env python3
"""Derives the coefficients of tandem/expr/math.cc: writes tandem/expr/math_coefficients.h to standard output.

Each fit is a weighted minimax problem on a grid, solved by the exchange algorithm of Remez in 60-digit arithmetic; the
weight makes the largest *relative* error of the finished function least. Needs numpy and mpmath; takes a minute or two.
The error reached (before coefficients are rounded) stands in the comment before each array.
"""
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 60
GRID = 1200


def chebyshev_grid(lo, hi, count=GRID):
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def exchange(error, count):
    """The `count` points of alternating sign that follow the local extrema of `error`."""
    peaks = []
    for i, e in enumerate(error):
        if peaks and (e > 0) == (error[peaks[-1]] > 0):
            if abs(e) > abs(error[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:  # drop the weaker end; alternation is kept
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return peaks


def first_guess(f, w, top, bottom):
    """A rational least-squares fit, reweighted by its own denominator: near enough for the exchange to converge."""
    some = range(0, len(f), max(1, len(f) // 150))
    n, m = len(top[0]), len(bottom[0])
    q = [mp.mpf(0)] * m
    for _ in range(8):
        rows, right = mp.matrix(len(some), n + m), mp.matrix(len(some), 1)
        for r, i in enumerate(some):
            scale = w[i] / (1 + mp.fdot(q, bottom[i]))
            for k in range(n):
                rows[r, k] = scale * top[i][k]
            for k in range(m):
                rows[r, n + k] = -scale * f[i] * bottom[i][k]
            right[r] = scale * f[i]
        solution, _ = mp.qr_solve(rows, right)
        p, q = list(solution[:n]), list(solution[n:])
    return p, q


def fit(points, target, weight, numerator, denominator=()):
    """min max |weight * (target - sum p_k numerator_k / (1 + sum q_k denominator_k))|: p, q, the error reached."""
    f = [target(x) for x in points]
    w = [weight(x) for x in points]
    top = [[b(x) for b in numerator] for x in points]
    bottom = [[b(x) for b in denominator] for x in points]
    n, m = len(numerator), len(denominator)
    size = n + m + 1
    at = [int(round((len(points) - 1) * (1 - np.cos(np.pi * i / (size - 1))) / 2)) for i in range(size)]
    level, best = mp.mpf(0), None

    def error_of(p, q):
        below = [1 + mp.fdot(q, row) if m else 1 for row in bottom]
        return [w[i] * (f[i] - mp.fdot(p, top[i]) / below[i]) for i in range(len(points))]

    if m:
        p, q = first_guess(f, w, top, bottom)
        error = error_of(p, q)
        best = (p, q, max(abs(e) for e in error))
        peaks = exchange(error, size)
        if len(peaks) == size:
            at = peaks
    for _ in range(60):
        for _ in range(1 if m == 0 else 12):  # the error level multiplies the denominator: solve by iteration
            rows, right = mp.matrix(size, size), mp.matrix(size, 1)
            for r, i in enumerate(at):
                sign = 1 if r % 2 == 0 else -1
                for k in range(n):
                    rows[r, k] = top[i][k]
                for k in range(m):
                    rows[r, n + k] = bottom[i][k] * (sign * level / w[i] - f[i])
                rows[r, n + m] = sign / w[i]
                right[r] = f[i]
            solution = mp.lu_solve(rows, right)
            moved = abs(solution[n + m] - level)
            level = solution[n + m]
            if moved <= abs(level) * mp.mpf(10) ** -12:
                break
        p, q = list(solution[:n]), list(solution[n : n + m])
        error = error_of(p, q)
        reached = max(abs(e) for e in error)
        if best is None or reached < best[2]:
            best = (p, q, reached)
        if reached <= abs(level) * mp.mpf("1.0005"):
            break
        peaks = exchange(error, size)
        if len(peaks) < size:
            break
        at = peaks
    return best


def powers(first, count, step=1):
    return [lambda x, k=first + step * i: x**k for i in range(count)]


def show(name, coefficients, width, note):
    cast = np.float32 if width == 32 else np.float64
    texts = [repr(float(cast(mp.nstr(c, 30)))) if width == 64 else mp.nstr(mp.mpf(float(cast(float(c)))), 9) for c in coefficients]
    print(f"// {note}")
    print(f"inline constexpr double {name}[] = {{")
    line = "   "
    for t in texts:
        if len(line) + len(t) + 2 > 118:
            print(line)
            line = "   "
        line += f" {t},"
    print(line + "\n};")


def show_split(name, value, bits, width, note, down=False):
    """`value` as a sum of parts; all but the last hold `bits[i]` bits, so that their products are exact."""
    parts, rest = [], mp.mpf(value)
    for b in bits:
        scale = mp.mpf(2) ** (b - 1 - mp.floor(mp.log(abs(rest), 2)))
        part = (mp.floor if down else mp.nint)(rest * scale) / scale
        parts.append(part)
        rest -= part
    parts.append(rest)
    show(name, parts, width, note)


def say(error):
    return f"error {mp.nstr(error, 3)}"


def fit_exp():
    for width, degree in ((32, 7), (64, 13)):
        p, _, e = fit(chebyshev_grid(-mp.log(2), mp.log(2)), lambda r: mp.exp(r) - 1 - r, lambda r: mp.exp(-r), powers(2, degree - 1))
        show(f"kExp{width}", p, width, f"exp(r) = 1 + r + r^2 P(r), |r| <= ln 2; {say(e)}")
        show_split(f"kTwoLn2Parts{width}", 2 * mp.log(2), [14 if width == 32 else 40], width, "2 ln 2, high part short")
        p, _, e = fit(chebyshev_grid(-1, 1), lambda r: mp.mpf(2) ** r - 1, lambda r: mp.mpf(2) ** -r, powers(1, degree + 1))
        show(f"kExp2{width}", p, width, f"2^r = 1 + r P(r), |r| <= 1; {say(e)}")
    half = mp.log(2) / 2
    p, _, e = fit(chebyshev_grid(-half, half), lambda r: mp.expm1(r) - r, lambda r: 1 / abs(mp.expm1(r)), powers(2, 10))
    show("kExpm164", p, 64, f"exp(r) - 1 = r + r^2 P(r), |r| <= ln 2 / 2; {say(e)}")
    show_split("kLn2Parts64", mp.log(2), [40], 64, "ln 2, high part short")


def fit_log():
    third = mp.mpf(1) / 3
    p, _, e = fit(chebyshev_grid(-third, third), lambda f: mp.log1p(f) - f, lambda f: 1 / abs(mp.log1p(f)), powers(2, 8))
    show("kLog32", p, 32, f"log(1 + f) = f + f^2 Q(f), |f| <= 1/3; {say(e)}")
    edge = 3 - 2 * mp.sqrt(2)  # (m - 1) / (m + 1) at m = sqrt 2
    series = lambda s: 2 * mp.atanh(s) - 2 * s
    p, _, e = fit(chebyshev_grid(edge / 1000, edge), series, lambda s: 1 / (2 * mp.atanh(s)), powers(3, 7, 2))
    show("kLog64", p, 64, f"log m = 2 s + s z T(z), s = (m - 1)/(m + 1), z = s^2; {say(e)}")
    near = mp.mpf("0.06")  # with m compared to one of three centres instead of 1
    for width, count in ((32, 2), (64, 5)):
        p, _, e = fit(chebyshev_grid(near / 1000, near), lambda s: series(s) / mp.log(2), lambda s: 1 / s, powers(3, count, 2))
        show(f"kLog2{width}", p, width, f"log2 m = 2/ln2 s + s z R(z); {say(e)}")
        show_split(f"kTwoOverLn2Parts{width}", 2 / mp.log(2), [24 if width == 32 else 53], width, "2 / ln 2")
        for name, centre in (("Below", mp.mpf(51) / 64), ("Above", mp.mpf(81) / 64)):
            show_split(f"kLog2{name}{width}", mp.log(centre, 2), [12], width, f"log2({mp.nstr(centre, 9)})")


def fit_saturating(degrees=((2, 3), (3, 4))):
    # Both are 2u / (1 + u^2) with an odd u = x P(z) / Q(z), z = x^2. As u nears 1 its error counts less and less, so low
    # degrees suffice and rounding errors fade where the function saturates; beyond `end` it rounds to 1.
    def half_angle(t):
        return t / (1 + mp.sqrt(1 - t * t))

    def sensitivity(u):
        return (1 - u * u) / (1 + u * u) / u

    for (name, function, end), (top, bottom) in zip((("Tanh", mp.tanh, "9.02"), ("Erf", mp.erf, "3.93")), degrees):
        mp.mp.dps = 80  # 1 - t^2 cancels
        values = {}
        u = lambda x: values.setdefault(x, half_angle(function(x)))
        p, q, e = fit(chebyshev_grid("0.001", end), u, lambda x: sensitivity(u(x)), powers(1, top + 1, 2), powers(2, bottom, 2))
        mp.mp.dps = 60
        note = f"{name.lower()} x = 2u/(1 + u^2), u = x (1 + P(z)) / (2 + 2z Q(z)), z = x^2, |x| <= {end}; {say(e)}"
        show(f"k{name}P32", [2 * p[0] - 1] + [2 * c for c in p[1:]], 32, note)
        show(f"k{name}Q32", q, 32, "and Q")
        first = 1 if name == "Erf" else 3  # tanh x = x + ...: exactly, so that -0 stays -0
        p, _, e = fit(chebyshev_grid("0.001", "0.625"), lambda x: function(x) - x, lambda x: 1 / function(x), powers(first, 5, 2))
        show(f"k{name}Small32", p if first == 1 else [mp.mpf(0)] + p, 32, f"{name.lower()} x = x (1 + P(z)), |x| <= 0.625; {say(e)}")


def fit_erf64():
    p, _, e = fit(chebyshev_grid("0.001", 1), mp.erf, lambda x: 1 / mp.erf(x), powers(1, 12, 2))
    show("kErf64", p, 64, f"erf x = x P(z), z = x^2, |x| <= 1; {say(e)}")
    scaled = {}
    g = lambda x: scaled.setdefault(x, mp.exp(x * x) * mp.erfc(x))
    p, q, e = fit(chebyshev_grid(1, 6), g, lambda x: mp.exp(-x * x) / mp.erf(x), powers(0, 7), powers(1, 7))
    show("kErfcP64", p, 64, f"erf x = 1 - exp(-z) P(x)/Q(x), 1 <= x <= 6; {say(e)}")
    show("kErfcQ64", [mp.mpf(1)] + q, 64, "and Q")


def fit_sin():
    for width, count in ((32, 4), (64, 8)):
        p, _, e = fit(chebyshev_grid("0.001", mp.pi / 2), lambda r: mp.sin(r) - r, lambda r: 1 / mp.sin(r), powers(3, count, 2))
        show(f"kSin{width}", p, width, f"sin r = r + r z S(z), z = r^2, |r| <= pi/2; {say(e)}")
        bits = 24 if width == 32 else 53
        show_split(f"kPiParts{width}", mp.pi, [bits, bits], width, "pi, all parts positive", down=True)


def fit_expm1():
    half = mp.log(2) / 2
    p, _, e = fit(chebyshev_grid(-half, half), lambda r: mp.expm1(r) - r, lambda r: 1 / abs(mp.expm1(r)), powers(2, 5))
    show("kExpm132", p, 32, f"exp(r) - 1 = r + r^2 P(r), |r| <= ln 2 / 2; {say(e)}")
    show_split("kLn2Parts32", mp.log(2), [14], 32, "ln 2, high part short")


def fit_odd(name, function, end, counts, note):
    """function(x) = x + x z P(z), z = x^2, for x up to `end`."""
    for width, count in counts:
        p, _, e = fit(chebyshev_grid(mp.mpf(end) / 1000, end), lambda x: function(x) - x, lambda x: 1 / function(x), powers(3, count, 2))
        show(f"k{name}{width}", p, width, f"{note} x = x + x z P(z), z = x^2, |x| <= {mp.nstr(mp.mpf(end), 5)}; {say(e)}")


def fit_inverse_trigonometry():
    p, _, e = fit(chebyshev_grid("0.001", 1), lambda x: mp.atan(x) - x, lambda x: 1 / mp.atan(x), powers(3, 9, 2))
    show("kAtan32", p, 32, f"atan x = x + x z P(z), z = x^2, |x| <= 1; {say(e)}")
    fit_odd("Atan", mp.atan, mp.tan(mp.pi / 8), [(64, 12)], "atan")
    fit_odd("Asin", mp.asin, "0.5", [(32, 5), (64, 13)], "asin")


def fit_tan():
    fit_odd("Tan", mp.tan, mp.pi / 4, [(32, 7), (64, 15)], "tan")
    for width in (32, 64):
        bits = 24 if width == 32 else 53
        show_split(f"kHalfPiParts{width}", mp.pi / 2, [bits, bits], width, "pi / 2, all parts positive", down=True)


def fit_sinh():
    fit_odd("Sinh", mp.sinh, 1, [(32, 4), (64, 8)], "sinh")


def fit_erfc():
    # The mapping t = (x - 4) / (x + 4) takes [0, inf) to [-1, 1), where (1 + 2x) exp(x^2) erfc(x) is nearly flat.
    for width, count, end in ((32, 11, "10.2"), (64, 23, 28)):
        to_x = lambda t: 4 * (1 + t) / (1 - t)
        f = lambda t: (1 + 2 * to_x(t)) * mp.exp(to_x(t) ** 2) * mp.erfc(to_x(t))
        end_t = (mp.mpf(end) - 4) / (mp.mpf(end) + 4)
        p, _, e = fit(chebyshev_grid(-1, end_t), f, lambda t: 1 / f(t), powers(0, count))
        show(f"kErfcScaled{width}", p, width, f"(1 + 2x) exp(x^2) erfc x = P(t), t = (x - 4)/(x + 4), 0 <= x <= {end}; {say(e)}")


def main():
    print("// Coefficients of the functions in math.cc, as printed by tools/fit_math.py: edit there, not here.")
    print("#pragma once\n// clang-format off: a table\n\nnamespace tandem::expr {\n")
    wanted = sys.argv[1:]
    for f in (fit_exp, fit_log, fit_saturating, fit_erf64, fit_sin, fit_expm1, fit_inverse_trigonometry, fit_tan, fit_sinh, fit_erfc):
        if not wanted or f.__name__ in wanted:
            f()
    print("\n}  // namespace tandem::expr")


if __name__ == "__main__":
    main()
