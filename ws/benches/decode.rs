//! Cost of unmasking, and of decoding small frames and a big one: `cargo bench -p greenroom-ws`.
#![allow(missing_docs)]

use greenroom_ws::{Limits, OpCode, Protocol, Role, apply_mask, encode_masked};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The best of some runs, which is the one with the least noise.
fn best(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    (0..runs).map(|_| run()).min().unwrap_or_default()
}

fn main() {
    for size in [64, 16 << 10, 1 << 20] {
        let rounds = (64 << 20) / size;
        let mut data = vec![1; size + 1];
        let time = best(10, || {
            let start = Instant::now();
            for _ in 0..rounds {
                apply_mask(black_box(&mut data[1..]), [1, 2, 3, 4], 0);
            }
            start.elapsed()
        });
        println!(
            "unmask {size} bytes: {:.0} MB/s",
            (rounds * size) as f64 / time.as_secs_f64() / 1e6
        );
    }

    for (opcode, size, count) in [
        (OpCode::Text, 64, 900),
        (OpCode::Binary, 64, 900),
        (OpCode::Text, 1 << 20, 1),
    ] {
        let mut encoded = Vec::new();
        (0..count).for_each(|_| encode_masked(opcode, true, &vec![b'a'; size], [1, 2, 3, 4], &mut encoded));
        let mut input = encoded.clone();
        for read in [encoded.len(), 64 << 10] {
            let time = best(300, || {
                input.copy_from_slice(&encoded);
                let mut protocol = Protocol::new(Role::Server, Limits::default());
                let start = Instant::now();
                for input in input.chunks_mut(read) {
                    let mut at = 0;
                    loop {
                        let step = protocol.decode(&mut input[at..]);
                        at += step.consumed;
                        match step.event {
                            Ok(Some(event)) => _ = black_box(event),
                            Ok(None) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
                start.elapsed()
            });
            let each = time.as_nanos() as f64 / count as f64;
            println!("decode {opcode:?} of {size} bytes, reads of {read}: {each:.1} ns each");
        }
    }
}
