//! FNV-1a, for names that must come out alike in every process and every build: short texts, no adversary.

/// The hash of no bytes.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on from `hash` with `bytes`.
pub const fn fnv1a(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values() {
        assert_eq!(fnv1a(EMPTY, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(EMPTY, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(EMPTY, b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a(fnv1a(EMPTY, b"foo"), b"bar"), fnv1a(EMPTY, b"foobar"));
    }
}
