//! Integer powers that are identical on every machine. Not a general `pow`: bases start at 1 and
//! results saturate.

/// Larger powers only mean "more than any delay": two to the 64th.
pub(super) const SATURATED: f64 = 18_446_744_073_709_551_616.0;

/// Raises a base of at least 1 to an integer power, rounded once; `SATURATED` and above mean
/// "huge".
///
/// `powf` and `powi` guarantee no precision and differ between platforms. Repeated multiplication
/// rounds at every step, which moves some delays by a millisecond. Here every product keeps its
/// rounding error in a second float, so about 104 bits survive until the single rounding at the
/// end. The result is the nearest double to the true power, which a good C library gives for the
/// reference formula. Only `+`, `-` and `*` are used, which round alike everywhere.
pub(super) fn whole_power(base: f64, exponent: u32) -> f64 {
    let base = base.min(SATURATED);
    let Some(top_bit) = exponent.checked_ilog2() else {
        return 1.0;
    };
    let mut power = Wide {
        high: base,
        low: 0.0,
    };
    // Highest bit first, so no intermediate exceeds the result and none overflows.
    for bit in (0..top_bit).rev() {
        power = power.times(power);
        if exponent >> bit & 1 == 1 {
            power = power.times(Wide {
                high: base,
                low: 0.0,
            });
        }
        if power.high >= SATURATED {
            return SATURATED;
        }
    }
    power.high
}

/// An unevaluated sum of two floats; the second is at most half a unit in the last place of the
/// first.
#[derive(Clone, Copy)]
struct Wide {
    high: f64,
    low: f64,
}

impl Wide {
    fn times(self, other: Self) -> Self {
        let product = exact_product(self.high, other.high);
        let low = product.low + (self.high * other.low + self.low * other.high);
        let high = product.high + low;
        Self {
            high,
            low: low - (high - product.high),
        }
    }
}

/// Multiplies two floats exactly: the product and its rounding error.
fn exact_product(left: f64, right: f64) -> Wide {
    let high = left * right;
    let (left, right) = (halves(left), halves(right));
    let low = left.high * right.high - high;
    let low = low + left.high * right.low + left.low * right.high;
    Wide {
        high,
        low: low + left.low * right.low,
    }
}

/// Splits a float into two of half the digits, whose products are exact.
fn halves(value: f64) -> Wide {
    const SPLITTER: f64 = 134_217_729.0; // two to the 27th, plus one
    let scaled = SPLITTER * value;
    let high = scaled - (scaled - value);
    Wide {
        high,
        low: value - high,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_the_nearest_double() {
        // Nearest doubles of exact rational powers.
        let check = |base: f64, exponent: u32, expected: f64| {
            let power = whole_power(base, exponent);
            assert_eq!(
                power.to_bits(),
                expected.to_bits(),
                "{base}^{exponent} = {power:e}"
            );
        };
        check(7.5, 0, 1.0);
        check(1.0, u32::MAX, 1.0);
        check(2.0, 63, 9_223_372_036_854_775_808.0);
        check(1.5, 20, 3_325.256_730_079_651);
        check(1.1, 2, 1.210_000_000_000_000_2);
        check(1.1, 97, 10_353.578_016_395_475);
        check(1.3, 31, 3_405.994_336_744_932);
        check(1.7, 60, 67_132_880_600_101.18);
        check(2.5, 41, 2.067_951_531_382_569_2e16);
        check(3.3, 33, 1.291_100_400_877_608e17);
        check(1.01, 2_000, 439_286_205.050_103_84);
        check(1.000_000_119, 200_000_000, 21_687_428_528.417_767);
        check(1.0 + f64::EPSILON, u32::MAX, 1.000_000_953_674_771);
    }

    #[test]
    fn a_power_beyond_every_delay_saturates() {
        for (base, exponent) in [(2.0, 64), (2.0, u32::MAX), (1e300, 1), (f64::MAX, u32::MAX)] {
            assert!(
                whole_power(base, exponent) >= SATURATED,
                "{base}^{exponent}"
            );
        }
        assert!(whole_power(1.999, 64) < SATURATED);
    }
}
