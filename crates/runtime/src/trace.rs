//! Where a call stands in a trace that began outside, in the form of W3C Trace Context.
//!
//! It is carried and handed on, never made up: without somebody who collects traces there is none.

use std::fmt;

/// A `traceparent`: which trace, and which step of it called.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Trace([u8; LENGTH]);

/// `00-<32 digits>-<16 digits>-<2 digits>`.
const LENGTH: usize = 55;
const DASHES: [usize; 3] = [2, 35, 52];

impl Trace {
    /// The trace a header names; `None` for anything that is not well formed, which is then ignored, as
    /// the specification says.
    pub fn parse(text: &str) -> Option<Self> {
        // Later versions may be longer; what this one knows of them comes first.
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
        let says_something = |part: &[u8]| part.iter().any(|digit| *digit != b'0');
        let usable = well_formed
            && is_next
            && version != b"ff"
            && !(version == b"00" && longer)
            && says_something(&known[3..35])
            && says_something(&known[36..52]);
        usable.then(|| known.try_into().map(Self).ok()).flatten()
    }

    /// As it is written in a header.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a trace is made of digits and dashes")
    }

    /// The trace alone, without the step.
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
    fn well_formed_parents_are_carried_and_others_are_ignored() {
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
