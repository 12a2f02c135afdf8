//! Masking of client frames (RFC 6455 section 5.3), many octets at a time.

/// Octets per step: two vector registers of 16, which the compiler turns into SIMD on every target.
const STEP: usize = 32;

/// Masks or unmasks `data` in place (it is the same operation). `phase` is the number of the payload's octets
/// that came before `data`: "octet i of the transformed data is the XOR of octet i of the original data with
/// octet at index i modulo 4 of the masking key".
pub fn apply_mask(data: &mut [u8], mask: [u8; 4], phase: usize) {
    let mask = rotate(mask, phase);
    let word = u64::from_ne_bytes([
        mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3],
    ]);
    let (steps, rest) = data.as_chunks_mut::<STEP>();
    for step in steps {
        for octets in step.as_chunks_mut::<8>().0 {
            *octets = (u64::from_ne_bytes(*octets) ^ word).to_ne_bytes();
        }
    }
    // STEP and 8 are multiples of 4, so the phase is the same at each of these borders.
    let (words, rest) = rest.as_chunks_mut::<8>();
    for octets in words {
        *octets = (u64::from_ne_bytes(*octets) ^ word).to_ne_bytes();
    }
    for (octet, key) in rest.iter_mut().zip(word.to_ne_bytes()) {
        *octet ^= key;
    }
}

/// The mask as it applies after `by` octets.
pub(crate) fn rotate(mask: [u8; 4], by: usize) -> [u8; 4] {
    u32::from_be_bytes(mask)
        .rotate_left(8 * (by % 4) as u32)
        .to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s05_3_wide_equals_naive_at_every_alignment_length_and_phase() {
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        let original: Vec<u8> = (0..300u32).map(|i| (i * 7 + 3) as u8).collect();
        for start in 0..33 {
            for len in 0..140 {
                for phase in 0..5 {
                    let mut data = original.clone();
                    apply_mask(&mut data[start..start + len], mask, phase);
                    for (i, octet) in data.iter().enumerate() {
                        let inside = i >= start && i < start + len;
                        let key = if inside { mask[(i - start + phase) % 4] } else { 0 };
                        assert_eq!(
                            *octet,
                            original[i] ^ key,
                            "start {start} len {len} phase {phase} at {i}"
                        );
                    }
                }
            }
        }
    }
}
