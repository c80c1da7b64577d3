//! Numbers and times that begin anew behind the largest.

/// Whether one comes before the other, the two being less than half of all numbers apart.
pub(super) fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

/// How far the other is ahead; 0 if it is not.
pub(super) fn until(one: u32, other: u32) -> u32 {
    if is_before(one, other) { other.wrapping_sub(one) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_comes_before_0() {
        assert!(is_before(1, 2) && !is_before(2, 2) && !is_before(2, 1));
        assert!(is_before(u32::MAX, 0) && !is_before(0, u32::MAX));
        assert_eq!((until(1, 3), until(3, 1), until(u32::MAX, 1)), (2, 0, 2));
    }
}
