//! The path variables of a matched route.
//!
//! Only ranges into the path are kept, inline, so that matching allocates nothing; values are decoded when somebody
//! asks for them.

use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::sync::Arc;

/// Most variables a route may have. Eight is more than any readable path holds, and keeps a request small.
pub(crate) const MAX_PARAMS: usize = 8;

/// The names of a route's variables, in order, shared by all its requests.
pub(crate) type Names = Arc<[Box<str>]>;

/// Path variables: names from the route, values as ranges of the raw path.
#[derive(Default, Clone, Debug)]
pub(crate) struct Params {
    /// `None` where the route has no variables, so that plain routes share no reference count.
    names: Option<Names>,
    ranges: [(u32, u32); MAX_PARAMS],
}

impl Params {
    /// `values` are slices of `path`, one for each name.
    pub(crate) fn new<'p>(names: &Names, path: &'p str, values: impl Iterator<Item = &'p str>) -> Self {
        let mut params = Self::default();
        if names.is_empty() {
            return params;
        }
        for (range, value) in params.ranges.iter_mut().zip(values) {
            let start = value.as_ptr().addr() - path.as_ptr().addr();
            // A request line is bounded far below 4 GiB.
            *range = (start as u32, (start + value.len()) as u32);
        }
        params.names = Some(Arc::clone(names));
        params
    }

    /// How many variables there are.
    pub(crate) fn len(&self) -> usize {
        self.names.as_ref().map_or(0, |names| names.len())
    }

    /// Name and raw value of each variable; `path` is the path they were made from.
    pub(crate) fn iter<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let names = self.names.as_deref().unwrap_or_default();
        names.iter().zip(&self.ranges).map(|(name, &(start, end))| {
            let raw = path.get(start as usize..end as usize).unwrap_or_default();
            (&**name, raw)
        })
    }
}

/// Percent-decodes once (RFC 3986 section 2.4); `None` if the result is not UTF-8. `+` stays a plus: only queries
/// use it for a space.
pub(crate) fn decode(raw: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(raw).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h28_values_are_decoded_exactly_once() {
        assert_eq!(decode("a%2Fb").unwrap(), "a/b");
        assert_eq!(decode("%2541").unwrap(), "%41");
        assert_eq!(decode("a+b").unwrap(), "a+b");
        assert_eq!(decode("%ff"), None);
    }

    #[test]
    fn ranges_find_their_values_in_the_path() {
        let path = String::from("/rooms/one/two");
        let names: Names = Arc::from([Box::from("room"), Box::from("seat")]);
        let params = Params::new(&names, &path, [&path[7..10], &path[11..]].into_iter());
        let pairs: Vec<_> = params.iter(&path).collect();
        assert_eq!(pairs, [("room", "one"), ("seat", "two")]);
        assert_eq!(params.len(), 2);
    }
}
