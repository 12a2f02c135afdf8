//! The rules for the path of a route, checked when the app is built.
//!
//! They are narrower than the router underneath would allow: a variable is always one whole segment, so that a reader
//! sees at once what a route matches.

use crate::server::params::MAX_PARAMS;

/// The names of the variables of `path`, in order.
///
/// # Errors
/// What is wrong with it, as the end of a sentence that begins with the route.
pub(crate) fn variables(path: &str) -> Result<Vec<&str>, String> {
    let Some(rest) = path.strip_prefix('/') else {
        return Err("the path must begin with \"/\"".into());
    };
    if let Some(bad) = path
        .chars()
        .find(|c| !c.is_ascii_graphic() || matches!(c, '?' | '#'))
    {
        return Err(format!(
            "{bad:?} can't be in a path (it is compared as sent: write it percent-encoded)"
        ));
    }
    let mut names = Vec::new();
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        if !segment.contains(['{', '}']) {
            continue;
        }
        let inner = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}'));
        let name = match inner.map(|s| (s, s.strip_prefix('*'))) {
            Some((_, Some(_))) if segments.peek().is_some() => {
                return Err(format!(
                    "{segment} takes all that is left, so it must stand at the end"
                ));
            }
            Some((_, Some(name))) => name,
            Some((name, None)) => name,
            None => {
                return Err(format!(
                    "a variable is a whole segment, /{{name}}/, but here is {segment:?}"
                ));
            }
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("{segment} needs a name of letters, digits and \"_\""));
        }
        if names.contains(&name) {
            return Err(format!("the variable {name:?} is there twice"));
        }
        names.push(name);
    }
    if names.len() > MAX_PARAMS {
        return Err(format!(
            "{} variables, at most {MAX_PARAMS} are allowed",
            names.len()
        ));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_whole_segments_in_order() {
        assert_eq!(variables("/"), Ok(vec![]));
        assert_eq!(variables("/a/b/"), Ok(vec![]));
        assert_eq!(variables("/{a}/b/{c_1}"), Ok(vec!["a", "c_1"]));
        assert_eq!(variables("/files/{*rest}"), Ok(vec!["rest"]));
    }

    #[test]
    fn bad_patterns_say_what_is_wrong() {
        for (path, text) in [
            ("", "begin with"),
            ("a", "begin with"),
            ("/caf\u{e9}", "percent-encoded"),
            ("/a?b", "'?'"),
            ("/a b", "' '"),
            ("/a{b}", "whole segment"),
            ("/{a}.png", "whole segment"),
            ("/{a", "whole segment"),
            ("/{{a}}", "needs a name"),
            ("/{}", "needs a name"),
            ("/{*}", "needs a name"),
            ("/{a-b}", "needs a name"),
            ("/{*rest}/x", "at the end"),
            ("/{*rest}/", "at the end"),
            ("/{a}/{a}", "twice"),
            ("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", "at most 8"),
        ] {
            let error = variables(path).expect_err(path);
            assert!(error.contains(text), "{path}: {error}");
        }
    }
}
