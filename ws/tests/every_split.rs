//! However the octets are cut, the events are the same.

mod support;

use proptest::prelude::*;
use support::{Heard, any_stream, feed, good_stream, hear, server};

proptest! {
    #[test]
    fn events_are_the_same_at_every_split(stream in prop_oneof![any_stream(), good_stream()]) {
        let whole = hear(&stream);
        for cut in 0..=stream.len() {
            let mut protocol = server();
            let mut heard = feed(&mut protocol, &stream[..cut]);
            heard.extend(feed(&mut protocol, &stream[cut..]));
            prop_assert_eq!(&heard, &whole, "cut at {}", cut);
        }
        let mut protocol = server();
        let heard: Vec<Heard> = stream.chunks(1).flat_map(|octet| feed(&mut protocol, octet)).collect();
        prop_assert_eq!(&heard, &whole, "octet by octet");
    }
}
