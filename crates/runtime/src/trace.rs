//! The W3C Trace Context of a call.
//!
//! It is passed on to the upstream, and never created here.

use std::fmt;

/// A `traceparent`: the ids of the trace and of the parent span.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trace([u8; LENGTH]);

/// `00-<32 digits>-<16 digits>-<2 digits>`.
const LENGTH: usize = 55;
const DASHES: [usize; 3] = [2, 35, 52];

impl Trace {
    /// Parses a header; `None` if it is malformed, which the specification says to ignore.
    pub fn parse(text: &str) -> Option<Self> {
        // Later versions may be longer and start with the members of this one.
        let known = text.as_bytes().get(..LENGTH)?;
        let is_next = matches!(text.as_bytes().get(LENGTH), None | Some(b'-'));
        let (version, longer) = (&known[..2], text.len() > LENGTH);
        let well_formed = known.iter().enumerate().all(|(at, byte)| {
            if DASHES.contains(&at) {
                *byte == b'-'
            } else {
                matches!(byte, b'0'..=b'9' | b'a'..=b'f')
            }
        });
        let is_not_zero = |part: &[u8]| part.iter().any(|digit| *digit != b'0');
        let usable = well_formed
            && is_next
            && version != b"ff"
            && !(version == b"00" && longer)
            && is_not_zero(&known[3..35])
            && is_not_zero(&known[36..52]);
        usable.then(|| known.try_into().map(Self).ok()).flatten()
    }

    /// The value of the header.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a trace is made of digits and dashes")
    }

    /// The id of the trace.
    pub fn trace_id(&self) -> &str {
        &self.as_str()[3..35]
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Trace({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_headers_are_ignored() {
        let (trace, step) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let zeros = "0".repeat(32);
        for (text, taken) in [
            (format!("00-{trace}-{step}-01"), true),
            (format!("00-{trace}-{step}-00"), true),
            (format!("cc-{trace}-{step}-01-what-comes-later"), true),
            (format!("cc-{trace}-{step}-01what"), false),
            (format!("00-{trace}-{step}-01-more"), false),
            (format!("ff-{trace}-{step}-01"), false),
            (format!("00-{zeros}-{step}-01"), false),
            (format!("00-{trace}-{}-01", &zeros[..16]), false),
            (format!("00-{}-{step}-01", trace.to_uppercase()), false),
            (format!("00-{trace}-{step}-0"), false),
            (format!("00_{trace}-{step}-01"), false),
            ("é".repeat(40), false),
            (String::new(), false),
        ] {
            let parsed = Trace::parse(&text);
            assert_eq!(parsed.is_some(), taken, "{text}");
            if let Some(parsed) = parsed {
                assert!(text.starts_with(parsed.as_str()));
                assert_eq!(parsed.trace_id(), trace);
            }
        }
    }
}
